"""HieraMAS: supernodes filled by a learned policy, on a graph chosen by a learned classifier."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.checkpoints import Checkpoints
from hieramas_lib.learning.classifier import GraphScorer, new_classifier
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.explanation import Explanation, explain
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
from hieramas_lib.learning.stage1 import train_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings, train_classifier
from hieramas_lib.learning.training_state import (
    TrainingStep,
    history_of,
    history_tensor,
    part,
)
from hieramas_lib.llms.budget import Budget
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
        self.space, self.settings, self.seed = space, settings, seed
        self.llms, self.encoder = llms, encoder
        self.policy = self.untrained_policy()
        self.history: list[TrainingStep] = []
        self.featurizer: Featurizer | None = None
        self.classifier: GraphScorer | None = None

    def start(self, train: Sequence[Task], policy: PolicyLearner | None = None) -> None:
        """Fix the feature scale on ``train`` and take ``policy``, by default the untrained one."""
        self.featurizer = Featurizer(self.encoder, self.space.roles, train)
        self.policy = policy or self.untrained_policy()
        self.history, self.classifier = [], None

    async def fit(
        self,
        train: Sequence[Task],
        val: Sequence[Task] = (),
        on_step: Callable[[TrainingStep], None] = lambda step: None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        """Train stage 1 anew, then stage 2 with the policy frozen; ``val`` is not used.

        With ``checkpoints`` (of one training, at one place), a training that was stopped goes on
        where it was: stage 1 after its last batch; stage 2 from its beginning, where a call store
        on disk has the calls made so far. The result equals that of a training that never stopped.
        """
        await self.fit_policy(train, on_step, checkpoints)
        await self.fit_graphs(train)

    async def fit_policy(
        self,
        train: Sequence[Task],
        on_step: Callable[[TrainingStep], None] = lambda step: None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        """Train stage 1 alone."""
        self.start(train)
        self.history = await train_policy(
            self.policy,
            self.space,
            train,
            self.llms,
            self._scaled,
            self.settings.stage1,
            self.seed,
            on_step,
            checkpoints,
        )

    async def fit_graphs(self, train: Sequence[Task]) -> GraphLabels:
        """Train stage 2 alone, on labels made with the policy as it stands; return the labels."""
        stage2 = self.settings.stage2
        labels = await label_graphs(
            self.policy,
            self.space,
            train,
            self.llms,
            self._scaled,
            stage2.graphs_per_task,
            self.seed,
        )
        features = self._scaled(train)
        classifier = self.untrained_classifier(features.query.shape[1])
        train_classifier(classifier, features, self.kept(train), labels, stage2, self.seed)
        self.classifier = classifier
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
        count = len(self.space.graphs)
        every = torch.arange(count).expand(len(tasks), count)
        with torch.no_grad():
            scores: Tensor = self._trained(self._scaled(tasks), self.kept(tasks), every)
        return scores

    def explain(self, task: Task) -> Explanation:
        """Return why the team of :meth:`team` is chosen for ``task``."""
        return explain(self.policy, self._trained, self.space, self._scaled([task]))

    def team(self, task: Task) -> Team:
        """Return the team chosen for ``task``."""
        graph = int(self.graph_scores([task]).argmax())
        return self.space.team(self.actions([task])[0], graph)

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task`` with the team chosen for it."""
        return await run_team(self.team(task), task, self.llms)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that was learned, the scale of the features and the learning curve, by name.

        Raises:
            ConfigError: nothing was, or the policy is not of the form that the settings name.
        """
        policy = self.policy.state_dict()
        parts = {"policy": policy, "features": self._scaled.state()}
        if policy.keys() != self.untrained_policy().state_dict().keys():
            raise ConfigError(f"HieraMAS: the policy is not of the form {self.settings.form!r}")
        if self.classifier is not None:
            parts["classifier"] = self.classifier.state_dict()
        named = {f"{name}.{key}": value for name, of in parts.items() for key, value in of.items()}
        return named | {"history": history_tensor(self.history)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take what :meth:`tensors` of a system with the same settings returned.

        Raises:
            KeyError, RuntimeError: they are of another one.
        """
        features, classifier = part(tensors, "features"), part(tensors, "classifier")
        self.policy.load_state_dict(part(tensors, "policy"))
        self.featurizer = Featurizer.restored(self.encoder, features)
        self.classifier = None
        if classifier:
            self.classifier = self.untrained_classifier(features["role"].shape[1])
            self.classifier.load_state_dict(classifier)
        self.history = history_of(tensors["history"])

    def save(self, folder: str | Path) -> None:
        """Write the system to ``folder``, as :func:`~hieramas_lib.methods.saved.save_method`."""
        from hieramas_lib.methods.saved import save_method  # which imports this module

        save_method(self, folder)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        llms: LLMService | None = None,
        encoder: Encoder | None = None,
        budget: Budget | None = None,
    ) -> "HieraMAS":
        """Read a system that :meth:`save` wrote; it chooses and answers as the saved one did.

        Arguments and errors are those of :func:`~hieramas_lib.methods.saved.load_method`.

        Raises:
            ConfigError: another method is saved there.
        """
        from hieramas_lib.methods.saved import load_method  # which imports this module

        system = load_method(folder, llms=llms, encoder=encoder, budget=budget)
        if not isinstance(system, cls):
            raise ConfigError(f"{folder}: holds {system.name}; read it with load_method()")
        return system

    def untrained_policy(self) -> PolicyLearner:
        """Return the policy that :meth:`fit` begins with: the prior alone."""
        space, roles, prior = self.space.actions, self.space.roles, self.settings.prior
        if self.settings.form == "match":
            return match_policy(space, prior, roles)
        pool = self.llms.pool
        texts = [*(pool[name].profile for name in space.llms), pool.skip_profile]
        profiles = torch.from_numpy(self.encoder.encode(texts))
        return PolicyLearner(space, PaperHead(space, profiles, seed=self.seed), prior, roles)

    def untrained_classifier(self, dim: int) -> GraphScorer:
        """Return the classifier that :meth:`fit` begins with, for text vectors of size ``dim``."""
        form = self.settings.stage2.form
        return new_classifier(form, dim, self.space.graphs, seed=self.seed)

    @property
    def _scaled(self) -> Featurizer:
        if self.featurizer is None:
            raise ConfigError("HieraMAS: call fit() or start() first")
        return self.featurizer

    @property
    def _trained(self) -> GraphScorer:
        if self.classifier is None:
            raise ConfigError("HieraMAS: train stage 2 first, with fit() or fit_graphs()")
        return self.classifier
