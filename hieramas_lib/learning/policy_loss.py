"""The loss of stage 1: credit by importance-weighted policy gradient, cost exactly, entropy."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hieramas_lib.learning.policy import role_entropy, role_log_prob
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.teams.utility import PRICE_OF_A_CALL


def policy_loss(
    logits: Tensor,
    actions: Tensor,
    old_log_prob: Tensor,
    advantage: Tensor,
    prices: Tensor,
    *,
    entropy_weight: float,
    max_ratio: float,
) -> Tensor:
    """Return the loss of a batch of rollouts, in units of utility.

    loss = mean over rollouts of
    0.01 · expected cost - sum over roles (ratio · advantage + entropy_weight · entropy),
    with ratio = pi_new / pi_old of what the role did, at most ``max_ratio``.

    Args:
        logits: Of the policy now, ``[rollouts, roles, positions, actions]``.
        actions: What was drawn, ``[rollouts, roles, positions]``.
        old_log_prob: Log-probability under the policy that drew, ``[rollouts, roles]``.
        advantage: Credit of each role, ``[rollouts, roles]``.
        prices: See :func:`call_prices`.
        entropy_weight: In units of utility a nat.
        max_ratio: Limit of the importance weight.
    """
    skip = logits.shape[-1] - 1
    ratio = (role_log_prob(logits, actions, skip) - old_log_prob).exp().clamp(max=max_ratio)
    gain = (ratio * advantage).sum(-1)
    cost = PRICE_OF_A_CALL * expected_cost(logits, prices)
    entropy = role_entropy(logits, skip).sum(-1)
    return (cost - gain - entropy_weight * entropy).mean()


def expected_cost(logits: Tensor, prices: Tensor) -> Tensor:
    """Return the expected price of a team in reference calls, ``[tasks]``, differentiable.

    A role's proposers are paid for only if its synthesizer is not SKIP, the last action.
    """
    probs = logits.softmax(-1)
    paid = probs @ prices
    kept = 1 - probs[..., -1, -1]
    return (paid[..., -1] + kept * paid[..., :-1].sum(-1)).sum(-1)


def call_prices(pool: LLMPool, llms: Sequence[str]) -> Tensor:
    """Return the price of one usual call of each of ``llms`` in reference calls, then 0 for SKIP.

    An LLM without a known price is taken to cost as much as the dearest known one: it must
    not look free to the learner.

    Raises:
        ConfigError: the pool has no such LLM, or its reference LLM has no price.
    """
    reference = pool.reference_cost
    costs = [pool[name].usual_cost() for name in llms]
    dearest = max([cost for cost in costs if cost is not None], default=reference)
    known = [dearest if cost is None else cost for cost in costs]
    return torch.tensor([*known, 0.0]) / reference
