"""The best graph for each subject, and for all questions, without looking at one's own answers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.graph_selection.worlds import Floats, Questions


@dataclass(frozen=True)
class Optimum:
    """The best graph for each subject, and the best one for all, by split halves.

    A graph is chosen on one half of the questions and judged on the other, both ways round: what
    is chosen for the questions that it is judged on looks better than it is. Both are lower bounds.

    Attributes:
        by_subject, fixed: Utility on every question, ``[tasks]``.
    """

    by_subject: Floats
    fixed: Floats


def optimum(questions: Questions, graphs: int, seed: int = 0) -> Optimum:
    """Find the best among the first ``graphs`` graphs."""
    utility = questions.utility[:, :graphs]
    fixed = np.empty(len(utility))
    by_subject = np.empty(len(utility))
    half = _even_half(questions.subjects, seed)
    for chosen_on in (half, ~half):
        fixed[~chosen_on] = utility[~chosen_on][:, utility[chosen_on].mean(axis=0).argmax()]
        for subject in np.unique(questions.subjects):
            here = questions.subjects == subject
            best = utility[here & chosen_on].mean(axis=0).argmax()
            by_subject[here & ~chosen_on] = utility[here & ~chosen_on][:, best]
    return Optimum(by_subject, fixed)


def _even_half(subjects: NDArray[np.str_], seed: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    half = np.zeros(len(subjects), dtype=np.bool_)
    for subject in np.unique(subjects):
        half[rng.permutation(np.flatnonzero(subjects == subject))[::2]] = True
    return half
