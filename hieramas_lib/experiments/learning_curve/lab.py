"""One simulated world in which policies are trained and judged, as arrays throughout."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.experiments.learning_curve.mixed_tables import tables_of
from hieramas_lib.experiments.learning_curve.mixed_teams import MixedTeams, Teams
from hieramas_lib.experiments.learning_curve.questions import Questions
from hieramas_lib.experiments.learning_curve.rollouts import ReplayedRollouts
from hieramas_lib.learning.encoder import Encoder, ShippedVectors
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import ActionSpace, PolicyLearner, greedy, sample
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import train_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.training_state import TrainingStep
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.methods.run import run
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.oracle.estimate import Results
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.symbolic.answers import AnswerCodes

REPETITIONS = 3
"""How often a policy is tried on each held-out question, each time on another graph."""


@dataclass(frozen=True)
class Trial:
    """Held-out questions on which every policy has equal luck and equal graphs."""

    tasks: tuple[Task, ...]
    mixed: MixedTeams
    column: NDArray[np.intp]
    graphs: NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Practice:
    """Training questions, and what replays teams on them."""

    tasks: tuple[Task, ...]
    codes: AnswerCodes
    mixed: MixedTeams

    def rollouts(self, pool: LLMPool, seed: int) -> ReplayedRollouts:
        """Return what makes the rollouts; ``seed`` is of the luck of calls."""
        return ReplayedRollouts(self.mixed, self.codes, pool, seed)


class Lab:
    """A world, its questions and its teams.

    Stage 1 alone has no graph: it is judged as it is trained, on graphs drawn uniformly from the
    pool, the same ones for every policy.
    """

    def __init__(
        self, world: World, pool: LLMPool, roles: RoleSet, questions: Questions, encoder: Encoder,
        *, decision: str, graphs: int = 100, width: int = 2,
    ) -> None:  # fmt: skip
        """Open ``world``, which need not hold the questions."""
        self.world, self.pool, self.questions = world, pool, questions
        self.encoder = OriginalTexts(encoder)
        self.llms = connect(pool, world=world)
        self._roles, self._decision = roles, decision
        self._known: dict[tuple[str, ...], MixedTeams] = {}
        self._open(graphs, width)

    def with_space(self, *, graphs: int, width: int) -> "Lab":
        """Return the same world with another pool of graphs and teams of another width.

        What is known about the questions is shared, so that this takes no time.
        """
        other = copy.copy(self)
        for trial in ("seen", "unseen"):
            other.__dict__.pop(trial, None)
        other._open(graphs, width)
        return other

    def _open(self, graphs: int, width: int) -> None:
        self.space = TeamSpace(
            roles=self._roles,
            actions=ActionSpace(self.pool.names, width),
            graphs=reference_pool(len(self._roles.roles), graphs, seed=self.world.seed),
            decision=self._decision,
        )
        self._edges = np.array([graph.adjacency() for graph in self.space.graphs], dtype=bool)
        self._order = np.array([graph.order() for graph in self.space.graphs])

    @property
    def settings(self) -> WorldSettings:
        """The world's settings."""
        return self.world.settings

    @cached_property
    def seen(self) -> Trial:
        """Questions of the subjects trained on."""
        return self._trial(self.questions.judge, seed=1)

    @cached_property
    def unseen(self) -> Trial:
        """Questions of other subjects."""
        return self._trial(self.questions.unseen, seed=2)

    def practice(self, tasks: Sequence[Task]) -> Practice:
        """Look up what training on ``tasks`` can come across; share it between trainings."""
        mixed = self._mixed(tasks)
        return Practice(tuple(tasks), mixed.codes, mixed)

    def train(
        self, policy: PolicyLearner, practice: Practice, featurizer: Featurizer,
        settings: Stage1Settings, seed: int,
    ) -> list[TrainingStep]:  # fmt: skip
        """Train ``policy`` in place by :func:`train_policy`, on replayed rollouts."""
        return run(
            train_policy(
                policy, self.space, practice.tasks, self.llms, featurizer, settings, seed,
                run=practice.rollouts(self.pool, seed),
            )
        )  # fmt: skip

    def judge(
        self, policy: PolicyLearner, featurizer: Featurizer, trial: Trial, *, sampled: bool = False
    ) -> Results:
        """Try ``policy`` on every question of ``trial``, by arg-max or by drawing."""
        logits = self.logits(policy, featurizer, trial)
        if sampled:
            actions = sample(logits, torch.Generator().manual_seed(trial.seed))
        else:
            actions = greedy(logits)
        return self.results(actions, trial)

    def logits(self, policy: PolicyLearner, featurizer: Featurizer, trial: Trial) -> Tensor:
        """Return the policy's logits on ``trial``, ``[questions · repetitions, R, P, A]``."""
        with torch.no_grad():
            once: Tensor = policy(featurizer(trial.tasks))
        return once.repeat(REPETITIONS, *[1] * (once.ndim - 1))

    def results(
        self, actions: Tensor, trial: Trial, graphs: NDArray[np.intp] | None = None
    ) -> Results:
        """Run the teams ``actions``, ``[questions · repetitions, R, P]``."""
        graph = trial.graphs if graphs is None else graphs
        teams = Teams(trial.column, actions.numpy(), self._edges[graph], self._order[graph])
        return trial.mixed.replay(teams, np.random.default_rng(trial.seed)).results

    def _trial(self, tasks: tuple[Task, ...], seed: int) -> Trial:
        rng, count = np.random.default_rng(seed), REPETITIONS * len(tasks)
        return Trial(
            tasks=tasks,
            mixed=self._mixed(tasks),
            column=np.tile(np.arange(len(tasks)), REPETITIONS),
            graphs=rng.integers(len(self.space.graphs), size=count),
            seed=seed,
        )

    def _mixed(self, tasks: Sequence[Task]) -> MixedTeams:
        key = tuple(task.id for task in tasks)
        if key not in self._known:
            decision = self.pool.names.index(self._decision)
            tables = tables_of(self.world, self.pool, self._roles, tasks, self._decision)
            self._known[key] = MixedTeams(tables, self.settings, decision, self.space.reads)
        return self._known[key]


def shipped_lab(
    seed: int, *, difficulty: str = "hard", decision: str = "gemma-3-27b", graphs: int = 100,
    width: int = 2,
) -> Lab:  # fmt: skip
    """Open the world ``seed`` on the shipped knowledge questions, with the shipped pool."""
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    return Lab(
        World((), load_settings(difficulty), pool, seed), pool, load_roles("choice"),
        Questions.of("knowledge"), ShippedVectors(), decision=decision, graphs=graphs, width=width,
    )  # fmt: skip
