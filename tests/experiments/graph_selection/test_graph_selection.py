"""Regret of ways to choose a graph: tables small enough to work out by hand, and one tiny world."""

import numpy as np
import pytest
import torch

from hieramas_lib.experiments.graph_selection.holistic import additive_regret, growth_rows
from hieramas_lib.experiments.graph_selection.optimum import optimum
from hieramas_lib.experiments.graph_selection.quality import measure_quality
from hieramas_lib.experiments.graph_selection.selection import (
    SELECTORS,
    TRUE_FIXED,
    LabelPlan,
    regret_rows,
)
from hieramas_lib.experiments.graph_selection.worlds import (
    SETTINGS,
    Questions,
    draw_labels,
    shipped_world,
)
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

A, B = (0, 1), (1, 2)
SQUARE = GraphPool(3, (Topology(3), Topology(3, (A,)), Topology(3, (B,)), Topology(3, (A, B))))


def questions(utility: np.ndarray, subjects: list[str], originals: int = 1) -> Questions:
    features = Features(
        query=(torch.arange(len(subjects)) % originals).float()[:, None],
        role=torch.zeros(3, 1),
        match=torch.zeros(len(subjects), 3),
    )
    return Questions(
        features, originals, np.array(subjects), (utility > 0.5).astype(float), utility
    )


def test_copies_look_like_their_originals():
    """Three copies of 100 questions: the learner sees each original's vectors three times."""
    world = shipped_world(SETTINGS[0], "all", seed=100, graphs=2)
    seen = world.testing(3).seen
    assert seen.query.shape[0] == 300
    for part in (seen.query, seen.match):
        assert torch.equal(part[:100], part[100:200]) and torch.equal(part[:100], part[200:])
    assert len(seen.query[:100].unique(dim=0)) == 100


def test_utility_of_a_choice_for_originals():
    """Question 2 is a copy of question 0, so it gets the same graph."""
    some = questions(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.9]]), ["s"] * 3, originals=2)
    assert some.utility_of(np.array([1, 0])) == pytest.approx((0.2 + 0.3 + 0.9) / 3)


def test_labels_are_what_was_run():
    utility = np.arange(24, dtype=float).reshape(4, 6)
    labels = draw_labels(questions(utility, ["s"] * 4), 3, 2, 5, seed=0)
    assert labels.graphs.shape == (3, 2)
    assert labels.graphs.max() < 5  # the sixth graph is not of the pool
    for row, graphs in enumerate(labels.graphs.tolist()):
        assert len(set(graphs)) == 2
        assert labels.utility[row].tolist() == [utility[row, graph] for graph in graphs]


def test_optimum_by_hand():
    """Law wants graph 0, medicine graph 1; graph 1 is better on average; graph 2 is not in."""
    utility = np.array([[0.6, 0.5, 1.0]] * 4 + [[0.0, 0.8, 1.0]] * 4)
    best = optimum(questions(utility, ["law"] * 4 + ["medicine"] * 4), graphs=2)
    assert best.by_subject.tolist() == [0.6] * 4 + [0.8] * 4
    assert best.fixed.tolist() == [0.5] * 4 + [0.8] * 4


def test_luck_does_not_count_as_the_optimum():
    """All graphs are equal up to noise: the best of many must not look better than the rest."""
    noise = np.random.default_rng(0).normal(size=(2000, 50))
    best = optimum(questions(noise, ["s"] * 2000), graphs=50)
    assert abs(best.by_subject.mean()) < 3 * noise.std() / np.sqrt(2000)
    assert noise.mean(axis=0).max() > 2 / np.sqrt(2000)  # in hindsight it does


def test_additive_regret_by_hand():
    """Each edge alone gains 0.6, both together 0.5: adding up, they look best together."""
    assert additive_regret(np.array([0.0, 0.6, 0.6, 0.5]), SQUARE) == pytest.approx(0.1)
    assert additive_regret(np.array([0.0, 0.3, 0.2, 0.5]), SQUARE) == pytest.approx(0.0)


def test_edges_stay_wrong_and_whole_graphs_do_not():
    """The claim on the square above, noise included: labels do not help those who add up edges."""
    worth = np.array([0.0, 0.6, 0.6, 0.5])
    runs = worth + np.random.default_rng(0).normal(scale=0.3, size=(3000, 4))
    rows = growth_rows(questions(runs, ["s"] * 3000), worth, SQUARE, (3000,), each=2, seed=0)
    regret = {row["choice"]: row["regret"] for row in rows}
    assert regret["whole graphs"] == 0
    assert regret["edges, regressed"] == pytest.approx(0.1)
    assert {row["labels"] for row in rows} == {6000}


def test_a_tiny_world_from_end_to_end():
    world = shipped_world(SETTINGS[-1], "all", seed=100, graphs=6)
    plan = LabelPlan(budgets=(8,), each=3, seeds=1)
    rows = regret_rows(world, plan, test_copies=2)
    learned = [row["selector"] for row in rows if row["queries"] == 8]
    assert learned == list(SELECTORS)
    top = next(row["utility"] for row in rows if row["selector"] == "best for each subject")
    for row in rows:
        assert row["regret"] == pytest.approx(top - row["utility"])
    assert TRUE_FIXED in {row["selector"] for row in rows}


def test_knobs_of_a_setting_reach_the_world():
    """Without role fit nobody is an expert: the experts' messages are right as often anywhere."""
    plain, fitted = SETTINGS[0], SETTINGS[1]
    means = []
    for setting in (plain, fitted):
        test = shipped_world(setting, "sinks", seed=100, graphs=3).testing(1)
        means.append(test.utility)
    assert not np.array_equal(*means)
    assert test.utility.shape == (100, 4)  # the full graph is behind the pool's


def test_quality_of_a_classifier_on_a_tiny_world():
    world = shipped_world(SETTINGS[-1], "all", seed=100, graphs=8)
    found = measure_quality(world, 72, Stage2Settings(), test_copies=2, seed=0)
    assert 0.4 < found.auc < 1
    assert found.error_fitted < 0.15
    for curve in (found.curve, found.curve_fitted):
        assert sum(part.share for part in curve) == pytest.approx(1)
