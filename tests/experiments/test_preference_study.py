"""One small study: whose answers, whose choices, and in which world."""

import asyncio
from dataclasses import replace

import pytest

from hieramas_lib.experiments.preference_study import (
    BEST,
    CONSTANT,
    TRAINED,
    join_studies,
    study_preferences,
)
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import Run, start_run
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings

PARAMETERS = {
    "pool": "simulated", "budget_usd": 0.0, "difficulty": "hard", "graphs": 3, "width": 1,
    "decision": "gemma-3-27b",
}  # fmt: skip


@pytest.fixture
def run() -> Run:
    return start_run("study", PARAMETERS)


def test_a_world_is_opened_as_the_run_says_and_its_calls_are_the_runs(run: Run) -> None:
    world = open_for(run, "maths", 7)
    assert world.space.decision == "gemma-3-27b"
    assert world.space.actions.width == 1
    assert len(world.space.graphs) == 3
    assert world.llms.world is not None
    assert world.llms.world.seed == 7
    assert world.llms.store.experiment == "study"


def test_a_study_has_choices_answers_and_what_the_search_found(run: Run) -> None:
    small = HieraMASSettings(stage1=Stage1Settings(passes=1, batch=12, group=2))
    world = open_for(run, "maths", 0)
    world = replace(world, train=world.train[:12], val=(), test=world.test[:10])
    study = asyncio.run(study_preferences(world, small, 0))
    assert len(study.choices) == len(world.test) * 3 * 2
    assert len(study.logits) == 2 * len(world.llms.pool.names)
    assert study.answers["method"].unique().tolist() == [TRAINED, CONSTANT, BEST]
    assert len(study.answers) == 3 * len(world.test)
    assert set(study.best["llm"]) <= set(world.llms.pool.names)
    both = join_studies([study, study])
    for frame in (both.choices, both.logits, both.answers):
        assert set(frame["seed"]) == {0}
        assert set(frame["benchmark"]) == {"maths"}
    assert set(both.best["benchmark"]) <= {"maths"}  # empty if the decision alone is best
    assert len(both.logits) == 2 * len(study.logits)
