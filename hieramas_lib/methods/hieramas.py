"""HieraMAS: supernodes filled by a learned policy, on a graph chosen by a learned classifier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.classifier import GraphClassifier
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.labels import GraphLabels, label_graphs
from hieramas_lib.learning.policy import (
    PaperHead,
    PolicyLearner,
    PolicyPrior,
    greedy,
    match_policy,
)
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import Stage1Settings, TrainingStep, train_policy
from hieramas_lib.learning.stage2 import Stage2Settings, train_classifier
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team

Form = Literal["match", "paper"]
"""Network of the policy: few weights on one number, or the paper's MLP on text vectors."""


@dataclass(frozen=True, slots=True)
class HieraMASSettings:
    """Everything that is learned, and how.

    Raises:
        ConfigError: ``form`` is unknown.
    """

    form: Form = "match"
    prior: PolicyPrior = field(default_factory=PolicyPrior)
    stage1: Stage1Settings = field(default_factory=Stage1Settings)
    stage2: Stage2Settings = field(default_factory=Stage2Settings)

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise ConfigError(f"form: {self.form!r} is not one of {', '.join(get_args(Form))}")


class HieraMAS:
    """The method of arXiv 2602.20229, both stages, behind the common protocol.

    One inference rule everywhere (validation, labelling, test): arg-max over LLMs and SKIP in
    every position, then the graph of the pool that the classifier scores highest.
    """

    name = "HieraMAS"

    def __init__(
        self,
        space: TeamSpace,
        llms: LLMService,
        encoder: Encoder,
        settings: HieraMASSettings,
        seed: int,
    ) -> None:
        """Set up an untrained system; :meth:`fit` trains it, :meth:`start` leaves it untrained."""
        self.space, self.settings = space, settings
        self._llms, self._encoder, self._seed = llms, encoder, seed
        self.policy = self._untrained_policy()
        self.history: list[TrainingStep] = []
        self._featurizer: Featurizer | None = None
        self._classifier: GraphClassifier | None = None

    def start(self, train: Sequence[Task], policy: PolicyLearner | None = None) -> None:
        """Fix the feature scale on ``train`` and take ``policy``, by default the untrained one."""
        self._featurizer = Featurizer(self._encoder, self.space.roles, train)
        self.policy = policy or self._untrained_policy()
        self.history, self._classifier = [], None

    async def fit(
        self,
        train: Sequence[Task],
        val: Sequence[Task] = (),
        on_step: Callable[[TrainingStep], None] = lambda step: None,
    ) -> None:
        """Train stage 1 anew, then stage 2 with the policy frozen; ``val`` is not used."""
        await self.fit_policy(train, on_step)
        await self.fit_graphs(train)

    async def fit_policy(
        self,
        train: Sequence[Task],
        on_step: Callable[[TrainingStep], None] = lambda step: None,
    ) -> None:
        """Train stage 1 alone."""
        self.start(train)
        self.history = await train_policy(
            self.policy,
            self.space,
            train,
            self._llms,
            self._scaled,
            self.settings.stage1,
            self._seed,
            on_step,
        )

    async def fit_graphs(self, train: Sequence[Task]) -> GraphLabels:
        """Train stage 2 alone, on labels made with the policy as it stands; return the labels."""
        stage2 = self.settings.stage2
        labels = await label_graphs(
            self.policy,
            self.space,
            train,
            self._llms,
            self._scaled,
            stage2.graphs_per_task,
            self._seed,
        )
        features = self._scaled(train)
        dim = features.query.shape[1]
        classifier = GraphClassifier(dim, self.space.graphs, seed=self._seed)
        train_classifier(classifier, features, self.kept(train), labels, stage2, self._seed)
        self._classifier = classifier
        return labels

    def actions(self, tasks: Sequence[Task]) -> Tensor:
        """Return the chosen actions ``[tasks, roles, positions]``."""
        with torch.no_grad():
            return greedy(self.policy(self._scaled(tasks)))

    def kept(self, tasks: Sequence[Task]) -> Tensor:
        """Return which roles act, ``[tasks, roles]``."""
        return self.actions(tasks)[..., -1] != self.space.actions.skip

    def graph_scores(self, tasks: Sequence[Task]) -> Tensor:
        """Return the classifier's score of every graph of the pool, ``[tasks, graphs]``.

        Raises:
            ConfigError: stage 2 has not been trained.
        """
        if self._classifier is None:
            raise ConfigError("HieraMAS: train stage 2 first, with fit() or fit_graphs()")
        count = len(self.space.graphs)
        every = torch.arange(count).expand(len(tasks), count)
        with torch.no_grad():
            scores: Tensor = self._classifier(self._scaled(tasks), self.kept(tasks), every)
        return scores

    def team(self, task: Task) -> Team:
        """Return the team chosen for ``task``."""
        graph = int(self.graph_scores([task]).argmax())
        return self.space.team(self.actions([task])[0], graph)

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task`` with the team chosen for it."""
        return await run_team(self.team(task), task, self._llms)

    @property
    def _scaled(self) -> Featurizer:
        if self._featurizer is None:
            raise ConfigError("HieraMAS: call fit() or start() before answering")
        return self._featurizer

    def _untrained_policy(self) -> PolicyLearner:
        space, roles, prior = self.space.actions, self.space.roles, self.settings.prior
        if self.settings.form == "match":
            return match_policy(space, prior, roles)
        pool = self._llms.pool
        texts = [*(pool[name].profile for name in space.llms), pool.skip_profile]
        profiles = torch.from_numpy(self._encoder.encode(texts))
        return PolicyLearner(space, PaperHead(space, profiles, seed=self._seed), prior, roles)
