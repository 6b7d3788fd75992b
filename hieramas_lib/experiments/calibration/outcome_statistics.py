"""How a pool of LLMs agrees: statistics of a table of right and wrong answers.

``right`` is always of shape ``[LLMs, questions]``, ``families`` names the family of each LLM.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rights = NDArray[np.bool_]
Answers = NDArray[np.str_]

_HALVINGS = 10


def shares(right: Rights) -> dict[str, float]:
    """Return how often all, more than half, any and none are right, and the best LLM is."""
    number = right.sum(axis=0)
    return {
        "all right": float((number == len(right)).mean()),
        "all wrong": float((number == 0).mean()),
        "best single LLM": float(right.mean(axis=1).max()),
        "majority (more than half right)": float((2 * number > len(right)).mean()),
        "oracle (any right)": float((number > 0).mean()),
    }


def agreement(right: Rights, families: Sequence[str]) -> dict[str, float]:
    """Return mean pairwise agreement on being right, and phi (its correlation) by family."""
    pairs = np.triu_indices(len(right), 1)
    x = right.astype(float)
    same_verdict = (x @ x.T + (1 - x) @ (1 - x).T) / right.shape[1]
    phi = np.corrcoef(x)[pairs]
    kin = _kin(families)[pairs]
    return {
        "pairwise agreement": float(same_verdict[pairs].mean()),
        "phi": float(phi.mean()),
        "phi, same family": float(phi[kin].mean()),
        "phi, other families": float(phi[~kin].mean()),
    }


def same_wrong(answers: Answers, gold: Answers, families: Sequence[str]) -> dict[str, float]:
    """Return how often two LLMs that are both wrong give one answer, by family.

    Args:
        answers: What was answered, ``""`` for nothing, shape ``[LLMs, questions]``.
        gold: The right answers, shape ``[questions]``.
        families: The family of each LLM.
    """
    wrong = (answers != gold) & (answers != "")
    both = wrong.astype(float) @ wrong.T.astype(float)
    same = np.array([((answers == own) & wrong & wrong_too).sum(axis=1)
                     for own, wrong_too in zip(answers, wrong, strict=True)])  # fmt: skip
    pairs = np.triu_indices(len(answers), 1)
    both, same, kin = both[pairs], same[pairs], _kin(families)[pairs]
    return {
        "same wrong answer, same family": float(same[kin].sum() / both[kin].sum()),
        "same wrong answer, other families": float(same[~kin].sum() / both[~kin].sum()),
    }


def plurality(answers: Answers, gold: Answers) -> float:
    """Return how often the most frequent answer is right; a tie counts as its share."""
    total = 0.0
    for given, right in zip(answers.T.tolist(), gold.tolist(), strict=True):
        votes = Counter(answer for answer in given if answer)
        most = max(votes.values(), default=0)
        if most and votes[right] == most:
            total += 1.0 / sum(number == most for number in votes.values())
    return total / len(gold)


def interaction_sd(right: Rights, subjects: Sequence[str], *, seed: int = 0) -> float:
    """Return the standard deviation of LLM x subject effects on accuracy, without their noise.

    From the covariance of the effects in two halves of the questions, averaged over ten random
    halvings; negative where that is negative.
    """
    rng = np.random.default_rng(seed)
    names, index = np.unique(np.asarray(subjects), return_inverse=True)
    groups = [np.flatnonzero(index == number) for number in range(len(names))]
    llms, covariances = len(right), []
    for _ in range(_HALVINGS):
        halves = np.zeros((2, llms, len(names)))
        for column, group in enumerate(groups):
            order = rng.permutation(group)
            for half in (0, 1):
                halves[half, :, column] = right[:, order[half::2]].mean(axis=1)
        halves -= halves.mean(axis=1, keepdims=True)
        halves -= halves.mean(axis=2, keepdims=True)
        covariances.append((halves[0] * halves[1]).sum() / ((llms - 1) * (len(names) - 1)))
    mean = float(np.mean(covariances))
    return float(np.sign(mean) * np.sqrt(abs(mean)))


def repetition(right: Rights) -> dict[str, float]:
    """Return how often a question is right in all, some or none of its repetitions.

    Args:
        right: Shape ``[questions, repetitions]``.
    """
    number = right.sum(axis=1)
    always, never = (number == right.shape[1]).mean(), (number == 0).mean()
    return {
        "always right": float(always),
        "never right": float(never),
        "now and then": float(1 - always - never),
    }


def _kin(families: Sequence[str]) -> Rights:
    names = np.asarray(families)
    same: Rights = names[:, None] == names
    return same
