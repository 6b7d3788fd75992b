"""Figures of learning: what a policy comes to choose, what parts are worth, whom to trust.

Each function draws one figure and returns it, and saves nothing. Line styles, markers and hatches
carry what colours carry.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hieramas_lib.experiments.figures import COLUMN, PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ["", "///", "\\\\\\", "...", "xxx", "---", "ooo", "+++", "***"]
_DASHES = [
    "-",
    "--",
    ":",
    "-.",
    (0, (5, 1)),
    (0, (1, 3)),
    (0, (3, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 2)),
]


def share_areas(
    panels: Mapping[str, ArrayLike], steps: ArrayLike, names: Sequence[str], *, xlabel: str
) -> "Figure":
    """Draw how the choice of each position shifts in training, as stacked shares, a panel each.

    Args:
        panels: Title to shares ``[steps, names]``, which add up to 1.
        steps: Position of each step on the x axis.
        names: What is chosen among, SKIP the last; drawn in grey.
        xlabel: With units.
    """
    from matplotlib import pyplot

    x = np.asarray(steps, dtype=float)
    with style():
        figure, grid = pyplot.subplots(
            1, len(panels), figsize=(PAGE, 2.9), squeeze=False, sharex=True, sharey=True
        )
        pyplot.close(figure)
        for axes, (title, values) in zip(grid[0], panels.items(), strict=True):
            low = np.zeros(len(x))
            for i, share in enumerate(100 * np.asarray(values, dtype=float).T):
                look = _area(i, last=i == len(names) - 1)
                axes.fill_between(x, low, low + share, label=names[i], **look)
                low = low + share
            axes.set(title=title, xlabel=xlabel, ylim=(0, 100), xlim=(x[0], x[-1]))
            axes.grid(visible=False)
        grid[0][0].set_ylabel("mean probability (%)")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=5)
    return figure


def training_curves(
    panels: Mapping[str, Mapping[str, ArrayLike]], steps: ArrayLike, *, xlabel: str
) -> "Figure":
    """Draw several quantities over training, a panel each, one line a series.

    Series of the first panel are named above the figure; a panel with others names its own.

    Args:
        panels: Label of the y axis, with units, to series by name: values ``[steps]``, or
            ``[seeds, steps]`` for a mean with a band from lowest to highest.
        steps: Position of each step on the x axis.
        xlabel: With units.
    """
    from matplotlib import pyplot

    x, count = np.asarray(steps, dtype=float), len(panels)
    first = list(next(iter(panels.values())))
    with style():
        columns = min(2, count)
        rows = -(-count // columns)
        figure, grid = pyplot.subplots(
            rows, columns, figsize=(PAGE, 0.5 + 1.75 * rows), squeeze=False, sharex=True
        )
        pyplot.close(figure)
        for axes, (label, series) in zip(grid.flat, panels.items(), strict=False):
            shared = set(series) <= set(first)
            names = first if shared else list(series)
            for name, values in series.items():
                _line(axes, x, np.atleast_2d(np.asarray(values, dtype=float)), names, name)
            if not shared and len(series) > 1:
                axes.legend(loc="best")
            axes.set_ylabel(label)
            axes.margins(x=0.02)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        for axes in grid[-1]:
            axes.set_xlabel(xlabel)
        if len(first) > 1:
            handles, labels = grid.flat[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper left", ncols=4)
    return figure


def ablation_bars(
    table: "pd.DataFrame", values: Mapping[str, tuple[str, float]], *, zero: str
) -> "Figure":
    """Draw differences to the full system as bars with intervals, a panel for each value.

    Args:
        table: One row a variant: ``variant``, and each value with its ``_low`` and ``_high``. Bars
            of variants whose first word is the same have the same colour and hatch.
        values: Column to label of its axis, with units, and the factor on it, such as 100.
        zero: What 0 stands for.
    """
    from matplotlib import pyplot

    names = [str(name) for name in table["variant"]]
    parts = [name.split()[0] for name in names]
    looks = {part: _bar(i) for i, part in enumerate(dict.fromkeys(parts))}
    with style():
        figure, grid = pyplot.subplots(
            1, len(values), figsize=(PAGE, 0.95 + 0.21 * len(names)), squeeze=False, sharey=True
        )
        pyplot.close(figure)
        for axes, (value, (label, scale)) in zip(grid[0], values.items(), strict=True):
            middle = scale * table[value].to_numpy(dtype=float)
            ends = scale * table[[f"{value}_low", f"{value}_high"]].to_numpy(dtype=float).T
            arms = None if np.isnan(ends).any() else np.abs(ends - middle)
            for place, (part, size) in enumerate(zip(parts, middle, strict=True)):
                axes.barh(place, size, height=0.68, **looks[part])
            axes.errorbar(
                middle, np.arange(len(names)), xerr=arms, fmt="none", ecolor="#222222",
                elinewidth=1.0, capsize=2,
            )  # fmt: skip
            axes.axvline(0.0, color="#222222", linewidth=0.8, linestyle="-")
            axes.set_xlabel(label)
            axes.grid(visible=True, axis="x")
            axes.grid(visible=False, axis="y")
            axes.set_yticks(range(len(names)), names)
            axes.tick_params(axis="y", length=0)
        grid[0][0].set_ylim(len(names) - 0.4, -0.6)
        grid[0][0].set_title(f"0: {zero}", loc="left")
    return figure


def reliability_curves(curves: Mapping[str, Sequence[tuple[float, float, float]]]) -> "Figure":
    """Draw how often an order is right against how probable it was said to be.

    Args:
        curves: Name to bins: mean probability, share that was right, share of all pairs; the
            area of a marker grows with the last.
    """
    with style():
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(COLUMN + 0.6, 3.2))
        pyplot.close(figure)
        axes.plot([50, 100], [50, 100], color="#555555", linewidth=0.9, linestyle=":", marker="")
        for index, (name, bins) in enumerate(curves.items()):
            values = 100 * np.asarray(bins, dtype=float)
            (line,) = axes.plot(
                values[:, 0], values[:, 1], label=name, linestyle=_DASHES[index], marker=""
            )
            axes.scatter(
                values[:, 0], values[:, 1], s=8 + 3 * values[:, 2], color=line.get_color(),
                marker=["o", "s", "^", "D"][index % 4], zorder=3,
                facecolor="white" if index % 2 else line.get_color(),
            )  # fmt: skip
        axes.set(
            xlabel="probability given to the likelier order (%)", ylabel="order was right (%)",
            xlim=(49, 101), ylim=(None, 103),
        )  # fmt: skip
        figure.legend(loc="outside upper left", ncols=2)
    return figure


def _line(axes: "Axes", x: "np.ndarray[Any, Any]", runs: "np.ndarray[Any, Any]",
          names: Sequence[str], name: str) -> None:  # fmt: skip
    from matplotlib import rcParams

    cycle, index = list(rcParams["axes.prop_cycle"]), names.index(name)
    look = dict(cycle[index % len(cycle)]) | {"linestyle": _DASHES[index % len(_DASHES)]}
    every = max(1, len(x) // 8)
    (line,) = axes.plot(x, runs.mean(axis=0), label=name, markevery=every, markersize=4, **look)
    if len(runs) > 1:
        axes.fill_between(
            x, runs.min(axis=0), runs.max(axis=0), color=line.get_color(), alpha=0.18, linewidth=0
        )


def _area(index: int, *, last: bool) -> dict[str, Any]:
    look = _bar(index)
    return look | {"facecolor": "#dddddd", "hatch": ""} if last else look


def _bar(index: int) -> dict[str, Any]:
    from matplotlib import rcParams

    cycle = list(rcParams["axes.prop_cycle"])
    return {
        "facecolor": cycle[index % len(cycle)]["color"], "hatch": _HATCHES[index % len(_HATCHES)],
        "edgecolor": "white", "linewidth": 0.4,
    }  # fmt: skip
