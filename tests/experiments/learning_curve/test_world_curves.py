"""The curve of a notebook in a small lab: what is trained, and what is said of it."""

from dataclasses import replace

import pytest

from hieramas_lib.experiments.learning_curve import world_curves
from hieramas_lib.experiments.learning_curve.lab import Lab, shipped_lab
from hieramas_lib.experiments.learning_curve.world_curves import (
    curve_in,
    tables_of_curves,
    way_sentences,
)


def small_lab(seed: int, *, difficulty: str, decision: str) -> Lab:
    """No proposers and two graphs, so that a search takes a second."""
    lab = shipped_lab(seed, difficulty=difficulty, decision=decision, graphs=2, width=0)
    few = lab.questions
    lab.questions = replace(
        few, judge=few.judge[:200], search=few.search[:100], unseen=few.unseen[:80]
    )
    return lab


def test_a_curve_has_every_way_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_curves, "shipped_lab", small_lab)
    curve = curve_in(7, [6, 12], group=2, difficulty="hard", decision="gemma-3-27b")
    ways = ["prior", *world_curves.CURVE_WAYS]
    assert [(p.way, p.questions) for p in curve.points] == [(w, s) for s in (6, 12) for w in ways]
    assert {p.world for p in curve.points} == {7}
    assert [p.rollouts for p in curve.points][1:4] == [12, 12, 12]  # 6 questions, group 2
    tables = tables_of_curves([curve])
    assert list(tables) == ["optimum", "learning"]
    assert len(tables["learning"]) == 8
    point = curve.points[5]
    assert way_sentences([curve])[1] == (
        f"World 7, 12 questions: {point.from_random:.0%} of the way from random to the best "
        f"constant team, {point.gain:+.3f} utility over its own prior (one training)."
    )


def test_without_worlds_there_are_no_tables() -> None:
    assert tables_of_curves([]) == {}
    assert way_sentences([]) == []
