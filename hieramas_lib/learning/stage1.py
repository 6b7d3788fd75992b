"""Stage 1: train the policy that fills the supernodes (HieraMAS, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.credit import CreditMode, advantages
from hieramas_lib.learning.features import Features, Featurizer
from hieramas_lib.learning.policy import (
    PolicyLearner,
    role_entropy,
    role_log_prob,
    sample,
)
from hieramas_lib.learning.rewards import PRICE_OF_A_CALL, mean_utility
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
    batches = _batches(train, settings, rng)
    prices = call_prices(llms.pool)
    history: list[TrainingStep] = []
    for index, tasks in enumerate(batches):
        features = featurizer([task for task in tasks for _ in range(settings.group)])
        with torch.no_grad():
            logits = policy(features)
        actions = sample(logits, generator)
        first_visit = index * settings.batch // len(train) * settings.group
        rollouts = await _rollouts(space, tasks, actions, llms, rng, settings.group, first_visit)
        credit = advantages(rollouts, settings.group, space.roles, settings.credit, settings.alpha)
        weight = _anneal(settings.entropy, index / max(len(batches) - 1, 1))
        _update(policy, optimizer, features, actions, credit, prices, weight, settings)
        history.append(_summary(rollouts, logits, space, llms.pool, history))
        on_step(history[-1])
    return history


def call_prices(pool: LLMPool) -> Tensor:
    """Return the price of one usual call in reference calls, ``[actions]``, 0 for SKIP.

    An LLM without a known price is taken to cost as much as the dearest known one: it must
    not look free to the learner.
    """
    costs = [spec.cost(400, spec.usual_tokens[1]) for spec in pool.llms]
    dearest = max(cost for cost in costs if cost is not None)
    known = [dearest if cost is None else cost for cost in costs]
    return torch.tensor([*known, 0.0]) / pool.reference_cost


def expected_cost(logits: Tensor, prices: Tensor, skip: int) -> Tensor:
    """Return the expected price of a team in reference calls, ``[tasks]``, differentiable.

    A role's proposers are paid for only if its synthesizer is not SKIP.
    """
    probs = logits.softmax(-1)
    paid = probs @ prices
    kept = 1 - probs[..., -1, skip]
    return (paid[..., -1] + kept * paid[..., :-1].sum(-1)).sum(-1)


def _batches(
    train: Sequence[Task], settings: Stage1Settings, rng: np.random.Generator
) -> list[list[Task]]:
    order = [train[i] for _ in range(settings.passes) for i in rng.permutation(len(train))]
    return [order[i : i + settings.batch] for i in range(0, len(order), settings.batch)]


async def _rollouts(
    space: TeamSpace,
    tasks: Sequence[Task],
    actions: Tensor,
    llms: LLMService,
    rng: np.random.Generator,
    group: int,
    first_sample: int,
) -> list[Rollout]:
    """Run ``group`` consecutive rollouts a task, each on a graph of its own."""
    graphs = rng.integers(len(space.graphs), size=len(actions))
    jobs = [
        Job(space.team(team, graph), tasks[i // group], sample=first_sample + i % group)
        for i, (team, graph) in enumerate(zip(actions, graphs, strict=True))
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
    skip = policy.space.skip
    advantage = torch.from_numpy(credit).float()
    with torch.no_grad():
        old = role_log_prob(policy(features), actions, skip)
    for _ in range(settings.steps):
        logits = policy(features)
        ratio = (role_log_prob(logits, actions, skip) - old).exp().clamp(max=settings.max_ratio)
        gain = (ratio * advantage).sum(-1)
        cost = PRICE_OF_A_CALL * expected_cost(logits, prices, skip)
        entropy = role_entropy(logits, skip).sum(-1)
        loss = (cost - gain - entropy_weight * entropy).mean()
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
