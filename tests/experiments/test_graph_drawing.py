"""Drawn graphs: every edge once, from its source to its reader, through no other role."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import graph_drawing as subject
from hieramas_lib.experiments.figures import PAGE
from hieramas_lib.teams.topology import Topology

NAMES = ["Knowledgeable Expert", "Critic", "Mathematician", "Doctor", "Lawyer"]
DIAMOND = Topology(5, ((0, 1), (0, 2), (1, 3), (2, 3), (0, 3)))


def test_every_edge_is_one_arrow_between_its_roles() -> None:
    (axes,) = subject.draw_topology(DIAMOND, NAMES, title="diamond").axes
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 5
    centres = subject._lay_out("", DIAMOND, (), PAGE).centres
    ends = {(tuple(a._posA_posB[0]), tuple(a._posA_posB[1])) for a in arrows}
    assert ends == {(tuple(centres[u]), tuple(centres[v])) for u, v in DIAMOND.edges}


def test_roles_are_named_and_told_apart() -> None:
    figure = subject.draw_topology(DIAMOND, NAMES, title="diamond")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [
        "diamond",
        "Knowledgeable\nExpert",
        "Critic",
        "Mathematician",
        "Doctor",
        "Lawyer",
    ]
    looks = subject._lay_out("", DIAMOND, (), PAGE).looks
    assert looks == ("source", "between", "between", "sink", "source")


def test_pruned_role_stays_without_edges() -> None:
    drawing = subject._lay_out("", DIAMOND, (1,), PAGE)
    assert drawing.looks[1] == "pruned"
    assert set(drawing.bends) == {(0, 2), (2, 3), (0, 3)}


def boxes_and_arrows(figure: Figure) -> tuple[list[FancyBboxPatch], list[FancyArrowPatch]]:
    patches = figure.axes[0].patches
    boxes = [patch for patch in patches if isinstance(patch, FancyBboxPatch)]
    return boxes, [patch for patch in patches if isinstance(patch, FancyArrowPatch)]


def test_pruned_roles_are_named_by_their_labels_and_look_pruned() -> None:
    figure = subject.draw_topology(DIAMOND, NAMES, pruned=["Critic", "Lawyer"])
    boxes, arrows = boxes_and_arrows(figure)
    assert [box.get_linestyle() for box in boxes] == ["solid", "--", "solid", "solid", "--"]
    greys = [i for i, box in enumerate(boxes) if to_hex(box.get_facecolor()) == "#eeeeee"]
    assert greys == [1, 4]
    assert len(arrows) == 3
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-1] == "pruned: does not act"


@pytest.mark.parametrize("pruned", [["critic"], [1], "Critic"])
def test_unknown_pruned_role_is_refused(pruned: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"no role .*; there are Knowledgeable Expert, Critic"):
        subject.draw_topology(DIAMOND, NAMES, pruned=pruned)


@pytest.mark.parametrize("dpi", [72, 110, 200])
def test_arrows_end_at_their_boxes_at_any_resolution(dpi: int) -> None:
    figure = subject.draw_topology(DIAMOND, NAMES, title="diamond")
    figure.draw_without_rendering()
    figure.set_dpi(dpi)  # as a notebook does, which draws once more
    figure.draw_without_rendering()
    boxes, arrows = boxes_and_arrows(figure)
    for (u, v), arrow in zip(DIAMOND.edges, arrows, strict=True):
        line = arrow.get_transform().transform_path(arrow.get_path()).vertices
        drawn = [tuple(point / dpi) for point in line]
        for node in (u, v):
            low, high = boxes[node].get_window_extent().get_points() / dpi
            gaps = [np.hypot(*np.maximum(0, np.maximum(low - p, p - high))) for p in drawn]
            assert min(gaps) < 0.06, "inches between an arrow and its box"


def test_texts_fit_their_boxes() -> None:
    figure = subject.draw_topology(DIAMOND, NAMES)
    figure.draw_without_rendering()
    boxes, _ = boxes_and_arrows(figure)
    for box, text in zip(boxes, figure.axes[0].texts[1:], strict=True):
        outer, inner = box.get_window_extent(), text.get_window_extent().padded(0.03 * figure.dpi)
        assert outer.x0 < inner.x0 < inner.x1 < outer.x1
        assert outer.y0 < inner.y0 < inner.y1 < outer.y1


@given(st.integers(2, 8), st.data())
@settings(max_examples=60, deadline=None)
def test_layout_of_any_graph_fits_a_page_and_boxes_are_apart(n: int, data: st.DataObject) -> None:
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    drawing = subject._lay_out("", Topology(n, tuple(edges)), (), PAGE - 0.3)
    low, high = drawing.extent
    assert high[0] - low[0] <= PAGE
    gaps = np.abs(drawing.centres[:, None] - drawing.centres[None]) >= subject._BOX - 1e-9
    assert (gaps.any(axis=2) | np.eye(n, dtype=bool)).all()
    assert all(drawing.centres[u, 0] < drawing.centres[v, 0] for u, v in edges)


def test_arrow_over_a_role_bends_around_it() -> None:
    full = Topology(3, ((0, 1), (1, 2), (0, 2)))
    drawing = subject._lay_out("", full, (), PAGE)
    assert drawing.bends[0, 1] == drawing.bends[1, 2] == 0
    curve = subject._curve(drawing.centres[0], drawing.centres[2], drawing.bends[0, 2])
    inside = (np.abs(curve - drawing.centres[1]) < subject._BOX / 2).all(axis=1)
    assert not inside.any()


@pytest.mark.parametrize("size", [2, 5, 8])
@pytest.mark.parametrize("columns", [1, 2])
def test_long_chains_fit_by_going_up_and_down(size: int, columns: int) -> None:
    chain = Topology(size, tuple((i, i + 1) for i in range(size - 1)))
    drawing = subject._lay_out("", chain, (), PAGE / columns - 0.3)
    low, high = drawing.extent
    assert high[0] - low[0] <= PAGE / columns
    gaps = np.abs(drawing.centres[:, None] - drawing.centres[None]) >= subject._BOX
    assert (gaps.any(axis=2) | np.eye(size, dtype=bool)).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_panels_are_as_wide_as_a_page_at_most(columns: int) -> None:
    chain = Topology(5, ((0, 1), (1, 2), (2, 3), (3, 4)))
    figure = subject.draw_topologies({"a": chain, "b": DIAMOND}, NAMES, columns=columns)
    assert len(figure.axes) == 2
    assert figure.get_figwidth() <= PAGE + 1e-6
