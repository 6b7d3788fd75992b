"""Figures of learning show the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from hieramas_lib.experiments.learning_plots import (
    ablation_bars,
    reliability_curves,
    share_areas,
    training_curves,
)


def test_areas_add_up_and_name_everything_once():
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    figure = share_areas({"p": shares, "s": shares}, [0, 10], ["a", "b", "SKIP"], xlabel="x")
    axes = figure.axes[0]
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in axes.collections]
    assert tops == pytest.approx([50, 80, 100])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "SKIP"]


def test_a_series_looks_the_same_in_every_panel():
    panels = {"one (%)": {"a": [1, 2], "b": [2, 1]}, "two": {"b": np.array([[0, 1], [2, 3]])}}
    figure = training_curves(panels, [0, 5], xlabel="x")
    first, second = figure.axes[:2]
    assert first.lines[1].get_color() == second.lines[0].get_color()
    assert second.lines[0].get_ydata().tolist() == [1, 2]  # the mean over seeds
    assert second.collections  # with a band
    assert first.get_ylabel() == "one (%)"


def test_bars_have_the_values_and_their_intervals():
    table = pd.DataFrame(
        {"variant": ["width 1", "width 6", "alpha 0"], "u": [0.01, -0.02, 0.0]}
    ).assign(u_low=[0.0, -0.03, -0.01], u_high=[0.02, -0.01, 0.01])
    figure = ablation_bars(table, {"u": ("utility × 100", 100)}, zero="full")
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1.0, -2.0, 0.0])
    assert axes.patches[0].get_facecolor() == axes.patches[1].get_facecolor()
    assert axes.patches[0].get_facecolor() != axes.patches[2].get_facecolor()
    segments = axes.collections[0].get_segments()
    assert segments[1][:, 0].tolist() == pytest.approx([-3.0, -1.0])
    assert [text.get_text() for text in axes.get_yticklabels()] == list(table["variant"])


def test_without_intervals_there_are_no_arms():
    table = pd.DataFrame({"variant": ["a 1"], "u": [0.1], "u_low": [np.nan], "u_high": [np.nan]})
    assert not ablation_bars(table, {"u": ("u", 1)}, zero="full").axes[0].collections


def test_reliability_is_in_percent():
    figure = reliability_curves({"c": [(0.6, 0.5, 0.4), (0.9, 0.8, 0.6)]})
    curve = figure.axes[0].lines[1]
    assert curve.get_xdata().tolist() == pytest.approx([60, 90])
    assert curve.get_ydata().tolist() == pytest.approx([50, 80])
