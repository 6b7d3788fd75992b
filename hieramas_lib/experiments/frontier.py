"""Which methods are worth their money: those that no cheaper one is as accurate as."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def pareto(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows that no other row beats in accuracy at the same or a lower cost.

    Rows come cheapest first, accuracy rises along them, and of equals one stays. ``table`` has
    columns ``benchmark``, ``cost_usd`` and ``accuracy``; each benchmark has a frontier of its own.
    """
    ordered = table.sort_values(["cost_usd", "accuracy"], ascending=[True, False], kind="stable")
    benchmarks = list(dict.fromkeys(table["benchmark"]))
    place = ordered["benchmark"].map(benchmarks.index)
    before = ordered.groupby("benchmark")["accuracy"].transform(
        lambda column: column.cummax().shift(fill_value=-1.0)
    )
    best = ordered[ordered["accuracy"] > before]
    return best.loc[place[best.index].sort_values(kind="stable").index]
