"""What each way to answer is worth, by how much one is worth more than another, and in words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hieramas_lib.experiments.statistics import (
    Interval,
    mean_over_seeds,
    mean_over_tasks,
    paired_difference,
)

if TYPE_CHECKING:
    import pandas as pd


def utility_table(records: "pd.DataFrame", means: Sequence[str] = ()) -> "pd.DataFrame":
    """Return one row a method: its utility with an interval over questions, and other means.

    Args:
        records: Columns ``method, task_id, seed, utility`` and ``means``; one row an answer.
        means: Columns of which the plain mean is wanted.

    Returns:
        ``method, n, seeds, utility, utility_low, utility_high`` and ``means``, methods in order of
        appearance; n counts questions, whose seeds stay together.
    """
    import pandas as pd

    rows = []
    for method, group in records.groupby("method", sort=False):
        utility = mean_over_tasks(group["utility"], group["task_id"].tolist())
        row = {
            "method": method,
            "n": group["task_id"].nunique(),
            "seeds": group["seed"].nunique(),
            "utility": utility.estimate,
            "utility_low": utility.low,
            "utility_high": utility.high,
        }
        rows.append(row | {name: group[name].mean() for name in means})
    return pd.DataFrame(rows)


def gains_of(records: "pd.DataFrame", ours: str) -> dict[str, Interval]:
    """Return the utility of ``ours`` minus that of every other method, on the same questions.

    With several seeds there is one difference each, and a t interval over them; with one, a
    bootstrap interval over its questions.

    Args:
        records: Columns ``method, task_id, seed, utility``; every method has the same questions.
        ours: A method.
    """
    by_seed, by_task = (
        records.pivot_table(index=index, columns="method", values="utility", sort=False)
        for index in ("seed", "task_id")
    )

    def gain(other: str) -> Interval:
        if len(by_seed) > 1:
            return mean_over_seeds(by_seed[ours] - by_seed[other])
        return paired_difference(by_task[ours], by_task[other], by_task.index.tolist())

    return {str(other): gain(other) for other in by_seed.columns if other != ours}


def gain_table(gains: Mapping[str, Interval]) -> "pd.DataFrame":
    """Return ``compared_with, gain, gain_low, gain_high``, one row a method compared with."""
    import pandas as pd

    return pd.DataFrame(
        [
            {"compared_with": other, "gain": g.estimate, "gain_low": g.low, "gain_high": g.high}
            for other, g in gains.items()
        ]
    )


def verdict(gain: Interval, better: str, worse: str, level: str) -> str:
    """Return the word for a difference: ``level`` if its interval covers 0 or is not known."""
    if gain.low > 0:
        return better
    return worse if gain.high < 0 else level


def gain_sentences(ours: str, gains: Mapping[str, Interval]) -> list[str]:
    """Say for each method whether ours beats it, with the difference in utility."""
    words = ("beats", "falls below", "is not distinguishable from")
    return [
        f"{ours} {verdict(gain, *words)} “{other}”: utility difference {gain}."
        for other, gain in gains.items()
    ]
