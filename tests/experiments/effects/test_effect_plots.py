"""Effect figures show what they are given, with its intervals, and stay legible."""

from itertools import combinations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text

from hieramas_lib.experiments.effects.effect_plots import effect_curves, effect_points

WORLDS, KNOBS = ("hard world", "mmlu-like world"), ("as shipped", "no fatigue", "no recognition")


def table(column: str, levels: list[object], *, interval: bool = True) -> pd.DataFrame:
    half = 0.01 if interval else float("nan")
    rows = [
        {"panel": w, "series": k, column: x, "utility": i / 10 + j / 100,
         "utility_low": i / 10 + j / 100 - half, "utility_high": i / 10 + j / 100 + half}
        for w in WORLDS for i, k in enumerate(KNOBS) for j, x in enumerate(levels)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Return pairs of panel titles, axis labels and legend texts that overlap."""
    figure.draw_without_rendering()
    texts = [t for legend in figure.legends for t in legend.get_texts()]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
    drawn: list[Text] = [text for text in texts if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn]
    return [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if box.overlaps(other)]


def test_curves_have_a_panel_a_world_and_a_row_a_value() -> None:
    frame = table("width", [0, 1, 2]).assign(accuracy=0.5, accuracy_low=0.4, accuracy_high=0.6)
    figure = effect_curves(
        frame, "width", {"accuracy": "accuracy", "utility": "gain (points)"}, xlabel="W", scale=100
    )
    assert len(figure.axes) == 4
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == list(WORLDS)
    lower = figure.axes[2]
    assert lower.get_ylabel() == "gain (points)"
    lines = [container.lines[0] for container in lower.containers]
    assert [round(y, 6) for y in lines[1].get_ydata()] == [10, 11, 12]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(KNOBS)
    assert not overlapping(figure)


def test_series_differ_without_colour() -> None:
    figure = effect_curves(table("width", [0, 1]), "width", {"utility": "u"}, xlabel="W")
    lines = [container.lines[0] for container in figure.axes[0].containers]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == len(KNOBS)


def test_a_single_point_has_no_line() -> None:
    frame = table("edges", [0, 1])
    single = frame[(frame["edges"] == 1) & (frame["series"] == KNOBS[0])].assign(series="full")
    figure = effect_curves(pd.concat([frame, single]), "edges", {"utility": "u"}, xlabel="edges")
    styles = {c.get_label(): c.lines[0].get_linestyle() for c in figure.axes[0].containers}
    assert styles["full"] == "None"
    assert styles[KNOBS[0]] == "-"


def test_points_stand_in_their_rows_with_their_intervals() -> None:
    frame = table("row", ["chain", "star"])
    figure = effect_points(frame, "utility", xlabel="utility × 100", scale=100)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["chain", "star"]
    low, high = axes.get_ylim()
    assert low > high, "the first row is on top"
    first = axes.containers[0]
    assert [round(x, 6) for x in first.lines[0].get_xdata()] == [0, 1]
    (bars,) = first.lines[2]
    assert [[round(x, 6) for x in segment[:, 0]] for segment in bars.get_segments()] == [
        [-1, 1],
        [0, 2],
    ]
    assert not overlapping(figure)


def test_one_seed_is_drawn_without_bars() -> None:
    figure = effect_points(table("row", ["chain"], interval=False), "utility", xlabel="u")
    assert all(not container.has_xerr for container in figure.axes[0].containers)
