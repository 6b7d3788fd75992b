"""Estimates with intervals, for questions asked several times.

The unit is the question: with several seeds, answers to one question are averaged or treated as
one cluster, so that repeating a run does not shrink an interval as new questions would. Intervals
are at 95 % and speak about other questions of the same kind; the spread over training seeds is
another matter (:func:`mean_over_seeds`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hieramas_lib.experiments.number_texts import number

LEVEL = 0.95
"""Coverage of every interval."""

RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % interval; the ends are NaN where there is too little data."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """Print as ``0.712 [0.640, 0.775]``."""
        estimate, low, high = (number(value, 3) for value in (self.estimate, self.low, self.high))
        return f"{estimate} [{low}, {high}]"


def wilson(successes: float, total: float) -> Interval:
    """Wilson's score interval of a proportion; ``total`` may be an effective number of trials.

    Equals scipy's for whole numbers; scipy takes no others, and :func:`proportion` needs them.
    """
    from scipy.stats import norm

    if total <= 0:
        raise ValueError("a proportion of nothing has no interval")
    z = float(norm.ppf((1 + LEVEL) / 2))
    p, scale = successes / total, 1 + z * z / total
    centre = (p + z * z / (2 * total)) / scale
    half = z / scale * sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return Interval(p, max(0.0, centre - half), min(1.0, centre + half))


def proportion(correct: ArrayLike, tasks: Sequence[Hashable]) -> Interval:
    """Share of right answers, with a Wilson interval clustered by task.

    With one answer a task it is the plain Wilson interval. Otherwise the number of trials is the
    effective one, p(1-p) / variance of the mean over tasks, between the numbers of tasks and of
    answers (Korn and Graubard 1998, on Wilson's interval).
    """
    values, means = np.asarray(correct, dtype=float), task_means(correct, tasks)
    p, clusters = float(values.mean()), len(means)
    variance = float(means.var(ddof=1)) / clusters if clusters > 1 else 0.0
    trials = p * (1 - p) / variance if variance > 0 else float(clusters)
    trials = min(max(trials, clusters), len(values))
    return wilson(p * trials, trials)


def mean_over_tasks(values: ArrayLike, tasks: Sequence[Hashable]) -> Interval:
    """Mean over tasks of each task's mean, with a t interval over tasks."""
    return _t_interval(task_means(values, tasks))


def mean_over_seeds(values: ArrayLike) -> Interval:
    """Mean of one value a training seed, with a t interval over seeds."""
    return _t_interval(np.asarray(values, dtype=float))


def paired_difference(
    ours: ArrayLike, theirs: ArrayLike, tasks: Sequence[Hashable], *, seed: int = 0
) -> Interval:
    """Mean difference on the same items, with a percentile bootstrap interval over tasks.

    Args:
        ours, theirs: Aligned values: entry i of both is the same task and seed.
        tasks: The task of each entry; the seeds of a task stay together.
        seed: Of the resampling.
    """
    from scipy.stats import bootstrap

    first, second = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"paired values must be aligned, got {first.shape} and {second.shape}")
    means = task_means(first - second, tasks)
    estimate = float(means.mean())
    if len(means) < 2:
        return Interval(estimate, nan, nan)
    result = bootstrap(
        (means,), np.mean, n_resamples=RESAMPLES, confidence_level=LEVEL,
        method="percentile", rng=np.random.default_rng(seed),
    )  # fmt: skip
    low, high = result.confidence_interval
    return Interval(estimate, float(low), float(high))


def mcnemar(ours: ArrayLike, theirs: ArrayLike) -> float:
    """Exact two-sided p-value of McNemar's test on paired right/wrong answers, one a task."""
    from scipy.stats import binomtest

    first, second = np.asarray(ours, dtype=bool), np.asarray(theirs, dtype=bool)
    if first.shape != second.shape:
        raise ValueError(f"paired answers must be aligned, got {first.shape} and {second.shape}")
    gained, lost = int((first & ~second).sum()), int((second & ~first).sum())
    if gained + lost == 0:
        return 1.0
    return float(binomtest(gained, gained + lost, 0.5).pvalue)


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust the p-values of one table for their number (Holm 1979), in the order given."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def task_means(values: ArrayLike, tasks: Sequence[Hashable]) -> NDArray[np.float64]:
    """Average the values of each task; tasks in order of first appearance."""
    array = np.asarray(values, dtype=float)
    if len(array) != len(tasks) or not len(array):
        raise ValueError(f"{len(array)} values for {len(tasks)} tasks")
    index = {task: i for i, task in enumerate(dict.fromkeys(tasks))}
    groups = np.array([index[task] for task in tasks])
    return np.bincount(groups, weights=array) / np.bincount(groups)


def _t_interval(values: NDArray[np.float64]) -> Interval:
    from scipy.stats import t

    mean, n = float(values.mean()), len(values)
    if n < 2 or not isfinite(mean):
        return Interval(mean, nan, nan)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * float(values.std(ddof=1)) / sqrt(n)
    return Interval(mean, mean - half, mean + half)
