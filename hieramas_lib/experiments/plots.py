"""The figures of the collection: each function draws one and returns it, and saves nothing.

Distinct line styles, markers and hatches carry what colours carry, so that a black-and-white print
can be read. Save with :func:`hieramas_lib.experiments.figures.save_figure`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hieramas_lib.experiments.figures import COLUMN, PAGE, style
from hieramas_lib.experiments.frontier import pareto

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def learning_curve(
    curves: Mapping[str, ArrayLike],
    steps: ArrayLike,
    *,
    xlabel: str,
    ylabel: str,
    levels: Mapping[str, float] | None = None,
) -> "Figure":
    """Draw curves over training, each the mean over seeds with a band from lowest to highest.

    Args:
        curves: Name to values ``[seeds, steps]``.
        steps: Position of each step on the x axis.
        xlabel, ylabel: With units.
        levels: Named horizontal lines, e.g. the strongest LLM alone.
    """
    with style():
        width, labels = PAGE * 0.62, [*curves, *(levels or {})]
        columns = _legend_columns(width, labels)
        figure, axes = _axes(width, 2.2 + 0.17 * -(-len(labels) // columns))
        x = np.asarray(steps)
        for name, values in curves.items():
            seeds = np.atleast_2d(np.asarray(values, dtype=float))
            (line,) = axes.plot(x, seeds.mean(axis=0), label=name, markevery=_every(x))
            if len(seeds) > 1:
                low, high = seeds.min(axis=0), seeds.max(axis=0)
                axes.fill_between(x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        for (name, level), dash in zip((levels or {}).items(), _DASHES, strict=False):
            axes.axhline(level, color="#555555", linewidth=0.9, linestyle=dash, label=name)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.margins(x=0.02)
        figure.legend(loc="outside upper left", ncols=columns)
    return figure


def selection_heatmap(shares: "pd.DataFrame", *, title: str = "", of: str = "tasks") -> "Figure":
    """Draw how often each position (row) is given to each LLM or SKIP (column), in percent.

    Args:
        shares: Values from 0 to 1, with one row a position, named "Role · position": a line
            separates roles. A cell without a number is below half a percent.
        title: Of the figure.
        of: What the shares are shares of, for the colour bar.
    """
    rows, columns = shares.shape
    with style():
        figure, axes = _axes(min(PAGE, 1.9 + 0.5 * columns), 1.1 + 0.22 * rows)
        values = 100 * shares.to_numpy(dtype=float)
        image = axes.imshow(values, vmin=0, vmax=100, aspect="auto")
        names = list(map(str, shares.index))
        _cell_texts(axes, values, "{:.0f}", threshold=60)
        _grid_labels(axes, list(map(str, shares.columns)), names)
        _separate_groups(axes, [name.split(" · ")[0] for name in names])
        figure.colorbar(image, ax=axes, label=f"share of {of} (%)", shrink=0.9, pad=0.02)
        axes.set_title(title)
    return figure


def density_histogram(densities: Mapping[str, Sequence[float]], *, bins: int = 12) -> "Figure":
    """Draw the distribution of graph densities, edges / n(n-1), as one outline a group."""
    with style():
        figure, axes = _axes(COLUMN, 2.3)
        values = [np.asarray(group, dtype=float) for group in densities.values()]
        edges = np.histogram_bin_edges(np.concatenate(values), bins=bins).tolist()
        for group, name, hatch in zip(values, densities, _HATCHES, strict=False):
            weights = np.full(len(group), 100 / len(group))
            axes.hist(
                group, bins=edges, weights=weights, histtype="stepfilled", alpha=0.45,
                hatch=hatch, edgecolor="#222222", linewidth=0.8,
                label=f"{name} (n = {len(group)}, mean {group.mean():.2f})",
            )  # fmt: skip
        axes.set(xlabel="density: edges / n(n−1)", ylabel="share of graphs (%)")
        _legend_above(axes)
    return figure


def jaccard_matrix(matrix: ArrayLike, labels: Sequence[str]) -> "Figure":
    """Draw pairwise Jaccard similarities of edge sets, from 0 (no shared edge) to 1."""
    values = np.asarray(matrix, dtype=float)
    side = max(2.6, 1.2 + 0.3 * len(labels))
    with style():
        figure, axes = _axes(min(side + 0.9, PAGE), min(side, PAGE - 0.9))
        image = axes.imshow(values, vmin=0, vmax=1)
        if len(labels) <= 12:
            _cell_texts(axes, values, "{:.2f}", threshold=0.6)
        _grid_labels(axes, list(labels), list(labels))
        figure.colorbar(image, ax=axes, label="Jaccard similarity of edges", shrink=0.9, pad=0.02)
    return figure


def cost_accuracy(table: "pd.DataFrame", groups: Mapping[str, str] | None = None) -> "Figure":
    """Draw accuracy against cost on a log scale, one panel a benchmark, from a comparison table.

    Where a method costs nothing, as local LLMs do, the scale is linear from 0 to the lowest cost.
    With ``groups`` (method to group) the methods of a group look alike, and a line joins those
    that no cheaper one is as accurate as, see :func:`.frontier.pareto`.
    """
    names = list(dict.fromkeys(table["benchmark"]))
    of = groups or {method: method for method in table["method"]}
    with style():
        figure, grid = _panels(len(names), PAGE, 2.4 if groups is None else 2.7)
        cycle, found = _cycle(), list(dict.fromkeys(of[method] for method in table["method"]))
        looks = {group: cycle[i % len(cycle)] for i, group in enumerate(found)}
        for axes, name in zip(grid, names, strict=True):
            part = table[table["benchmark"] == name]
            for row in part.itertuples():
                _point(axes, row, of[row.method], looks[of[row.method]], quiet=bool(groups))
            if groups:
                best = pareto(part)
                axes.step(
                    1000 * best["cost_usd"], 100 * best["accuracy"], where="post",
                    color="#999999", linewidth=0.8, linestyle="-", marker="", zorder=0,
                )  # fmt: skip
            axes.set(title=name, xlabel="cost (US$ per 1,000 items)")
            axes.margins(x=0.15)
        _cost_scale(grid, 1000 * table["cost_usd"])
        grid[0].set_ylabel("accuracy (%)")
        handles, labels = _unique_handles(grid)
        columns = min(6, _legend_columns(PAGE, labels))
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    return figure


def anchors(
    table: "pd.DataFrame", *, value: str = "utility", xlabel: str = "utility per item"
) -> "Figure":
    """Draw a value with its interval for each row, horizontally, best first.

    ``table`` has columns ``method``, ``<value>``, ``<value>_low`` and ``<value>_high``.
    """
    rows = table.sort_values(value)
    with style():
        figure, axes = _axes(PAGE * 0.72, 0.75 + 0.26 * len(rows))
        y = np.arange(len(rows))
        x = rows[value].to_numpy(dtype=float)
        ends = rows[[f"{value}_low", f"{value}_high"]].to_numpy(dtype=float).T
        axes.errorbar(
            x, y, xerr=np.abs(ends - x), fmt="o", color="#0072B2", ecolor="#333333", linewidth=1.1
        )
        for at, number in zip(y, x, strict=True):
            axes.annotate(
                f"{number:.3f}", (1, at), xycoords=("axes fraction", "data"),
                xytext=(4, 0), textcoords="offset points", va="center",
            )  # fmt: skip
        axes.set_yticks(y, rows["method"].tolist())
        axes.set(xlabel=f"{xlabel} (point) and 95 % interval", ylim=(-0.6, len(rows) - 0.4))
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.06)
    return figure


_DASHES = ["--", ":", "-.", (0, (5, 1)), (0, (1, 3)), (0, (3, 1, 1, 1))]
_HATCHES = ["", "///", "\\\\\\", "...", "xxx", "---"]


def _axes(width: float, height: float) -> "tuple[Figure, Axes]":
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height))
    pyplot.close(figure)  # Shown where a notebook's cell returns it, not a second time.
    return figure, axes


def _panels(count: int, width: float, height: float) -> "tuple[Figure, Sequence[Axes]]":
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(
        1, count, figsize=(width, height), squeeze=False, sharex=True, sharey=True
    )
    pyplot.close(figure)
    return figure, list(grid[0])


def _cycle() -> list[dict[str, Any]]:
    from matplotlib import rcParams

    return list(rcParams["axes.prop_cycle"])


def _every(x: "np.ndarray[Any, Any]") -> int:
    return max(1, len(x) // 10)


def _point(axes: "Axes", row: Any, label: str, look: Mapping[str, Any], *, quiet: bool) -> None:
    bars = _bars(row.accuracy, row.accuracy_low, row.accuracy_high)
    axes.errorbar(
        1000 * row.cost_usd, 100 * row.accuracy, yerr=100 * bars, linestyle="none",
        linewidth=0.5 if quiet else 0.9, capsize=0 if quiet else None,
        marker=look["marker"], color=look["color"], label=label,
    )  # fmt: skip


def _log_ticks(values: "pd.Series[float]", base: int, steps: Sequence[int]) -> list[float]:
    """Return the ``steps`` times powers of ``base`` among values; the lowest if there is none."""
    if not len(values):
        return []
    low, high = values.min(), values.max()
    powers = np.arange(np.floor(np.log(low) / np.log(base)), np.log(high) / np.log(base) + 1)
    ticks = [float(step * base**power) for power in powers for step in steps]
    return [tick for tick in ticks if low <= tick <= 1.2 * high] or [float(low)]


def _cost_scale(grid: "Sequence[Axes]", costs: "pd.Series[float]") -> None:
    """Scale the shared x axis for costs, with plain numbers at as many ticks as fit the decades."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    paid = costs[costs > 0]
    decades = np.log10(paid.max() / paid.min()) if len(paid) else 0
    base = 10 if decades < 4 else 100
    steps = (1, 2, 5) if decades < 1.3 else (1, 3) if decades < 2.2 else (1,)
    for axes in grid:
        if not len(paid):
            axes.set_xlim(-1, 1)
        elif len(paid) == len(costs):
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=paid.min(), linscale=0.6)
    if len(paid) == len(costs):
        grid[0].xaxis.set_major_locator(LogLocator(base, steps))
    else:
        grid[0].xaxis.set_major_locator(FixedLocator([0.0, *_log_ticks(paid, base, steps)]))
    grid[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    grid[0].xaxis.set_minor_locator(NullLocator())


def _bars(value: float, low: float, high: float) -> "np.ndarray[Any, Any]":
    """Return the arms of an error bar; rounding must not make one negative."""
    return np.abs([[value - low], [high - value]])


def _unique_handles(grid: "Sequence[Axes]") -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _legend_columns(width: float, labels: Sequence[str]) -> int:
    """Return how many columns of a legend fit a width in inches, at 0.065 inches a letter."""
    entry = 0.5 + 0.065 * max(map(len, labels))
    return max(1, min(len(labels), int(width / entry)))


def _legend_above(axes: "Axes") -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)


def _grid_labels(axes: "Axes", columns: list[str], rows: list[str]) -> None:
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cell_texts(axes: "Axes", values: "np.ndarray[Any, Any]", form: str, threshold: float) -> None:
    for (row, column), value in np.ndenumerate(values):
        shade, text = "white" if value > threshold else "black", form.format(value)
        if float(text):
            axes.text(column, row, text, ha="center", va="center", color=shade)


def _separate_groups(axes: "Axes", groups: Sequence[str]) -> None:
    if len(set(groups)) == len(groups):
        return
    for row in range(1, len(groups)):
        if groups[row] != groups[row - 1]:
            axes.axhline(row - 0.5, color="#777777", linewidth=0.7, linestyle="-")
