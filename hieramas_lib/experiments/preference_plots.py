"""Figures of what LLMs cost and a policy chooses: each function draws one, and saves nothing."""

from typing import TYPE_CHECKING

from hieramas_lib.experiments.figures import PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL, _ROW = 0.5, 0.3
"""Inches of a column and of a row."""


def share_heatmap(table: "pd.DataFrame", *, group: str, row: str, column: str, of: str) -> "Figure":
    """Draw shares with their spread: a panel of rows for each group, a cell for each column.

    A cell holds the mean over seeds in percent and, below it, the lowest and the highest seed. A
    cell without numbers is below half a percent in every seed.

    Args:
        table: Columns ``group``, ``row``, ``column``, ``share``, ``lowest`` and ``highest``, from 0
            to 1, as :func:`~.preferences.share_intervals` gives them.
        group, row, column: Columns of the table that name panel, row and column.
        of: What the shares are shares of, for the colour bar.
    """
    from matplotlib import pyplot

    groups = list(dict.fromkeys(table[group]))
    columns = list(dict.fromkeys(table[column]))
    rows = [list(dict.fromkeys(table.loc[table[group] == name, row])) for name in groups]
    with style():
        figure, grid = pyplot.subplots(
            len(groups), 1, sharex=True, squeeze=False,
            figsize=(min(PAGE, 2.2 + _CELL * len(columns)), 1.2 + _ROW * sum(map(len, rows))),
            height_ratios=[len(names) for names in rows],
        )  # fmt: skip
        pyplot.close(figure)
        for axes, name, names in zip(grid[:, 0], groups, rows, strict=True):
            part = table[table[group] == name].set_index([row, column])
            values = 100 * part["share"].unstack(column).loc[names, columns].to_numpy(dtype=float)
            image = axes.imshow(values, vmin=0, vmax=100, aspect="auto")
            for y, line in enumerate(names):
                for x, place in enumerate(columns):
                    _cell(axes, x, y, part.loc[(line, place)])
            axes.set_yticks(range(len(names)), names)
            axes.set_title(name, loc="left")
            axes.grid(visible=False)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        labels = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        grid[-1, 0].set_xticks(range(len(columns)), columns, **labels)
        figure.colorbar(image, ax=grid[:, 0], label=f"share of {of} (%)", pad=0.02, aspect=30)
    return figure


def call_prices(table: "pd.DataFrame") -> "Figure":
    """Draw what a usual call of each LLM costs, a short and a reasoned answer, on a log scale.

    LLMs without a price, or free ones, have an empty row.

    Args:
        table: Columns ``llm``, ``short_usd`` and ``reasoned_usd``, in the order to draw, first on
            top.
    """
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    with style():
        figure, axes = pyplot.subplots(figsize=(PAGE * 0.72, 0.9 + 0.24 * len(table)))
        pyplot.close(figure)
        rows = range(len(table))
        ends = 1000 * table[["short_usd", "reasoned_usd"]].astype(float).where(lambda usd: usd > 0)
        axes.hlines(rows, ends["short_usd"], ends["reasoned_usd"], color="#777777", linewidth=1.2)
        axes.plot(
            ends["short_usd"], rows, "o", color="#0072B2", markerfacecolor="white",
            label="answer only",
        )  # fmt: skip
        axes.plot(ends["reasoned_usd"], rows, "s", color="#0072B2", label="step by step")
        axes.set(xscale="log", xlabel="US$ per 1,000 usual calls", ylim=(len(table) - 0.5, -0.5))
        axes.set_yticks(rows, list(table["llm"]))
        axes.margins(x=0.06)
        axes.xaxis.set_major_locator(LogLocator(10, (1, 3)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        figure.legend(loc="outside upper left", ncols=2)
    return figure


def _cell(axes: "Axes", x: int, y: int, spread: "pd.Series[float]") -> None:
    """Write the mean, and below it the range of the seeds if they differ."""
    mean, low, high = (round(100 * spread[name]) for name in ("share", "lowest", "highest"))
    if not high:
        return
    shade = "white" if mean > 60 else "black"
    axes.text(x, y - 0.12, f"{mean}", ha="center", va="center", color=shade, size=8)
    if low != high:
        axes.text(x, y + 0.26, f"{low}–{high}", ha="center", va="center", color=shade, size=5.5)
