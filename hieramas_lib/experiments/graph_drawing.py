"""Drawing topologies: roles in layers from left to right, an arrow where a message is read.

Data units are inches: boxes get the sizes of their texts here, not from a renderer, so that arrows
end at their boxes at any resolution, and the curve of an arrow can be chosen to pass no other box.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.figures import PAGE, style
from hieramas_lib.teams.topology import Edge, Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

Points = NDArray[np.float64]

_LAYER, _LANE, _MARGIN, _TITLE = 1.4, 0.6, 0.12, 0.3
_BOX = np.array([1.02, 0.36])
_BENDS = (0.0, 0.12, 0.2, 0.28, 0.36, 0.46, 0.58, 0.72, 0.9)
_PAD, _LINE, _FONT = 0.08, 0.125, 8
_ROUND, _SQUARE = "round,pad=0,rounding_size=0.05", "square,pad=0"
_LOOKS: dict[str, dict[str, Any]] = {
    "source": {"facecolor": "#cfe5f5", "edgecolor": "#333333", "linewidth": 0.8},
    "sink": {"facecolor": "#fbd9c0", "edgecolor": "#333333", "linewidth": 1.6},
    "between": {"facecolor": "#ffffff", "edgecolor": "#333333", "linewidth": 0.8},
    "pruned": {
        "facecolor": "#eeeeee", "edgecolor": "#999999", "linewidth": 0.8, "linestyle": "--",
    },
}  # fmt: skip
_MEANINGS = {
    "source": "source: reads nobody",
    "sink": "sink: nobody reads it",
    "pruned": "pruned: does not act",
}
_LEGEND_ENTRY = 1.75


@dataclass(frozen=True, slots=True)
class _Drawing:
    """One topology laid out around the origin: a centre ``[nodes, 2]`` and a bend an edge."""

    title: str
    looks: tuple[str, ...]
    centres: Points
    bends: Mapping[Edge, float]

    @property
    def extent(self) -> Points:
        """Lowest and highest coordinates of boxes and curves, ``[2, 2]``."""
        curves = [_curve(self.centres[u], self.centres[v], b) for (u, v), b in self.bends.items()]
        points = np.concatenate([self.centres - _BOX / 2, self.centres + _BOX / 2, *curves])
        return np.stack([points.min(axis=0), points.max(axis=0)])


def draw_topology(
    topology: Topology, names: Sequence[str], *, pruned: Collection[str] = (), title: str = ""
) -> "Figure":
    """Draw one topology; ``names`` are the roles in node order, the ``pruned`` ones do not act."""
    return draw_topologies({title: topology}, names, pruned=pruned, columns=1)


def draw_topologies(
    topologies: Mapping[str, Topology],
    names: Sequence[str],
    *,
    pruned: Collection[str] = (),
    columns: int = 2,
) -> "Figure":
    """Draw several topologies over the same roles, each under its title.

    A source (blue, round) reads nobody, a sink (orange, square, thick) is read by nobody but the
    decision; a pruned role is grey and dashed and has no edges.

    Raises:
        ConfigError: a pruned role is none of ``names``.
    """
    nodes = _nodes(pruned, names)
    available = PAGE / columns - 2 * _MARGIN
    drawings = [_lay_out(title, t, nodes, available) for title, t in topologies.items()]
    extents = np.stack([drawing.extent for drawing in drawings])
    low, high = extents[:, 0].min(axis=0) - _MARGIN, extents[:, 1].max(axis=0) + _MARGIN
    # Panels are centred sideways, so the left and right of the widest hold for all.
    side = max(-low[0], high[0])
    titled = _TITLE if any(topologies) else 0.0
    with style():
        figure, grid = _canvas(2 * side, high[1] - low[1] + titled, len(drawings), columns)
        for axes, drawing in zip(grid, drawings, strict=False):
            axes.set(xlim=(-side, side), ylim=(low[1], high[1] + titled))
            _draw(axes, drawing, names)
        _legend(figure, {look for drawing in drawings for look in drawing.looks})
    return figure


def _nodes(pruned: Collection[str], names: Sequence[str]) -> list[int]:
    there = list(names)
    for name in pruned:
        if name not in there:
            raise ConfigError(f"pruned: no role {name!r}; there are {', '.join(there)}")
    return [there.index(name) for name in pruned]


def _lay_out(title: str, topology: Topology, pruned: Collection[int], available: float) -> _Drawing:
    acting = topology.without(pruned)
    centres = _positions(acting, available)
    looks = tuple(
        "pruned" if node in pruned else _look(acting, node) for node in range(acting.size)
    )
    bends: dict[Edge, float] = {}
    for u, v in acting.edges:
        bends[u, v] = _bend(centres, u, v)
    return _Drawing(title, looks, centres, bends)


def _positions(topology: Topology, available: float) -> Points:
    """Put layers side by side; where the page is too narrow, neighbours go up and down in turn."""
    layers = _layers(topology)
    step = min(_LAYER, (available - _BOX[0]) / max(len(layers) - 1, 1))
    levels = int(np.ceil((_BOX[0] + 0.1) / step)) if len(layers) > 1 else 1
    centres = np.zeros((topology.size, 2))
    for depth, layer in enumerate(layers):
        shift = (depth % levels - (levels - 1) / 2) * _LANE * (1.0 if levels > 2 else 1.3)
        for lane, node in enumerate(layer):
            y = _LANE * ((len(layer) - 1) / 2 - lane)
            centres[node] = step * (depth - (len(layers) - 1) / 2), y - shift
    return centres


def _layers(topology: Topology) -> list[list[int]]:
    """Put each node one layer after its last predecessor, near its predecessors' lanes."""
    layer: dict[int, int] = {}
    for node in topology.order():
        layer[node] = 1 + max((layer[u] for u in topology.predecessors(node)), default=-1)
    layers: list[list[int]] = [[] for _ in range(max(layer.values()) + 1)]
    for node in sorted(layer):
        layers[layer[node]].append(node)
    lane: dict[int, float] = {}
    for nodes in layers:
        nodes.sort(key=lambda n: _mean([lane[u] for u in topology.predecessors(n)], n))
        lane |= {node: i - (len(nodes) - 1) / 2 for i, node in enumerate(nodes)}
    return layers


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _look(topology: Topology, node: int) -> str:
    if not topology.predecessors(node):
        return "source"
    return "between" if topology.successors(node) else "sink"


