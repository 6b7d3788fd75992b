"""What the policy would choose, written down while it learns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import PolicyLearner, greedy, role_entropy
from hieramas_lib.learning.policy_loss import expected_cost
from hieramas_lib.learning.training_state import TrainingStep


@dataclass(frozen=True)
class Choices:
    """What a policy does on some questions, R roles with P positions, A actions, SKIP the last.

    Attributes:
        rollouts: Rollouts that it was trained on.
        shares: Probability of each action, mean over questions, ``[R, P, A]``.
        top_shares: How often an action is the most probable one, ``[R, P, A]``.
        kept: Share of questions for which arg-max keeps a role, ``[R]``.
        kept_sampled: The same when teams are drawn, ``[R]``.
        entropy: Of what a role does, in nats, ``[R]``.
        cost: Expected price of a drawn team, in reference calls, the decision left out.
    """

    rollouts: int
    shares: torch.Tensor
    top_shares: torch.Tensor
    kept: torch.Tensor
    kept_sampled: torch.Tensor
    entropy: torch.Tensor
    cost: float

    @property
    def skip_rate(self) -> torch.Tensor:
        """Probability that a position stays empty, ``[R, P]``; the last is that of pruning."""
        return self.shares[..., -1]


class ChoiceTrace:
    """Writes down the choices of a policy: at once, and whenever it is called after a batch.

    Pass it as ``on_step`` to :func:`~hieramas_lib.learning.stage1.train_policy`. It asks no LLM.

    Attributes:
        entries: The first is of the untrained policy.
    """

    def __init__(
        self,
        policy: Callable[[], PolicyLearner],
        features: Features,
        prices: torch.Tensor,
        *,
        every: int = 1,
    ) -> None:
        """Begin with what the policy does untrained.

        Args:
            policy: Returns the policy under way, such as ``lambda: system.policy``.
            features: Of the questions that it is watched on.
            prices: Of each action, see :func:`~hieramas_lib.learning.policy_loss.call_prices`.
            every: Batches from one entry to the next.
        """
        self._policy, self._features, self._prices = policy, features, prices
        self._every, self._batches = every, 0
        self.entries = [choices(policy(), features, prices, rollouts=0)]

    def __call__(self, step: TrainingStep) -> None:
        """Count a batch, and write an entry if it is its turn."""
        self._batches += 1
        if self._batches % self._every == 0:
            self.entries.append(
                choices(self._policy(), self._features, self._prices, rollouts=step.rollouts)
            )


def choices(
    policy: PolicyLearner, features: Features, prices: torch.Tensor, *, rollouts: int
) -> Choices:
    """Return what ``policy`` does now, see :class:`ChoiceTrace`."""
    with torch.no_grad():
        logits = policy(features)
    skip = logits.shape[-1] - 1
    probabilities, actions = logits.softmax(-1), greedy(logits)
    return Choices(
        rollouts=rollouts,
        shares=probabilities.mean(dim=0),
        top_shares=torch.nn.functional.one_hot(actions, skip + 1).float().mean(dim=0),
        kept=(actions[..., -1] != skip).float().mean(dim=0),
        kept_sampled=1 - probabilities[..., -1, skip].mean(dim=0),
        entropy=role_entropy(logits, skip).mean(dim=0),
        cost=float(expected_cost(logits, prices).mean()),
    )


def mean_choices(runs: Sequence[Choices]) -> Choices:
    """Return the mean over several trainings at the same number of rollouts."""

    def mean(name: str) -> torch.Tensor:
        return torch.stack([getattr(run, name) for run in runs]).mean(dim=0)

    return Choices(
        rollouts=runs[0].rollouts,
        shares=mean("shares"),
        top_shares=mean("top_shares"),
        kept=mean("kept"),
        kept_sampled=mean("kept_sampled"),
        entropy=mean("entropy"),
        cost=sum(run.cost for run in runs) / len(runs),
    )
