"""Figures of effects: what is gained, under which knobs, in panels that share their scales.

Each function draws tables of :func:`~.seed_tables.over_seeds`, and saves nothing. Series are told
apart by marker, line style and filling as well as by colour.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hieramas_lib.experiments.figures import PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _SERIES_STEP = 0.2, 0.13
_LETTER, _ENTRY = 0.062, 0.45
"""Inches: a letter of a legend or a tick label, and what a legend's entry needs besides."""


def effect_curves(
    table: "pd.DataFrame", x: str, values: Mapping[str, str], *, xlabel: str, zero: bool = True,
    scale: float = 1.0,
) -> "Figure":  # fmt: skip
    """Draw curves with intervals: a column of panels for each ``panel``, a row for each value.

    A series of a single point is drawn as a marker.

    Args:
        table: Columns ``panel``, ``series``, ``x``, and each value with its ``_low`` and
            ``_high``.
        x: Column of the horizontal axis.
        values: Column to label of its axis, top row first.
        xlabel: With units.
        zero: Whether to mark 0.
        scale: Factor on the values, e.g. 100 for points.
    """
    panels, names = _distinct(table["panel"]), _distinct(table["series"])
    with style():
        looks = _looks(len(names))
        legend = _legend_rows(names)
        figure, grid = _grid(len(values), len(panels), 0.45 + 1.75 * len(values) + 0.17 * legend)
        for row, (value, label) in enumerate(values.items()):
            for column, panel in enumerate(panels):
                axes = grid[row][column]
                for i, name in enumerate(names):
                    part = table[(table["panel"] == panel) & (table["series"] == name)]
                    shift = _shift(i, len(names)) * 0.12
                    if (table["series"] == name).sum() <= len(panels):
                        looks[i]["linestyle"] = "none"
                    _curve(axes, part, x, value, looks[i] | {"label": name}, shift, scale)
                _frame(axes, zero=zero, horizontal=True)
            grid[row][0].set_ylabel(label)
        for axes, panel in zip(grid[0], panels, strict=True):
            axes.set_title(panel)
        for axes in grid[-1]:
            axes.set_xlabel(xlabel)
        _legend(figure, grid[0][0], names)
    return figure


def effect_points(
    table: "pd.DataFrame", value: str, *, xlabel: str, zero: bool = True, scale: float = 1.0
) -> "Figure":
    """Draw points with intervals: rows on the vertical axis, series beside one another.

    Args:
        table: Columns ``panel``, ``row``, ``series``, and the value with its ``_low`` and
            ``_high``.
        value: Column to draw.
        xlabel: With units; the interval is named after it.
        zero: Whether to mark 0.
        scale: Factor on the values, e.g. 100 for points.
    """
    panels, rows = _distinct(table["panel"]), _distinct(table["row"])
    names = _distinct(table["series"])
    height = (_ROW + _SERIES_STEP * (len(names) - 1)) * len(rows)
    with style():
        looks = _looks(len(names))
        legend = _legend_rows(names) if len(names) > 1 else 0
        figure, grid = _grid(1, len(panels), 0.85 + height + 0.17 * legend)
        for axes, panel in zip(grid[0], panels, strict=True):
            part = table[table["panel"] == panel]
            for i, name in enumerate(names):
                chosen = part[part["series"] == name]
                places = np.array([rows.index(row) for row in chosen["row"]])
                look = looks[i] | {"label": name, "linestyle": "none"}
                _points(axes, chosen, value, places + 0.75 * _shift(i, len(names)), look, scale)
            _frame(axes, zero=zero, horizontal=False)
            _separate(axes, len(rows))
            axes.set(title=panel, xlabel=xlabel)
            axes.set_yticks(range(len(rows)), rows)
            axes.tick_params(axis="y", length=0)
        grid[0][0].set_ylim(len(rows) - 0.5, -0.5)
        if legend:
            _legend(figure, grid[0][0], names)
    return figure


def _distinct(values: "pd.Series[Any]") -> list[str]:
    return [str(value) for value in dict.fromkeys(values)]


def _grid(rows: int, columns: int, height: float) -> "tuple[Figure, list[list[Axes]]]":
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(
        rows, columns, figsize=(PAGE, height), squeeze=False, sharex=True, sharey="row"
    )
    pyplot.close(figure)
    return figure, [list(row) for row in grid]


def _looks(count: int) -> list[dict[str, Any]]:
    """Return marker, line and colour of each series; every other marker is hollow."""
    from matplotlib import rcParams

    cycle = list(rcParams["axes.prop_cycle"])
    looks = [dict(cycle[i % len(cycle)]) for i in range(count)]
    for i, look in enumerate(looks):
        look["markerfacecolor"] = "white" if i % 2 else look["color"]
    return looks


def _shift(index: int, count: int) -> float:
    """Return where a series stands within its row or column, from -0.5 to 0.5."""
    return (index + 0.5) / count - 0.5


def _curve(
    axes: "Axes", part: "pd.DataFrame", x: str, value: str, look: Mapping[str, Any], shift: float,
    scale: float,
) -> None:  # fmt: skip
    y, bars = _bars(part, value, scale)
    places = part[x].to_numpy(dtype=float) + shift
    axes.errorbar(places, y, yerr=bars, elinewidth=0.8, capsize=1.5, markersize=4, **look)


def _points(
    axes: "Axes", part: "pd.DataFrame", value: str, places: "np.ndarray[Any, Any]",
    look: Mapping[str, Any], scale: float,
) -> None:  # fmt: skip
    x, bars = _bars(part, value, scale)
    axes.errorbar(x, places, xerr=bars, elinewidth=0.9, capsize=1.5, markersize=4.5, **look)


def _bars(
    part: "pd.DataFrame", value: str, scale: float
) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]":
    """Return the values and the arms of their error bars; no arms where there is one seed."""
    middle = scale * part[value].to_numpy(dtype=float)
    ends = scale * part[[f"{value}_low", f"{value}_high"]].to_numpy(dtype=float).T
    return middle, None if np.isnan(ends).any() else np.abs(ends - middle)


def _frame(axes: "Axes", *, zero: bool, horizontal: bool) -> None:
    axes.grid(visible=True, axis="y" if horizontal else "x")
    axes.grid(visible=False, axis="x" if horizontal else "y")
    if zero:
        line = axes.axhline if horizontal else axes.axvline
        line(0.0, color="#333333", linewidth=0.8, linestyle="-", zorder=1)


def _separate(axes: "Axes", rows: int) -> None:
    for row in range(1, rows):
        axes.axhline(row - 0.5, color="#d0d0d0", linewidth=0.5, linestyle="-", zorder=0)


def _legend_columns(names: Sequence[str]) -> int:
    """Return as few columns as the least number of rows allows."""
    entry = _ENTRY + _LETTER * max(map(len, names))
    most = max(1, int(PAGE / entry))
    return -(-len(names) // -(-len(names) // most))


def _legend_rows(names: Sequence[str]) -> int:
    return -(-len(names) // _legend_columns(names))


def _legend(figure: "Figure", axes: "Axes", names: Sequence[str]) -> None:
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    figure.legend(
        [found[name] for name in names], list(names), loc="outside upper left",
        ncols=_legend_columns(names),
    )  # fmt: skip
