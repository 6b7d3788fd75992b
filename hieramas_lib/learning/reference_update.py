"""The policy update of the published code, its faults included, for comparison only.

As published: rewards without a baseline, R_final with the price of the decision call alone,
log-probabilities at a temperature while actions are drawn at 1, proposers of pruned roles
reinforced with the rest, logits clamped in training, an entropy bonus of weight 1, failed calls
taken for wrong answers. Not so: prices are those of the calls themselves, in reference calls (the
published code reads a counter that all rollouts under way share), and there is no weight decay.
"""

from collections.abc import Sequence
from math import cos, pi

import numpy as np
from torch import Tensor

from hieramas_lib.learning.credit import Matrix
from hieramas_lib.learning.rewards import PaperReward, effective_reward
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout, Usage

LOGIT_LIMIT = 10.0
"""Logits are cut to ± this while training, for drawing and for the loss."""

TEMPERATURES = (10.0, 0.8)
"""Of the log-probabilities, at the start and towards the end."""

LAST_RATE = 0.4
"""Learning rate of the second half, as a share of the first one (5e-3, then 2e-3)."""


def temperature(progress: float) -> float:
    """Return the temperature at a share of the training, 0 to 1: half a cosine."""
    return _half_cosine(TEMPERATURES, progress)


def learning_rate(first: float, progress: float) -> float:
    """Return the learning rate: half a cosine over the first half, then constant."""
    return _half_cosine((first, LAST_RATE * first), min(1.0, 2 * progress))


def effective_rewards(
    rollouts: Sequence[Rollout], roles: RoleSet, alpha: float, reference_cost: float
) -> Matrix:
    """Return R_eff of every role in every rollout, ``[rollouts, roles]``.

    R_node has the price of the role's calls, in calls of the reference LLM; it is 0 for a pruned
    role. Roles that give no answer have alpha 0.
    """
    reward = PaperReward()
    rows = []
    for rollout in rollouts:
        decision = Usage.of(rollout.calls[-1:]).cost_usd / reference_cost
        final = reward(rollout.grade.correct, decision)
        node = {
            record.role: reward(record.grade.correct, record.usage.cost_usd / reference_cost)
            for record in rollout.nodes
            if record.grade is not None
        }
        rows.append(
            [
                effective_reward(node.get(r.name, 0.0), final, alpha if r.answers else 0.0)
                for r in roles.roles
            ]
        )
    return np.array(rows)


def reference_loss(
    logits: Tensor, actions: Tensor, rewards: Tensor, *, temperature: float, entropy_weight: float
) -> Tensor:
    """Return the published loss of a batch of rollouts.

    mean over rollouts of
    - sum over roles R_eff · (sum over positions log softmax(logits / T)[action])
    - entropy_weight · (sum over roles and positions of the entropy of softmax(logits / T)).

    Args:
        logits: Of the policy, ``[rollouts, roles, positions, actions]``.
        actions: What was drawn from softmax(logits), clamped, ``[rollouts, roles, positions]``.
        rewards: R_eff, ``[rollouts, roles]``.
        temperature: T.
        entropy_weight: 1 in the published code.
    """
    log_prob = (clamped(logits) / temperature).log_softmax(-1)
    taken = log_prob.gather(-1, actions[..., None]).squeeze(-1).sum(-1)
    entropy = -(log_prob.exp() * log_prob).sum(-1)
    return -((rewards * taken).sum(-1) + entropy_weight * entropy.sum((-2, -1))).mean()


def clamped(logits: Tensor) -> Tensor:
    """Cut ``logits`` to ± 10."""
    return logits.clamp(-LOGIT_LIMIT, LOGIT_LIMIT)


def _half_cosine(ends: tuple[float, float], progress: float) -> float:
    start, end = ends
    return end + (start - end) * (1 + cos(pi * progress)) / 2
