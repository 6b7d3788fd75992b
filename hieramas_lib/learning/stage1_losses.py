"""The loss of a batch of stage 1, as a function of the logits: ours, and the published one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hieramas_lib.learning.credit import advantages
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import role_log_prob
from hieramas_lib.learning.policy_loss import call_prices, policy_loss
from hieramas_lib.learning.reference_update import effective_rewards, reference_loss, temperature
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.teams.rollout import Rollout


@dataclass(frozen=True, slots=True)
class Drawn:
    """A batch of rollouts, and the logits that their ``actions`` were drawn from."""

    features: Features
    logits: Tensor
    actions: Tensor
    rollouts: Sequence[Rollout]


Loss = Callable[[Tensor], Tensor]
"""The loss of a batch, of the logits of the policy as it is now."""


def batch_loss(
    drawn: Drawn,
    space: TeamSpace,
    pool: LLMPool,
    settings: Stage1Settings,
    batch: int,
    batches: int,
) -> Loss:
    """Return the loss of batch number ``batch`` of ``batches`` under ``settings.credit``."""
    weight, price = weights_at(settings, batch, batches)
    alpha = settings.alpha
    if settings.credit == "reference":
        rewards = effective_rewards(drawn.rollouts, space.roles, alpha, pool.reference_cost)
        return partial(
            reference_loss,
            actions=drawn.actions,
            rewards=torch.from_numpy(rewards).float(),
            temperature=temperature(batch / batches),
            entropy_weight=weight,
        )
    credit = advantages(drawn.rollouts, settings.group, space.roles, settings.credit, alpha)
    return partial(
        policy_loss,
        actions=drawn.actions,
        old_log_prob=role_log_prob(drawn.logits, drawn.actions, space.actions.skip),
        advantage=torch.from_numpy(credit).float(),
        prices=price * call_prices(pool, space.actions.llms),
        entropy_weight=weight,
        max_ratio=settings.max_ratio,
    )


def weights_at(settings: Stage1Settings, batch: int, batches: int) -> tuple[float, float]:
    """Return the weight of the entropy and the factor on the price at batch number ``batch``."""
    span = min(batches, settings.annealed)
    start, end = settings.entropy
    entropy = float(start * (end / start) ** (min(batch, span - 1) / max(span - 1, 1)))
    late = max(0, batch - span + 1) / max(batches - span, 1)
    fair = min(settings.price, 1.0)
    return entropy, settings.price + late * (fair - settings.price)
