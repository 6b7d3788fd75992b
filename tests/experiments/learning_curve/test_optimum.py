"""The anchors and the best teams of a small lab."""

from functools import cache

import pytest
import torch

from hieramas_lib.experiments.learning_curve.curve_tables import anchor_table
from hieramas_lib.experiments.learning_curve.lab import Lab
from hieramas_lib.experiments.learning_curve.optimum import Optimum, find_optimum
from hieramas_lib.experiments.learning_curve.questions import Questions
from hieramas_lib.learning.encoder import ShippedVectors
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.teams.roles import load_roles

STRONGEST = "gpt-5-mini"


@cache
def lab() -> Lab:
    """No proposers and two graphs, so that a search takes a second."""
    whole = Questions.of("knowledge")
    questions = Questions(whole.train, whole.judge[:200], whole.search[:100], whole.unseen[:80])
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    world = World((), load_settings("hard"), pool, seed=7)
    return Lab(
        world, pool, load_roles("choice"), questions, ShippedVectors(),
        decision="llama-3.1-8b", graphs=2, width=0,
    )  # fmt: skip


@cache
def optimum() -> Optimum:
    return find_optimum(lab())


def test_a_weak_decision_is_beaten_by_all_others():
    """llama-3.1-8b decides: it is right half the time alone, others 0.7 to 0.9."""
    found = optimum()
    alone = found.anchors.decision_alone.mean
    assert alone < found.anchors.random.mean < found.best.mean
    assert found.anchors.strongest == STRONGEST
    assert alone < 0.65 < found.anchors.strongest_alone.mean
    assert found.by_subject is not None
    assert found.by_subject.mean > found.anchors.random.mean


def test_anchors_are_those_of_the_questions_that_policies_are_judged_on():
    space, trial = lab().space.actions, lab().seen
    nobody = torch.full((len(trial.column), len(lab().space.roles.roles), 1), space.skip)
    assert optimum().anchors.decision_alone == lab().results(nobody, trial).estimate()


def test_the_table_has_every_anchor_of_every_world():
    table = anchor_table({7: optimum(), 8: optimum()})
    assert len(table) == 14 and set(table["world"]) == {7, 8}
    row = table[(table["world"] == 7) & (table["what"] == f"strongest alone ({STRONGEST})")]
    strongest = optimum().anchors.strongest_alone
    assert row["utility"].item() == strongest.mean
    assert strongest.mean == pytest.approx(strongest.accuracy - 0.01 * strongest.cost)
