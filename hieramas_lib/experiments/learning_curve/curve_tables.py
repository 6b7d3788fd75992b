"""Tables of a learning curve: means over runs with their intervals, and the anchors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING

from hieramas_lib.experiments.learning_curve.curve import Point
from hieramas_lib.experiments.learning_curve.optimum import Optimum
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds

if TYPE_CHECKING:
    import pandas as pd

PLAIN = ("rollouts", "utility", "accuracy", "cost", "kept", "kept_sampled", "entropy")
"""Columns that are shown as means alone."""

SHARES = ("from_random", "from_alone", "of_subjects", "gain")
"""Columns that are shown with an interval; the last is a difference in utility."""

UNSEEN = ("unseen_utility", "unseen_accuracy", "unseen_cost")


def curve_table(points: Sequence[Point]) -> "pd.DataFrame":
    """Return one row a way and size: means over runs, shares and gains with 95 % intervals.

    A run is one training in one world. Runs are taken as independent; as they share worlds,
    intervals are a little narrow.
    """
    import pandas as pd

    records = pd.DataFrame([point.row() for point in points])
    rows = []
    for (way, size), group in records.groupby(["way", "questions"], sort=False):
        rows.append(
            {"way": way, "questions": size, "runs": len(group)}
            | {name: group[name].mean() for name in PLAIN}
            | {name: _with_half(mean_over_seeds(group[name])) for name in SHARES}
        )
    return pd.DataFrame(rows).sort_values("questions", kind="stable", ignore_index=True)


def unseen_table(points: Sequence[Point]) -> "pd.DataFrame":
    """Return one row a way and size on unseen subjects: means, and the gain over Base."""
    import pandas as pd

    records = pd.DataFrame([point.row() for point in points])
    rows = []
    for (way, size), group in records.groupby(["way", "questions"], sort=False):
        gain = _with_half(mean_over_seeds(group["unseen_gain"]))
        rows.append(
            {"way": way, "questions": size}
            | {name: group[name].mean() for name in UNSEEN}
            | {"unseen_gain": gain}
        )
    return pd.DataFrame(rows).sort_values("questions", kind="stable", ignore_index=True)


def comparison(points: Sequence[Point], way: str, other: str) -> dict[int, Interval]:
    """Return utility of ``way`` minus that of ``other`` of the same run, by size."""
    import pandas as pd

    records = pd.DataFrame([point.row() for point in points])
    keys = ["questions", "world", "seed"]
    ours, theirs = (
        records[records["way"] == name].set_index(keys)["utility"] for name in (way, other)
    )
    differences = (ours - theirs).dropna()
    return {
        int(size): mean_over_seeds(group) for size, group in differences.groupby(level="questions")
    }


def anchor_table(optima: Mapping[int, Optimum]) -> "pd.DataFrame":
    """Return the anchors and the best teams of each world: utility, accuracy and cost."""
    import pandas as pd

    rows = []
    for world, optimum in optima.items():
        anchors = asdict(optimum.anchors)
        named = {
            "random policy": anchors["random"],
            "decision alone": anchors["decision_alone"],
            f"strongest alone ({optimum.anchors.strongest})": anchors["strongest_alone"],
            "best constant team": asdict(optimum.best),
            **({"best team a subject": asdict(optimum.by_subject)} if optimum.by_subject else {}),
            "strongest alone, unseen subjects": asdict(optimum.base_unseen),
            "best constant team, unseen subjects": asdict(optimum.best_unseen),
        }
        rows += [
            {"world": world, "what": name}
            | {"utility": e["mean"], "accuracy": e["accuracy"], "cost": e["cost"]}
            for name, e in named.items()
        ]
    return pd.DataFrame(rows)


def _with_half(interval: Interval) -> str:
    if isnan(interval.estimate):
        return "–"
    half = (interval.high - interval.low) / 2  # NaN for a single run
    return f"{interval.estimate:.3f}" + ("" if isnan(half) else f" ± {half:.3f}")
