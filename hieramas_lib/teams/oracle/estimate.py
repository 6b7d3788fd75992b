"""How well a team did on a set of questions, and how sure one can be of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.utility import PRICE_OF_A_CALL

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expected utility, or the difference of two.

    Attributes:
        mean: Accuracy - 0.01 * cost.
        standard_error: Of ``mean`` on these very questions: what repetition would change.
            NaN without repetitions.
        accuracy: Share of right answers.
        cost: Calls of the reference LLM per question.
        question_error: Standard error of ``mean`` if the questions are taken as a sample of
            more of their kind; it includes what repetition would change. NaN for one question.
    """

    mean: float
    standard_error: float
    accuracy: float
    cost: float
    question_error: float


@dataclass(frozen=True)
class Results:
    """Every repetition of every question.

    Attributes:
        right: Shape ``[draws, tasks]``, 1 where the final answer was right, or a difference of
            two such; NaN where the call failed, which is no mistake of the team's.
        cost: Shape ``[draws, tasks]`` or ``[1, tasks]``, in calls of the reference LLM.
    """

    right: Floats
    cost: Floats

    @property
    def utility(self) -> Floats:
        """Accuracy - 0.01 * cost (design 7), shape ``[draws, tasks]``."""
        return self.right - PRICE_OF_A_CALL * self.cost

    def estimate(self) -> Estimate:
        """Average over repetitions and questions.

        Questions with a repetition that did not come back are left out.

        Raises:
            ConfigError: no question is left.
        """
        whole = np.isfinite(self.right).all(axis=0)
        if not whole.any():
            raise ConfigError("results: every question has a call that failed; run them again")
        utility = self.utility[:, whole]
        draws, tasks = utility.shape
        luck, spread = nan, nan
        if draws > 1:
            luck = sqrt(float(utility.var(axis=0, ddof=1).sum()) / draws) / tasks
        if tasks > 1:
            spread = float(utility.mean(axis=0).std(ddof=1)) / sqrt(tasks)
        return Estimate(
            mean=float(utility.mean()),
            standard_error=luck,
            accuracy=float(self.right[:, whole].mean()),
            cost=float(self.cost[:, whole].mean()),
            question_error=spread,
        )

    def minus(self, other: "Results") -> "Results":
        """Return the differences under equal luck, if both were made with the same noise.

        Raises:
            ConfigError: they are not of the same questions and repetitions.
        """
        if self.right.shape != other.right.shape:
            raise ConfigError(
                f"results of shapes {self.right.shape} and {other.right.shape} cannot be compared"
            )
        return Results(self.right - other.right, self.cost - other.cost)


def join(parts: Sequence[Results]) -> Results:
    """Put results on different questions side by side."""
    shape = [part.right.shape for part in parts]
    costs = [np.broadcast_to(part.cost, size) for part, size in zip(parts, shape, strict=True)]
    return Results(
        np.concatenate([part.right for part in parts], axis=1), np.concatenate(costs, axis=1)
    )
