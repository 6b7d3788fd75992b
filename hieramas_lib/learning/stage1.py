"""Stage 1: train the policy that fills the supernodes (HieraMAS, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.credit import CreditMode, advantages
from hieramas_lib.learning.features import Features, Featurizer
from hieramas_lib.learning.policy import PolicyLearner, role_entropy, role_log_prob, sample
from hieramas_lib.learning.policy_loss import call_prices, policy_loss
from hieramas_lib.learning.rewards import mean_utility
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.rollout import Rollout


@dataclass(frozen=True, slots=True)
class Stage1Settings:
    """How the policy is trained; defaults are the recipe measured to work on few questions.

    Attributes:
        passes: Times each training question is used.
        batch: Questions a batch.
        group: Rollouts a question and batch; at least 2, for the leave-one-out baseline.
        steps: Gradient steps a batch.
        learning_rate: Of Adam.
        max_ratio: Limit of the importance weight pi_new / pi_old of a role.
        entropy: Weight of the entropy at the first and the last batch, in units of utility;
            geometric in between.
        credit, alpha: See :func:`hieramas_lib.learning.credit.advantages`.
        max_grad_norm: Gradient clipping.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    passes: int = 4
    batch: int = 12
    group: int = 4
    steps: int = 3
    learning_rate: float = 1e-2
    max_ratio: float = 8.0
    entropy: tuple[float, float] = (0.01, 0.001)
    credit: CreditMode = "multi_level"
    alpha: float = 0.5
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("passes", 1), ("batch", 1), ("group", 2), ("steps", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: at least {least}, got {getattr(self, name)}")
        if self.credit not in get_args(CreditMode):
            modes = ", ".join(get_args(CreditMode))
            raise ConfigError(f"credit: {self.credit!r} is not one of {modes}")
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"alpha: between 0 and 1, got {self.alpha}")
        if min(self.entropy) <= 0:
            raise ConfigError(f"entropy: both weights must be above 0, got {self.entropy}")


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What one batch of training looked like.

    Attributes:
        rollouts: Rollouts made so far, this batch included.
        accuracy, utility, cost: Means over the batch's rollouts; cost in reference calls.
        entropy: Mean entropy of a role's choice, in nats.
        kept_roles: Mean number of roles kept.
    """

    rollouts: int
    accuracy: float
    utility: float
    cost: float
    entropy: float
    kept_roles: float


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One rollout to be drawn: the task, and the index that tells its repetitions apart."""

    task: Task
    sample: int


async def train_policy(
    policy: PolicyLearner,
    space: TeamSpace,
    train: Sequence[Task],
    llms: LLMService,
    featurizer: Featurizer,
    settings: Stage1Settings,
    seed: int,
    on_step: Callable[[TrainingStep], None] = lambda step: None,
) -> list[TrainingStep]:
    """Train ``policy`` in place on ``train`` and return the history, one entry a batch.

    Every rollout draws its graph uniformly from the pool. ``on_step`` is called after each
    batch, for progress.
    """
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=settings.learning_rate)
    prices = call_prices(llms.pool, space.actions.llms)
    batches = _batches(train, settings, rng)
    history: list[TrainingStep] = []
    for index, batch in enumerate(batches):
        features = featurizer([attempt.task for attempt in batch])
        with torch.no_grad():
            logits = policy(features)
        actions = sample(logits, generator)
        rollouts = await _rollouts(space, batch, actions, llms, rng)
        credit = advantages(rollouts, settings.group, space.roles, settings.credit, settings.alpha)
        weight = _anneal(settings.entropy, index / max(len(batches) - 1, 1))
        _update(policy, optimizer, features, actions, credit, prices, weight, settings)
        history.append(_summary(rollouts, logits, space, llms.pool, history))
        on_step(history[-1])
    return history


def _batches(
    train: Sequence[Task], settings: Stage1Settings, rng: np.random.Generator
) -> list[list[_Attempt]]:
    """Shuffle the questions anew for each pass; a question's rollouts stand together."""
    visits = [
        [_Attempt(train[i], turn * settings.group + g) for g in range(settings.group)]
        for turn in range(settings.passes)
        for i in rng.permutation(len(train))
    ]
    starts = range(0, len(visits), settings.batch)
    return [list(chain(*visits[start : start + settings.batch])) for start in starts]


async def _rollouts(
    space: TeamSpace,
    batch: Sequence[_Attempt],
    actions: Tensor,
    llms: LLMService,
    rng: np.random.Generator,
) -> list[Rollout]:
    """Run one batch, each rollout on a graph of its own."""
    graphs = rng.integers(len(space.graphs), size=len(batch))
    jobs = [
        Job(space.team(team, graph), attempt.task, attempt.sample)
        for team, graph, attempt in zip(actions, graphs, batch, strict=True)
    ]
    return await run_batch(jobs, llms, grade_nodes=True)


def _update(
    policy: PolicyLearner,
    optimizer: torch.optim.Optimizer,
    features: Features,
    actions: Tensor,
    credit: np.ndarray,
    prices: Tensor,
    entropy_weight: float,
    settings: Stage1Settings,
) -> None:
    """Take a few gradient steps on one batch, weighted by pi_new / pi_old."""
    advantage = torch.from_numpy(credit).float()
    with torch.no_grad():
        old = role_log_prob(policy(features), actions, policy.space.skip)
    for _ in range(settings.steps):
        loss = policy_loss(
            policy(features),
            actions,
            old,
            advantage,
            prices,
            entropy_weight=entropy_weight,
            max_ratio=settings.max_ratio,
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), settings.max_grad_norm)
        optimizer.step()


def _anneal(ends: tuple[float, float], progress: float) -> float:
    start, end = ends
    return float(start * (end / start) ** progress)


def _summary(
    rollouts: Sequence[Rollout],
    logits: Tensor,
    space: TeamSpace,
    pool: LLMPool,
    history: Sequence[TrainingStep],
) -> TrainingStep:
    before = history[-1].rollouts if history else 0
    return TrainingStep(
        rollouts=before + len(rollouts),
        accuracy=float(np.mean([r.grade.correct for r in rollouts])),
        utility=mean_utility(rollouts, pool.reference_cost),
        cost=float(np.mean([r.usage.cost_usd for r in rollouts])) / pool.reference_cost,
        entropy=float(role_entropy(logits, space.actions.skip).mean()),
        kept_roles=float(np.mean([len(r.nodes) for r in rollouts])),
    )
