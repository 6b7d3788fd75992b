"""Figures of Agent Q-Mix: which actions are taken, and who reads whom in each round."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hieramas_lib.experiments.figures import PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---")
_COLOURS = ("#e0e0e0", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7")
_LEAST = 0.005


def action_bars(shares: "Mapping[str, pd.DataFrame]") -> "Figure":
    """Draw the share of each action before each round, one bar a method and round.

    ``shares`` maps a method to a frame of rounds by actions, as
    :func:`~hieramas_lib.experiments.qmix.talk.action_shares` makes it.
    """
    from matplotlib import pyplot

    rows = [
        (f"{method}, {name}", row) for method, f in shares.items() for name, row in f.iterrows()
    ]
    with style():
        figure, axes = pyplot.subplots(figsize=(PAGE, 0.9 + 0.3 * len(rows)))
        pyplot.close(figure)
        left = np.zeros(len(rows))
        actions = list(rows[0][1].index)
        for action, colour, hatch in zip(actions, _COLOURS, _HATCHES, strict=True):
            width = np.array([100 * row[action] for _, row in rows])
            axes.barh(
                range(len(rows)), width, left=left, color=colour, hatch=hatch,
                edgecolor="#333333", linewidth=0.5, label=action,
            )  # fmt: skip
            left += width
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set(xlim=(0, 100), xlabel="share of agents and questions (%)")
        axes.grid(visible=False, axis="y")
        figure.legend(loc="outside upper right", ncols=len(actions))
    return figure


def round_graphs(shares: "Mapping[str, ArrayLike]", names: Sequence[str]) -> "Figure":
    """Draw who reads whom, one panel for each title, agents on a circle.

    ``shares`` maps a title to ``[agents, agents]``, how often the column's agent read the row's;
    an arrow goes from who wrote to who read, the wider and darker the more often.
    """
    from matplotlib import pyplot

    with style():
        height = 0.66 * PAGE / max(2, len(shares)) + 0.3
        figure, grid = pyplot.subplots(1, len(shares), figsize=(PAGE, height), squeeze=False)
        pyplot.close(figure)
        for axes, (title, values) in zip(grid[0], shares.items(), strict=True):
            _circle(axes, np.asarray(values, dtype=float), names)
            axes.set_title(title, size=8)
    return figure


def _circle(axes: "Axes", shares: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]",
            names: Sequence[str]) -> None:  # fmt: skip
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    boxes = [
        axes.text(
            x, y, name.replace(" ", "\n"), ha="center", va="center", size=5.5,
            bbox={"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#333333"},
        ).get_bbox_patch()
        for (x, y), name in zip(places, names, strict=True)
    ]  # fmt: skip
    for (u, v), share in np.ndenumerate(shares):
        if share < _LEAST:
            continue
        axes.annotate(
            "", xy=tuple(places[v]), xytext=tuple(places[u]),
            arrowprops={
                "arrowstyle": "-|>", "patchA": boxes[u], "patchB": boxes[v], "shrinkA": 2,
                "shrinkB": 2, "linewidth": 0.4 + 2.2 * share, "alpha": 0.25 + 0.75 * share,
                "color": "#0072B2", "connectionstyle": "arc3,rad=0.16",
            },
        )  # fmt: skip
        # On the arrow's own side of the straight line, near who wrote.
        along = places[v] - places[u]
        x, y = places[u] + 0.42 * along + 0.18 * np.array([along[1], -along[0]])
        axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", size=6, color="#222222")
    low = places[:, 1].min() - 0.3
    axes.set(xlim=(-1.5, 1.5), ylim=(low, 1.3), aspect="equal")
    axes.axis("off")
