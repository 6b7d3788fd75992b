"""Train stage 1 in several ways on more and more questions, and judge what was learned."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import nan
from typing import Literal, get_args

import torch

from hieramas_lib.experiments.learning_curve.lab import Lab
from hieramas_lib.experiments.learning_curve.optimum import Optimum
from hieramas_lib.learning.features import Features, Featurizer
from hieramas_lib.learning.policy import (
    NO_PRIOR,
    PaperHead,
    PolicyLearner,
    PolicyPrior,
    match_policy,
    role_entropy,
)
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.estimate import Results

Way = Literal["HieraMAS", "constant", "final_only", "node_only", "reference", "published"]
"""``constant`` learns one team for all questions: the same learner without the question.

``reference`` is the published update from our prior on our network; ``published`` has neither, but
the paper's network.
"""

WAYS: tuple[Way, ...] = get_args(Way)


class WithoutQuestion(Featurizer):
    """Features that say nothing about the question: its match with every role is 0."""

    def __call__(self, tasks: Sequence[Task]) -> Features:
        """Return the features of ``tasks``, match left out."""
        features = super().__call__(tasks)
        return replace(features, match=torch.zeros_like(features.match))


@dataclass(frozen=True, slots=True)
class Point:
    """One trained (or untrained) policy on a world's held-out questions.

    Attributes:
        world, seed: Of the simulated world, and of the training.
        way: How it was trained; ``"prior"`` is untrained.
        questions, rollouts: What it was trained on.
        utility, accuracy, cost: By arg-max, on a graph of the pool drawn at random.
        from_random, from_alone: Share of the way to the best constant team.
        of_subjects: Share of the way from random to the best team of every subject; NaN where
            that was not searched.
        gain: Utility minus that of its prior on the same questions under equal luck.
        kept, kept_sampled: Mean number of roles kept, by arg-max and when drawn.
        entropy: Mean entropy of a role's choice, in nats.
        sampled_utility: Of teams drawn from the policy instead.
        unseen_utility, unseen_accuracy, unseen_cost: On subjects that it was not trained on.
        unseen_gain: Utility there minus that of the strongest LLM alone.
    """

    world: int
    seed: int
    way: str
    questions: int
    rollouts: int
    utility: float
    accuracy: float
    cost: float
    from_random: float
    from_alone: float
    of_subjects: float
    gain: float
    kept: float
    kept_sampled: float
    entropy: float
    sampled_utility: float
    unseen_utility: float
    unseen_accuracy: float
    unseen_cost: float
    unseen_gain: float

    def row(self) -> dict[str, float | int | str]:
        """Return it as a row of a table."""
        return asdict(self)


def learning_curve(
    lab: Lab, optimum: Optimum, *, sizes: Sequence[int], seeds: Sequence[int],
    ways: Callable[[int], Sequence[Way]] = lambda size: WAYS,
    settings: Stage1Settings, prior: PolicyPrior,
) -> Iterator[Point]:  # fmt: skip
    """Yield one point for each training, and one for the untrained prior of each size and seed.

    Args:
        lab: The world.
        optimum: See :func:`.optimum.find_optimum`.
        sizes: Numbers of training questions.
        seeds: Of training: which questions, which rollouts.
        ways: Which ways to train at a size.
        settings: Of all ways; the published update has its own, at the same number of rollouts.
        prior: Where all begin.
    """
    for size in sizes:
        for seed in seeds:
            tasks = lab.questions.training_set(size, seed)
            run = _Run(lab, optimum, tasks, seed, prior)
            yield run.untrained
            for way in ways(size):
                yield run.trained(way, settings_of(way, settings))


def settings_of(way: Way, settings: Stage1Settings) -> Stage1Settings:
    """Return how ``way`` is trained; all ways make equally many rollouts."""
    if way in ("reference", "published"):
        return Stage1Settings.published(passes=settings.passes * settings.group)
    if way in ("final_only", "node_only"):
        return replace(settings, credit=way)
    return settings


class _Run:
    """All that is trained on one set of questions with one seed."""

    def __init__(
        self, lab: Lab, optimum: Optimum, tasks: Sequence[Task], seed: int, prior: PolicyPrior
    ) -> None:
        self._lab, self._optimum, self._tasks, self._seed = lab, optimum, tasks, seed
        self._prior = prior
        self._practice = lab.practice(tasks)
        self._featurizer = Featurizer(lab.encoder, lab.space.roles, tasks)
        policy = match_policy(lab.space.actions, prior, lab.space.roles)
        self._start = lab.judge(policy, self._featurizer, lab.seen)
        self.untrained = self._point("prior", policy, self._featurizer, 0)

    def trained(self, way: Way, settings: Stage1Settings) -> Point:
        """Train anew and judge."""
        lab = self._lab
        kind = WithoutQuestion if way == "constant" else Featurizer
        featurizer = kind(lab.encoder, lab.space.roles, self._tasks)
        policy = self._untrained(way)
        history = lab.train(policy, self._practice, featurizer, settings, self._seed)
        return self._point(way, policy, featurizer, history[-1].rollouts)

    def _untrained(self, way: Way) -> PolicyLearner:
        lab = self._lab
        space, roles = lab.space.actions, lab.space.roles
        if way != "published":
            return match_policy(space, self._prior, roles)
        texts = [*(spec.profile for spec in lab.pool.llms), lab.pool.skip_profile]
        profiles = torch.from_numpy(lab.encoder.encode(texts))
        return PolicyLearner(space, PaperHead(space, profiles, seed=self._seed), NO_PRIOR, roles)

    def _point(
        self, way: str, policy: PolicyLearner, featurizer: Featurizer, rollouts: int
    ) -> Point:
        lab, optimum, skip = self._lab, self._optimum, self._lab.space.actions.skip
        results = lab.judge(policy, featurizer, lab.seen)
        unseen = lab.judge(policy, featurizer, lab.unseen).estimate()
        drawn = lab.judge(policy, featurizer, lab.seen, sampled=True)
        logits = lab.logits(policy, featurizer, lab.seen)
        found = results.estimate()
        random, alone = optimum.anchors.shares(found.mean, optimum.best.mean)
        return Point(
            world=lab.world.seed,
            seed=self._seed,
            way=way,
            questions=len(self._tasks),
            rollouts=rollouts,
            utility=found.mean,
            accuracy=found.accuracy,
            cost=found.cost,
            from_random=random,
            from_alone=alone,
            of_subjects=_of_subjects(found.mean, optimum),
            gain=_difference(results, self._start),
            kept=float((logits[..., -1, :].argmax(-1) != skip).float().sum(-1).mean()),
            kept_sampled=float((1 - logits[..., -1, :].softmax(-1)[..., skip]).sum(-1).mean()),
            entropy=float(role_entropy(logits, skip).mean()),
            sampled_utility=drawn.estimate().mean,
            unseen_utility=unseen.mean,
            unseen_accuracy=unseen.accuracy,
            unseen_cost=unseen.cost,
            unseen_gain=unseen.mean - optimum.base_unseen.mean,
        )


def _of_subjects(utility: float, optimum: Optimum) -> float:
    if optimum.by_subject is None:
        return nan
    return optimum.anchors.shares(utility, optimum.by_subject.mean)[0]


def _difference(ours: Results, theirs: Results) -> float:
    return ours.minus(theirs).estimate().mean
