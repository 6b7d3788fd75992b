"""TopoDIM in a small form: one graph a question, its edges of several kinds (Sun et al. 2026).

(arXiv 2601.10120.) Roles have learned vectors, the question moves them, and two relational
convolutions over the role graph mix them; then, in one go,

    x_i = e_i + W q,    h = RGCN(RGCN(x))        relations: declared before, declared after
    o ~ Plackett-Luce(w · h)                     order of the roles
    r_ij ~ softmax(MLP([h_i; h_j]) / T)          for i before j in o; a kind of edge, or none
    loss = - (R - b) (log P(o) + sum log P(r_ij)) - 0.01 · mean entropy of the r_ij
    R = right + 0.5 · share of the kinds in use

with T falling from 2 to 0.5. In the paper b is a moving average of R with decay 0.9; here it is by
default the mean of the question's other rollouts, as questions differ more than graphs do.

Of what is drawn, the most probable edges of each kind are kept (balanced top-k), in training and
at test, and that is what runs; log P is that of the whole draw. There is no cycle, as an edge
leads from an earlier role to a later one.

The three kinds are what the reader is told about a message: nothing, to evaluate it, or to argue
against it. In the published code the last two call both agents once or twice more; here every role
is called once. Simulated LLMs take all kinds alike.

Ours: the order is drawn, with its probability in the loss; the published code sorts the scores, so
that nothing ever teaches the scorer. At test everything is arg-max. No dropout.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.credit import leave_one_out
from hieramas_lib.methods.fixed_graphs import plain_team
from hieramas_lib.methods.graph_learner import GraphLearner, at_least, batches, correctness
from hieramas_lib.methods.topodim_network import KINDS, TopoDIMNetwork, draw_typed
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Edge, Topology

Baseline = Literal["question", "moving average"]
"""What is subtracted from a reward: the mean of the question's other rollouts, or of the past."""

DECAY: Final = 0.9
"""Of the moving average."""

_TOLD: Final = {
    "evaluation": "Before you use what {source} writes, evaluate it: say which steps hold.",
    "debate": "Argue against what {source} writes as well as you can; keep what survives that.",
}


@dataclass(frozen=True, slots=True)
class TopoDIMSettings:
    """How it is trained.

    Attributes:
        llm: The LLM of all agents.
        passes: Times each training question is used.
        batch: Questions a batch.
        group: Rollouts a question and batch.
        learning_rate: Of Adam.
        edges_per_kind: Edges of each kind that are kept, at most.
        coverage: Weight of the share of kinds in use, against a right answer, which counts 1.
        entropy: Weight of the entropy, in nats.
        temperature: At the first batch, and one batch after the last, linear in between.
        baseline: Subtracted from the rewards; ``question`` needs a group of at least 2.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    llm: str
    passes: int = 4
    batch: int = 4
    group: int = 4
    learning_rate: float = 1e-2
    edges_per_kind: int = 2
    coverage: float = 0.5
    entropy: float = 0.01
    temperature: tuple[float, float] = (2.0, 0.5)
    baseline: Baseline = "question"

    def __post_init__(self) -> None:
        if self.baseline not in get_args(Baseline):
            known = ", ".join(get_args(Baseline))
            raise ConfigError(f"baseline: {self.baseline!r} is not one of {known}")
        least = 2 if self.baseline == "question" else 1
        at_least(self, passes=1, batch=1, group=least, learning_rate=0, edges_per_kind=1)
        at_least(self, coverage=0, entropy=0)
        if min(self.temperature) <= 0:
            raise ConfigError(f"temperature: both must be above 0, got {self.temperature}")


class TopoDIM(GraphLearner[TopoDIMSettings, TopoDIMNetwork]):
    """The method of arXiv 2601.10120 in a small form, behind the common protocol."""

    name = "TopoDIM"

    def untrained(self) -> TopoDIMNetwork:
        """Return the network that :meth:`fit` begins with."""
        roles, dim = self.role_vectors().shape
        return TopoDIMNetwork(roles, dim, seed=self.seed)

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Learn anew from ``train``; ``val`` is not used."""
        self.start(train)
        how, network = self.settings, self.started
        optimizer = torch.optim.Adam(network.parameters(), lr=how.learning_rate)
        generator = torch.Generator().manual_seed(self.seed)
        every = batches(train, passes=how.passes, batch=how.batch, group=how.group, seed=self.seed)
        baseline = _Baseline(how)
        for index, attempts in enumerate(every):
            first, last = how.temperature
            temperature = first + (last - first) * index / len(every)
            scores = network(self.queries([task for task, _ in attempts])).tempered(temperature)
            drawn = draw_typed(scores, generator)
            kept = drawn.kept(scores, how.edges_per_kind)
            rollouts = await self.run([self._team(edges) for edges in kept], attempts)
            reward = correctness(rollouts) + how.coverage * np.array([_coverage(e) for e in kept])
            advantage = torch.from_numpy(baseline(reward)).float()
            loss = -(
                advantage * drawn.log_prob(scores) + how.entropy * drawn.entropy(scores)
            ).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            self.note(rollouts)
        self.trained = True

    def edges(self, task: Task) -> dict[Edge, str]:
        """Return the edges for ``task`` and the kind of each."""
        with torch.no_grad():
            scores = self.started(self.queries([task]))
        (kept,) = draw_typed(scores, None).kept(scores, self.settings.edges_per_kind)
        return {edge: KINDS[kind] for edge, kind in kept.items()}

    def team(self, task: Task) -> Team:
        """Return the team on the most probable order and kinds."""
        return self._team({edge: KINDS.index(kind) for edge, kind in self.edges(task).items()})

    def _team(self, edges: dict[Edge, int]) -> Team:
        told = {edge: KINDS[kind] for edge, kind in edges.items()}
        team = plain_team(
            self.space, self.settings.llm, Topology(len(self.space.roles.roles), tuple(edges))
        )
        return Team(
            instructed(team.roles, told), team.supernodes, team.topology, team.decision, team.reads
        )


def instructed(roles: RoleSet, kinds: dict[Edge, str]) -> RoleSet:
    """Tell each reader how to treat the messages that it gets by an edge of a special kind."""
    changed = []
    for node, role in enumerate(roles.roles):
        told = [
            _TOLD[kind].format(source=f"the {roles.names[source]}")
            for (source, reader), kind in sorted(kinds.items())
            if reader == node and kind in _TOLD
        ]
        text = "\n".join([role.instruction, *told])
        changed.append(role.model_copy(update={"instruction": text}))
    return roles.model_copy(update={"roles": tuple(changed)})


class _Baseline:
    """Turns rewards, NaN where there was no verdict, into advantages."""

    def __init__(self, settings: TopoDIMSettings) -> None:
        self._settings = settings
        self._average: float | None = None

    def __call__(self, reward: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._settings.baseline == "question":
            return leave_one_out(reward, self._settings.group)
        if not np.isnan(reward).all():
            mean = float(np.nanmean(reward))
            before = mean if self._average is None else self._average
            self._average = DECAY * before + (1 - DECAY) * mean
        return np.nan_to_num(reward - (self._average or 0.0), nan=0.0)


def _coverage(edges: dict[Edge, int]) -> float:
    return len(set(edges.values())) / len(KINDS)
