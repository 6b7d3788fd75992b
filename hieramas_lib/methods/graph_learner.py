"""What methods share that learn a graph over plain agents of one LLM.

Their network scores edges for a question; a graph is drawn, the team of plain agents runs on it,
and the outcome teaches the network. What is drawn is what runs: every edge that was drawn is in
``requested_edges`` of the rollout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.training_state import part
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.fixed_graphs import plain_team
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch, run_team
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.utility import mean_utility

Attempt = tuple[Task, int]
"""A question, and the index that tells its repetitions apart."""


class OneLLM(Protocol):
    """Settings of a method whose agents are all the same LLM."""

    @property
    def llm(self) -> str:
        """Name of the LLM in the pool."""
        ...


Settings = TypeVar("Settings", bound=OneLLM)
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class GraphStep:
    """What one batch of training rollouts looked like.

    Attributes:
        rollouts: Made so far, this batch included.
        accuracy, utility, cost, edges: Means over the batch; cost in reference calls.
        refused: Mean number of edges that were left out because they would have closed a cycle.
    """

    rollouts: int
    accuracy: float
    utility: float
    cost: float
    edges: float
    refused: float = 0.0


class GraphLearner(Generic[Settings, Network]):
    """A learned graph over plain agents; a subclass says how it is drawn and learned.

    ``start`` leaves it untrained but able to answer. Roles all act, unless the method says
    otherwise; the decision LLM and what it reads are those of the space.
    """

    name: str

    def __init__(
        self, space: TeamSpace, llms: LLMService, encoder: Encoder, settings: Settings, seed: int
    ) -> None:
        """Set up; call :meth:`fit` or :meth:`start` before answering.

        Raises:
            ConfigError: the LLM of the settings is not in the pool.
        """
        self.space, self.llms, self.encoder = space, llms, encoder
        self.settings, self.seed = settings, seed
        self.network: Network | None = None
        self.history: list[GraphStep] = []
        self.trained = False
        plain_team(space, settings.llm, space.graphs[0])

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Learn anew from ``train``."""
        raise NotImplementedError

    def team(self, task: Task) -> Team:
        """Return the team for ``task``; the same whenever it is asked."""
        raise NotImplementedError

    def untrained(self) -> Network:
        """Return the network that :meth:`fit` begins with."""
        raise NotImplementedError

    @property
    def started(self) -> Network:
        """The network, trained or not.

        Raises:
            ConfigError: there is none yet.
        """
        if self.network is None:
            raise ConfigError(f"{self.name}: call fit() or start() before answering")
        return self.network

    def start(self, train: Sequence[Task] = ()) -> None:
        """Begin with the untrained network; nothing is taken from ``train``."""
        self.network, self.history, self.trained = self.untrained(), [], False

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task`` on the graph chosen for it."""
        return await run_team(self.team(task), task, self.llms)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that was learned.

        Raises:
            ConfigError: it is not trained.
        """
        if self.network is None or not self.trained:
            raise ConfigError(f"{self.name}: call fit() first; there is nothing learned yet")
        state = self.network.state_dict()
        return {f"network.{name}": tensor.detach().clone() for name, tensor in state.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what :meth:`tensors` of an equal method returned.

        Raises:
            ConfigError: it is of another method, or of other roles.
        """
        network = self.untrained()
        try:
            network.load_state_dict(part(tensors, "network"))
        except RuntimeError as error:
            raise ConfigError(f"{self.name}: not the weights of this method: {error}") from None
        self.network, self.history, self.trained = network, [], True

    def role_vectors(self) -> Tensor:
        """Return the text vectors of the role profiles, ``[roles, dim]``."""
        return torch.from_numpy(self.encoder.encode([r.profile for r in self.space.roles.roles]))

    def queries(self, tasks: Sequence[Task]) -> Tensor:
        """Return the text vectors of the questions, ``[tasks, dim]``."""
        return torch.from_numpy(self.encoder.encode([task.prompt for task in tasks]))

    def draws_for(self, task: Task) -> torch.Generator:
        """Return the generator of what is drawn at test: of seed and question alone."""
        return torch.Generator().manual_seed(crc32(f"{self.seed} {task.id}".encode()))

    async def run(self, teams: Sequence[Team], attempts: Sequence[Attempt]) -> list[Rollout]:
        """Make the rollouts of a batch."""
        jobs = [Job(team, *attempt) for team, attempt in zip(teams, attempts, strict=True)]
        return await run_batch(jobs, self.llms)

    def note(self, rollouts: Sequence[Rollout], refused: Tensor | None = None) -> None:
        """Add a batch to the history."""
        before = self.history[-1].rollouts if self.history else 0
        reference = self.llms.pool.reference_cost
        self.history.append(
            GraphStep(
                rollouts=before + len(rollouts),
                accuracy=float(np.mean([r.grade.correct for r in rollouts])),
                utility=mean_utility(rollouts, reference),
                cost=float(np.mean([r.usage.cost_usd for r in rollouts])) / reference,
                edges=float(np.mean([len(r.requested_edges) for r in rollouts])),
                refused=0.0 if refused is None else float(refused.float().mean()),
            )
        )


def batches(
    train: Sequence[Task], *, passes: int, batch: int, group: int, seed: int
) -> list[list[Attempt]]:
    """Shuffle the questions anew for each pass; a question's ``group`` rollouts stand together."""
    rng = np.random.default_rng(seed)
    visits = [
        [(train[i], turn * group + g) for g in range(group)]
        for turn in range(passes)
        for i in rng.permutation(len(train))
    ]
    starts = range(0, len(visits), batch)
    return [list(chain(*visits[start : start + batch])) for start in starts]


def correctness(rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
    """Return 1 for right and 0 for wrong answers; NaN after an error of ours, ``[rollouts]``."""
    return np.array(
        [np.nan if r.grade.status == "error" else float(r.grade.correct) for r in rollouts]
    )


def at_least(settings: object, **limits: float) -> None:
    """Check number fields of ``settings``; ConfigError names the one that is below its limit."""
    for name, least in limits.items():
        value = getattr(settings, name)
        if value < least:
            raise ConfigError(f"{name}: at least {least}, got {value}")
