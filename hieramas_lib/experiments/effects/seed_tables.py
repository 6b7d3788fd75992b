"""Measurements repeated over world seeds: differences within a seed, intervals over seeds.

Worlds differ from one another more than ways to work do. So what is compared is compared within a
world, and the interval is over worlds.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds

if TYPE_CHECKING:
    import pandas as pd


def gains_over(
    records: "pd.DataFrame", column: str, level: object, within: Sequence[str],
    values: Sequence[str],
) -> "pd.DataFrame":  # fmt: skip
    """Return ``records`` with the ``values`` of the row of the same group subtracted.

    Args:
        records: One row for each group and level of ``column``.
        column: What is compared, e.g. the graph.
        level: Its level to compare with; its own rows become 0.
        within: Columns that name a group, the seed among them.
        values: Columns to subtract.

    Raises:
        ConfigError: a group has not exactly one row of that level.
    """
    base = records[records[column] == level].set_index(list(within))[list(values)]
    groups = records.groupby(list(within)).ngroups
    if len(base) != groups or base.index.has_duplicates:
        raise ConfigError(
            f"{column}: {len(base)} rows of {level!r} for {groups} groups of {', '.join(within)}"
        )
    key = records.set_index(list(within)).index
    gains = records.copy()
    gains[list(values)] = records[list(values)].to_numpy() - base.loc[key].to_numpy()
    return gains


def over_seeds(records: "pd.DataFrame", by: Sequence[str], values: Sequence[str]) -> "pd.DataFrame":
    """Return means over seeds with their t intervals, one row a group, in order of appearance.

    Columns: ``by``, ``seeds``, and ``x, x_low, x_high`` for each of ``values``. Rows of one seed
    are averaged first.
    """
    import pandas as pd

    rows = []
    for names, group in records.groupby(list(by), sort=False):
        row = dict(zip(by, names, strict=True)) | {"seeds": group["seed"].nunique()}
        for value in values:
            interval = mean_over_seeds(group.groupby("seed")[value].mean())
            row |= {
                value: interval.estimate,
                f"{value}_low": interval.low,
                f"{value}_high": interval.high,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def panel_gains(
    records: "pd.DataFrame", column: str, level: object, values: Sequence[str]
) -> "pd.DataFrame":
    """Return what is gained over one level, for each ``panel`` and ``series``, over seeds.

    The table of :func:`over_seeds` by panel, series and ``column``, of the differences of
    :func:`gains_over`; the level itself is there with zeros.
    """
    by = ["panel", "series"]
    gains = gains_over(records, column, level, [*by, "seed"], values)
    return over_seeds(gains, [*by, column], values)


def paired_change(
    records: "pd.DataFrame", column: str, start: object, end: object, value: str
) -> Interval:
    """Return how a value changes from one level of ``column`` to another, over seeds.

    Rows of one seed and level are averaged first.
    """
    by_level = records.pivot_table(index="seed", columns=column, values=value)
    return mean_over_seeds(by_level[end] - by_level[start])
