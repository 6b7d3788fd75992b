"""What the plots show is what they are given; texts do not lie on one another."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from hieramas_lib.experiments import plots


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Return the pairs of drawn texts whose boxes overlap by more than a point."""
    figure.draw_without_rendering()
    unseen = unseen_tick_labels(figure)
    texts = [t for t in figure.findobj(Text) if t.get_text().strip() and t not in unseen]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts if t.get_rotation() % 90 == 0]
    return [
        (a, b)
        for (a, box), (b, other) in combinations(boxes, 2)
        if min(box.x1, other.x1) - max(box.x0, other.x0) > 1.5
        and min(box.y1, other.y1) - max(box.y0, other.y0) > 1.5
    ]


def unseen_tick_labels(figure: Figure) -> set[Text]:
    """Return labels of ticks outside the view, which exist but are not drawn."""
    found = set()
    for axis in [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
        found |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    return found


def table() -> pd.DataFrame:
    rows = [
        {"method": method, "benchmark": benchmark, "accuracy": 0.5 + 0.05 * i,
         "accuracy_low": 0.4 + 0.05 * i, "accuracy_high": 0.6 + 0.05 * i,
         "cost_usd": 10.0 ** (i - 5), "utility": 0.5 + 0.05 * i,
         "utility_low": 0.45 + 0.05 * i, "utility_high": 0.55 + 0.05 * i}
        for benchmark in ("knowledge", "maths", "humaneval")
        for i, method in enumerate(("Base", "CoT", "SC", "HieraMAS"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_learning_curve_is_the_mean_with_the_range_of_seeds() -> None:
    values = np.array([[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]])
    figure = plots.learning_curve(
        {"policy": values}, [1, 2, 3], xlabel="rollouts", ylabel="utility", levels={"alone": 2.5}
    )
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata().tolist() == [1, 2, 3]
    band = axes.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (0, 4)
    assert axes.lines[1].get_ydata() == [2.5, 2.5]
    assert not overlaps(figure)


def test_legend_of_learning_curve_leaves_the_axes_their_width() -> None:
    names = ["policy, sampled", "policy, greedy", "strongest LLM alone, CoT"]
    curves = {name: [0, 1] for name in names[:2]}
    figure = plots.learning_curve(curves, [1, 2], xlabel="x", ylabel="y", levels={names[2]: 1.0})
    assert not overlaps(figure)
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_position().width > 0.8
    box, whole = legend.get_window_extent(), figure.bbox
    assert box.y0 >= axes.get_window_extent().y1
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1


def test_heatmap_prints_percent_and_leaves_zero_blank() -> None:
    shares = pd.DataFrame(
        [[0.75, 0.25], [1.0, 0.0]], index=["Critic · proposer 1", "Critic · synthesizer"],
        columns=["gpt-5-mini", "skip"],
    )  # fmt: skip
    assert plots.selection_heatmap(shares, of="seats").axes[1].get_ylabel() == "share of seats (%)"
    figure = plots.selection_heatmap(shares)
    assert figure.axes[1].get_ylabel() == "share of tasks (%)"
    assert [text.get_text() for text in figure.axes[0].texts] == ["75", "25", "100"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(shares.index)
    assert not overlaps(figure)


def test_density_histogram_shows_every_graph_of_each_group() -> None:
    figure = plots.density_histogram({"ours": [0.2, 0.2, 0.4], "uniform": [0.3, 0.5]})
    heights = [patch.get_xy()[:, 1].max() for patch in figure.axes[0].patches]
    assert heights == pytest.approx([200 / 3, 50])
    assert "n = 3, mean 0.27" in figure.axes[0].get_legend().get_texts()[0].get_text()
    assert not overlaps(figure)


def test_jaccard_matrix_prints_its_numbers() -> None:
    figure = plots.jaccard_matrix([[1, 0.25], [0.25, 1]], ["graph 1", "graph 2"])
    assert [t.get_text() for t in figure.axes[0].texts] == ["1.00", "0.25", "0.25", "1.00"]
    assert not overlaps(figure)


def test_cost_accuracy_has_a_panel_a_benchmark_and_one_legend() -> None:
    figure = plots.cost_accuracy(table())
    assert [axes.get_title("left") for axes in figure.axes] == ["knowledge", "maths", "humaneval"]
    assert all(axes.get_xscale() == "log" for axes in figure.axes)
    assert figure.axes[0].containers[0].lines[0].get_xdata().tolist() == [0.01]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Base", "CoT", "SC", "HieraMAS"]
    assert not overlaps(figure)


@pytest.mark.parametrize(
    ("costs", "labels"),
    [
        ([0.0, 1e-4, 1e-3, 1e-2], ["0", "0.1", "0.3", "1", "3", "10"]),
        ([0.0, 0.0, 0.0, 0.003], ["0", "3"]),
        ([0.0, 4e-7, 1e-4, 0.02], ["0", "0.01", "1"]),
        ([0.0, 0.0, 0.0, 0.0], ["0"]),
    ],
)
def test_free_methods_stand_at_a_tick_of_their_own(costs: list[float], labels: list[str]) -> None:
    figure = plots.cost_accuracy(table().assign(cost_usd=costs * 3))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    xs = [container.lines[0].get_xdata()[0] for container in axes.containers]
    assert xs == [1000 * cost for cost in costs]
    low, high = axes.get_xlim()
    assert low < 0 < max(xs) + 0.1 and max(xs) < high
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    assert [label.get_text() for at, label in ticks if low <= at <= high] == labels
    places = axes.transData.transform([(x, 0) for x in sorted(set(xs))])[:, 0]
    assert all(np.diff(places) > 8), "points of different cost lie on one another"
    assert not overlaps(figure)


def test_anchors_are_sorted_with_the_best_on_top() -> None:
    rows = table().query("benchmark == 'maths'")
    figure = plots.anchors(rows.iloc[[2, 0, 3, 1]])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["Base", "CoT", "SC", "HieraMAS"]
    assert [text.get_text() for text in figure.axes[0].texts][-1] == "0.650"
    assert not overlaps(figure)


def test_methods_of_a_group_look_alike_and_a_line_joins_the_cheapest() -> None:
    groups = {"Base": "prompts", "CoT": "prompts", "SC": "prompts", "HieraMAS": "learned"}
    figure = plots.cost_accuracy(table(), groups)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["prompts", "learned"]
    axes = figure.axes[0]
    colours = [container.lines[0].get_color() for container in axes.containers]
    assert colours[0] == colours[1] == colours[2] != colours[3]
    (line,) = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert (np.diff(line.get_xdata()) > 0).all()
    assert (np.diff(line.get_ydata()) > 0).all()
    assert not overlaps(figure)