def _bend(centres: Points, u: int, v: int) -> float:
    """Return the least bend with which the arrow passes no other box, away from the middle."""
    others = np.delete(centres, [u, v], axis=0)
    above = centres[u, 1] + centres[v, 1] > 0 or (centres[u, 1] == -centres[v, 1] and (v - u) % 2)
    side = -1.0 if above else 1.0
    for size in _BENDS:
        for bend in (side * size, -side * size):
            gaps = np.abs(_curve(centres[u], centres[v], bend)[:, None] - others)
            if not (gaps < _BOX / 2 + 0.03).all(axis=2).any():
                return bend
    return side * _BENDS[2]


def _curve(start: Points, end: Points, bend: float) -> Points:
    """Return points of matplotlib's "arc3" curve, ``[points, 2]``."""
    step = end - start
    control = (start + end) / 2 + bend * np.array([step[1], -step[0]])
    t = np.linspace(0, 1, 60)[:, None]
    points: Points = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return points


def _draw(axes: "Axes", drawing: _Drawing, names: Sequence[str]) -> None:
    from matplotlib.patches import FancyArrowPatch

    left, top = axes.get_xlim()[0] + 0.06, axes.get_ylim()[1] - 0.06
    axes.text(left, top, drawing.title, va="top", weight="bold", size=8.5)
    boxes = [
        _box(axes, centre, _wrapped(name), look)
        for centre, name, look in zip(drawing.centres, names, drawing.looks, strict=True)
    ]
    for (u, v), bend in drawing.bends.items():
        arrow = FancyArrowPatch(
            drawing.centres[u], drawing.centres[v], connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>", mutation_scale=8, linewidth=0.9, color="#444444", zorder=2,
            patchA=boxes[u], patchB=boxes[v], shrinkA=1, shrinkB=2,
        )  # fmt: skip
        axes.add_patch(arrow)


def _box(axes: "Axes", centre: Points, text: str, look: str) -> "FancyBboxPatch":
    """Draw a role's box and text; the box's size comes from the font's outlines, in inches."""
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.textpath import TextPath

    lines = text.split("\n")
    width = max(TextPath((0, 0), line, size=_FONT).get_extents().width for line in lines) / 72
    width, height = width + 2 * _PAD, _LINE * len(lines) + 1.4 * _PAD
    box = FancyBboxPatch(
        (centre[0] - width / 2, centre[1] - height / 2), width, height, zorder=2.5,
        boxstyle=_SQUARE if look == "sink" else _ROUND, **_LOOKS[look],
    )  # fmt: skip
    axes.add_patch(box)
    axes.text(
        centre[0], centre[1], text, ha="center", va="center", size=_FONT, linespacing=1.0,
        zorder=3, color="#777777" if look == "pruned" else "black",
    )  # fmt: skip
    return box


def _wrapped(name: str) -> str:
    """Break a name over at most two lines of about equal length."""
    words = name.split()
    if len(name) <= 12 or len(words) == 1:
        return name
    breaks = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    return "\n".join(min(breaks, key=lambda lines: max(map(len, lines))))


def _canvas(width: float, height: float, count: int, columns: int) -> "tuple[Figure, list[Axes]]":
    """Make panels whose data units are inches, with a foot for the legend."""
    from matplotlib import pyplot

    rows = -(-count // columns)
    whole = max(width * columns, _LEGEND_ENTRY + 2 * _MARGIN)
    foot = 0.2 + 0.17 * _legend_rows(whole)
    total = rows * height + foot
    figure = pyplot.figure(figsize=(whole, total), layout="none")
    pyplot.close(figure)
    grid = []
    for panel in range(count):
        row, column = divmod(panel, columns)
        bottom = (foot + (rows - 1 - row) * height) / total
        left = (whole - width * columns) / 2 + column * width
        axes = figure.add_axes((left / whole, bottom, width / whole, height / total))
        axes.set_axis_off()
        grid.append(axes)
    return figure, grid


def _legend_columns(width: float) -> int:
    return max(1, min(len(_MEANINGS), int(width / _LEGEND_ENTRY)))


def _legend_rows(width: float) -> int:
    return -(-len(_MEANINGS) // _legend_columns(width))


def _legend(figure: "Figure", looks: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = []
    for look, meaning in _MEANINGS.items():
        if look in looks:
            handles.append(Patch(label=meaning, **_LOOKS[look]))
    columns = _legend_columns(figure.get_figwidth())
    figure.legend(handles=handles, loc="lower left", ncols=columns, borderaxespad=0.2)
