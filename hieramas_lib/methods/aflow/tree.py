"""What a search over workflows did: every round, every refused edit, and why it ended."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from hieramas_lib.methods.aflow.patch import Patch
from hieramas_lib.methods.aflow.workflow import Workflow

UNIFORM: Final = 0.3
"""Share of the parent's choice that does not look at scores (lambda)."""

SHARPNESS: Final = 0.2
"""Logits that a point of accuracy is worth in the rest of it (alpha)."""

TOP: Final = 3
"""How many rounds' mean has to move for the search to go on."""

End = Literal["rounds", "no progress", "spend"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Round(_Record):
    """One workflow that was scored.

    Attributes:
        number: From 1, the start; numbers of rounds that found no edit are missing.
        parent: Round whose workflow was edited; None for the start.
        edit: What was done to it; empty for the start.
        workflow: The result.
        score: Accuracy on the validation tasks, less the price of the cost if there is one.
        accuracy: On the validation tasks.
        cost: Of an answer, in reference calls.
    """

    number: int = Field(ge=1)
    parent: int | None
    edit: Patch
    workflow: Workflow
    score: float
    accuracy: float
    cost: float


class Rejection(_Record):
    """An edit that was refused before it cost a validation: in which round, what and why."""

    round: int
    parent: int
    edit: str
    fault: str


class Search(_Record):
    """A whole search; ``spent`` is what it cost, in reference calls, proposals included."""

    rounds: tuple[Round, ...] = Field(min_length=1)
    rejections: tuple[Rejection, ...]
    end: End
    spent: float

    @property
    def best(self) -> Round:
        """The round with the highest score; of equal ones the cheapest, then the first."""
        return min(self.rounds, key=lambda each: (-each.score, each.cost, each.number))


def parent_candidates(rounds: Sequence[Round], count: int) -> list[Round]:
    """Return the start and the best of the others, ``count`` in all, at most."""
    others = sorted(rounds[1:], key=lambda each: (-each.score, each.number))
    return [rounds[0], *others[: count - 1]]


def parent_probabilities(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return 0.3 / n + 0.7 · softmax(0.2 · (100 · score - max)), AFlow's mixed choice."""
    points = 100.0 * np.asarray(scores, dtype=float)
    weights = np.exp(SHARPNESS * (points - points.max()))
    mixed: NDArray[np.float64] = UNIFORM / len(points) + (1 - UNIFORM) * weights / weights.sum()
    return mixed


def top_mean(rounds: Sequence[Round]) -> float:
    """Return the mean score of the best three rounds, or of fewer if there are no more."""
    best = sorted((each.score for each in rounds), reverse=True)[:TOP]
    return float(np.mean(best))
