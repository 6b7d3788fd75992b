"""Every graph of a pool on every question, under a fixed team.

Teams are replayed on answers instead of texts (``teams.symbolic``), so that all graphs can be run
on thousands of questions. Only labels that a real training would pay for are shown to a selector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.features import Features, Featurizer
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import GraphPool, full, reference_pool
from hieramas_lib.teams.oracle.questions import more_questions
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Reads, Team
from hieramas_lib.teams.topology import Topology

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Setting:
    """A team that keeps every role, and the knobs of the world that make graphs matter.

    Attributes:
        name: For tables.
        llms: Given to the roles in turn; each role's one proposer is the next LLM.
        decision: LLM that gives the final answer.
        fit: Logits that an expert's role has in its own subjects, and lacks in others; at 0 no
            graph suits one question better than another.
        persuasion: How much agreeing messages sway a reader.
    """

    name: str
    llms: tuple[str, ...]
    decision: str
    fit: float
    persuasion: float

    def team(self, roles: RoleSet, reads: Reads) -> Team:
        """Return the team, without edges."""
        count = len(self.llms)
        nodes = tuple(
            Supernode(name, (self.llms[(node + 1) % count],), self.llms[node % count])
            for node, name in enumerate(roles.names)
        )
        return Team(roles, nodes, Topology(len(nodes)), self.decision, reads)

    def world(self, settings: WorldSettings) -> WorldSettings:
        """Return ``settings`` with this one's knobs."""
        fitted = settings.with_knobs("fit", own=self.fit, other=-self.fit)
        return fitted.with_knobs("reading", persuasion=self.persuasion)


MIXED = ("gemma-3-27b", "gpt-4o-mini", "qwen3-8b", "gpt-5-nano")
CHEAP = ("qwen3-8b", "llama-3.1-8b")
SETTINGS = (
    Setting("no interaction", MIXED, "gemma-3-27b", fit=0.0, persuasion=1.0),
    Setting("mixed team", MIXED, "gemma-3-27b", fit=2.0, persuasion=1.0),
    Setting("cheap team", CHEAP, "gemma-3-27b", fit=2.0, persuasion=1.0),
    Setting("mixed team, kappa 2", MIXED, "gemma-3-27b", fit=2.0, persuasion=2.0),
    Setting("cheap team, kappa 2", CHEAP, "gemma-3-27b", fit=2.0, persuasion=2.0),
)


@dataclass(frozen=True)
class Questions:
    """Questions with what every graph is worth on each, and what learners see of them.

    They are copies of some originals, all originals once, then all again; a copy looks like its
    original, and has everything else of its own.

    Attributes:
        seen: Features of every question, ``[tasks, ...]``.
        originals: How many originals there are.
        subjects: Subject of each question, ``[tasks]``.
        right: Whether the answer was right, 0 or 1, ``[tasks, graphs]``.
        utility: The same shape.
    """

    seen: Features
    originals: int
    subjects: NDArray[np.str_]
    right: Floats
    utility: Floats

    def features(self, count: int) -> Features:
        """Return the features of the first ``count`` questions."""
        return Features(self.seen.query[:count], self.seen.role, self.seen.match[:count])

    @property
    def distinct(self) -> Features:
        """Features of one copy of each original: others look the same."""
        return self.features(self.originals)

    def utility_of(self, choice: NDArray[np.intp]) -> float:
        """Return the mean utility if copies get the graph chosen for their original."""
        rows = np.arange(len(self.utility))
        return float(self.utility[rows, np.resize(choice, len(rows))].mean())


def everybody(features: Features) -> torch.Tensor:
    """Return that all roles act, ``[tasks, roles]``."""
    return torch.ones(features.match.shape, dtype=torch.bool)


class SelectionWorld:
    """A fixed team in one simulated world, to be tried with every graph of a pool.

    Args:
        setting: Team and knobs.
        reads: What the decision reads.
        seed: Of the world.
        settings: Of the world, before the knobs of ``setting``.
        pool: The LLMs, as simulated.
        roles: The role set.
        graphs: The graph pool.
        train, test: Questions; both are multiplied by copies that only share their texts.
        encoder: Knows the texts of the questions and roles.
    """

    def __init__(
        self, setting: Setting, reads: Reads, seed: int, *, settings: WorldSettings,
        pool: LLMPool, roles: RoleSet, graphs: GraphPool, train: Sequence[Task],
        test: Sequence[Task], encoder: Encoder,
    ) -> None:  # fmt: skip
        self.graphs, self._pool, self._roles, self._seed = graphs, pool, roles, seed
        self._world = World((), setting.world(settings), pool, seed)
        self._team = setting.team(roles, reads)
        self._train, self._test = tuple(train), tuple(test)
        self._featurizer = Featurizer(OriginalTexts(encoder), roles, train)

    def training_for(self, queries: int, label_seed: int) -> Questions:
        """Return at least ``queries`` copies of training questions, others for every label seed."""
        copies = -(-queries // len(self._train))
        return self._questions(self._train, copies, label_seed * copies, self.graphs.topologies)

    def testing(self, copies: int) -> Questions:
        """Return ``copies`` of the test questions; behind the pool's graphs is the full one."""
        size = self.graphs.size
        return self._questions(self._test, copies, 0, (*self.graphs.topologies, full(size)))

    def _questions(
        self, tasks: Sequence[Task], copies: int, skip: int, graphs: Sequence[Topology]
    ) -> Questions:
        copied = more_questions(tasks, skip + copies)[skip * len(tasks) :]
        replays = SymbolicTeams(
            self._world, self._pool, self._roles, copied, draws=1, seed=self._seed
        )
        results = [replays.results(replace(self._team, topology=graph)) for graph in graphs]
        return Questions(
            seen=self._featurizer(copied),
            originals=len(tasks),
            subjects=np.array([task.subject for task in copied]),
            right=np.stack([r.right[0] for r in results], axis=1),
            utility=np.stack([r.utility[0] for r in results], axis=1),
        )


def shipped_world(
    setting: Setting, reads: Reads, seed: int, *, graphs: int = 100
) -> SelectionWorld:
    """Open a hard world on the shipped knowledge questions, with a pool of ``graphs``."""
    source = benchmark_source("knowledge")
    return SelectionWorld(
        setting,
        reads,
        seed,
        settings=load_settings("hard"),
        pool=load_pool(data_path("llm_pool.yaml")).simulated(),
        roles=source.roles,
        graphs=reference_pool(len(source.roles.roles), graphs, seed=0),
        train=source.train,
        test=source.test,
        encoder=source.encoder(),
    )


def draw_labels(questions: Questions, queries: int, each: int, pool: int, seed: int) -> GraphLabels:
    """Return what ``each`` random graphs of ``pool`` tell on each of the first ``queries``."""
    rng = np.random.default_rng(seed)
    graphs = rng.permuted(np.tile(np.arange(pool), (queries, 1)), axis=1)[:, :each]
    rows = np.arange(queries)[:, None]
    return GraphLabels(
        graphs=torch.from_numpy(graphs),
        utility=torch.from_numpy(questions.utility[rows, graphs]).float(),
        correct=torch.from_numpy(questions.right[rows, graphs] > 0),
    )
