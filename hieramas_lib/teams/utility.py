"""What a rollout is worth, for learning and reporting (design 7)."""

from collections.abc import Sequence

from hieramas_lib.teams.rollout import Rollout

PRICE_OF_A_CALL = 0.01
"""Accuracy that one usual call of the reference LLM must bring to be worth its price."""


def utility(rollout: Rollout, reference_cost: float) -> float:
    """Return right (0 or 1) minus 0.01 · cost / reference cost (design 7).

    Linear in cost, so that means over questions are utilities too.
    """
    cost = rollout.usage.cost_usd / reference_cost
    return float(rollout.grade.correct) - PRICE_OF_A_CALL * cost


def mean_utility(rollouts: Sequence[Rollout], reference_cost: float) -> float:
    """Return the mean utility of ``rollouts``."""
    return sum(utility(r, reference_cost) for r in rollouts) / len(rollouts)
