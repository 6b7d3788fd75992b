"""The two figures of the calibration, as PNG files without a date."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from hieramas_lib.experiments.calibration.reply_lengths import LengthComparison
from hieramas_lib.experiments.calibration.tables import TableComparison
from hieramas_lib.experiments.figures import PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 150
_REAL, _SIMULATED = "#222222", "#0072B2"
_DASHES = ("-", "--", ":")


def draw_counts(tables: Sequence[TableComparison]) -> bytes:
    """Draw how many LLMs of each pool are right on a question: real bars, simulated line."""
    from matplotlib import pyplot

    with style():
        figure, panels = pyplot.subplots(1, len(tables), figsize=(PAGE, 2.5))
        for axes, table in zip(np.atleast_1d(panels), tables, strict=True):
            x = np.arange(table.llms + 1)
            axes.bar(x, 100 * np.array(table.real_counts), color="#c8c8c8", label="real LLMs")
            worlds = 100 * np.array(table.simulated_counts)
            axes.plot(
                x, worlds.mean(axis=0), color=_SIMULATED, linestyle="-", marker="o", markersize=3,
                label="simulated twins, mean over worlds",
            )  # fmt: skip
            low, high = np.quantile(worlds, [0.05, 0.95], axis=0)
            axes.fill_between(
                x, low, high, color=_SIMULATED, alpha=0.2, linewidth=0, label="90 % of the worlds"
            )
            axes.set(title=table.table, xlabel=f"LLMs that are right (of {table.llms})")
        np.atleast_1d(panels)[0].set_ylabel("questions (%)")
        handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        return _png(figure)


def draw_lengths(comparisons: Sequence[LengthComparison]) -> bytes:
    """Draw quantiles of reply lengths over their median, real and simulated, by style."""
    from matplotlib import pyplot

    groups = {
        "Short answers (tokens)": [c for c in comparisons if c.what.startswith("short")],
        "Reasoned answers (characters)": [c for c in comparisons if c.what.startswith("reasoned")],
    }
    with style():
        figure, panels = pyplot.subplots(1, len(groups), figsize=(PAGE, 3.0), sharey=True)
        for axes, (title, group) in zip(panels, groups.items(), strict=True):
            _draw_quantiles(axes, group)
            axes.set(title=title, xlabel="share of replies that are shorter (%)")
        panels[0].set_ylabel("length / median")
        panels[0].set_ylim(0.03, 12)
        return _png(figure)


def _draw_quantiles(axes: "Axes", group: Sequence[LengthComparison]) -> None:
    """Draw against the normal quantile: a log-normal is a straight line."""
    from scipy.stats import norm

    p = np.linspace(0.01, 0.995, 198)
    drawn = group[0].simulated
    axes.plot(
        norm.ppf(p), np.quantile(drawn, p) / np.median(drawn), color=_SIMULATED, linestyle="-",
        marker="", linewidth=2.2, label="simulated",
    )  # fmt: skip
    for comparison, dash in zip(group, _DASHES, strict=False):
        real = comparison.real
        axes.plot(
            norm.ppf(p), np.quantile(real, p) / np.median(real), color=_REAL, linestyle=dash,
            marker="", linewidth=1.0, label=_label(comparison),
        )  # fmt: skip
    ticks = (0.01, 0.1, 0.5, 0.9, 0.99)
    axes.set_xticks(norm.ppf(ticks), [f"{100 * tick:g}" for tick in ticks])
    axes.set_yscale("log")
    axes.set_yticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
    axes.minorticks_off()
    axes.legend(loc="lower right", fontsize=7)


def _label(comparison: LengthComparison) -> str:
    source = comparison.what.split("(")[1].rstrip(")").split(",")[0]
    return f"{comparison.llm}, {source}"


def _png(figure: "Figure") -> bytes:
    from matplotlib import pyplot

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    pyplot.close(figure)
    return buffer.getvalue()
