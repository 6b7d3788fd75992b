"""The paper's rewards (design 8); utility is in ``teams.utility``."""

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, slots=True)
class PaperReward:
    """The paper's reward of a right or wrong output with its cost (HieraMAS, section 3).

    right: max(exp(-rate · c), floor); wrong: max(-exp(rate · c), worst), with c in reference
    calls, so that the reward does not saturate when list prices change. The published rate of
    300 per dollar is 0.37 per call of GPT-5-mini.
    """

    rate: float = 0.37
    floor: float = 0.5
    worst: float = -2.5

    def __call__(self, correct: bool, cost: float) -> float:
        """Reward an output; ``cost`` in reference calls."""
        if correct:
            return max(exp(-self.rate * cost), self.floor)
        return max(-exp(self.rate * cost), self.worst)


def effective_reward(node: float, final: float, alpha: float) -> float:
    """Mix node and final reward: R_eff = alpha · R_node + (1 - alpha) · R_final.

    A pruned role has ``node`` = 0; roles that give no answer have ``alpha`` = 0.
    """
    return alpha * node + (1 - alpha) * final
