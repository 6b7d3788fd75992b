"""Measurements of supernodes carry the labels of their world, and tables what they say."""

import pandas as pd
import pytest

from hieramas_lib.experiments.effects.supernode_study import (
    ALL_EXPERTS,
    WorldPlan,
    copied_proposers,
    effects_table,
    expert_table,
    lone_experts,
    mixed_proposers,
    plan_worlds,
    search_table,
    searched_supernodes,
    seat_shares,
    trios_by_company,
    without_crews,
)
from hieramas_lib.experiments.effects.supernodes import (
    NEUTRAL,
    neutral_roles,
    open_world,
    supernode_results,
)
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.oracle.questions import halves
from hieramas_lib.teams.supernode import SKIP, Supernode

POOL = load_pool(data_path("llm_pool.yaml")).simulated()
# One question in seven, so that all subjects are there.
PLAN = WorldPlan("hard", 950, tuple(load_tasks("knowledge")[::7]), POOL, 1)
SMALL = WorldPlan("hard", 950, PLAN.tasks, POOL.model_copy(update={"llms": POOL.llms[:3]}), 1)
READING = ["as shipped", "no fatigue", "no persuasion", "no recognition"]


def test_worlds_are_planned_by_difficulty_and_seed_on_the_same_questions() -> None:
    plans = plan_worlds(["hard", "mmlu-like"], [3, 4], versions=1, draws=2)
    places = [(plan.difficulty, plan.seed) for plan in plans]
    assert places == [("hard", 3), ("hard", 4), ("mmlu-like", 3), ("mmlu-like", 4)]
    assert {len(plan.tasks) for plan in plans} == {2 * len(load_tasks("knowledge"))}
    assert {plan.draws for plan in plans} == {2}
    assert plans[2].settings.name != plans[0].settings.name


def test_rows_carry_their_world() -> None:
    frame = PLAN.frame({"as shipped": [{"width": 0}, {"width": 1}], "no fit": [{"width": 0}]})
    assert list(frame) == ["panel", "series", "seed", "width"]
    assert frame["series"].tolist() == ["as shipped", "as shipped", "no fit"]
    assert set(frame["panel"]) == {"hard world"}
    assert set(frame["seed"]) == {950}


def test_without_proposers_there_is_nothing_to_read_and_no_knob_matters() -> None:
    for frame in (
        mixed_proposers(PLAN, "gemma-3-27b"),
        copied_proposers(PLAN, "gpt-4o-mini", "gpt-5-mini"),
    ):
        assert list(dict.fromkeys(frame["series"])) == [*READING, "no recognition, no persuasion"]
        for _, rows in frame.groupby("series"):
            assert rows["width"].tolist() == list(range(len(POOL.names) + 1))
        alone = frame[frame["width"] == 0]
        assert alone["accuracy"].nunique() == 1
        full = frame[frame["width"] == len(POOL.names)]
        assert full["accuracy"].nunique() > 1


def test_trios_cost_the_same_in_every_kind_of_world() -> None:
    frame = trios_by_company(PLAN, "gemma-3-27b")
    assert len(frame) == 5 * 3
    for _, rows in frame.groupby("series"):
        assert rows["cost_reference"].max() < 1.02 * rows["cost_reference"].min()


def test_experts_have_a_row_for_each_place_and_their_mean_comes_first() -> None:
    frame = lone_experts(PLAN, "gemma-3-27b", "gemma-3-27b")
    assert len(frame) == 2 * 6 * 2
    assert set(frame["place"]) == {
        f"{place} subjects, {knobs}"
        for place in ("own", "other")
        for knobs in ("as shipped", "no fit")
    }
    table = expert_table(frame)
    assert table["role"].iloc[0] == ALL_EXPERTS
    mean = table[table["role"] == ALL_EXPERTS].set_index("place")["utility_gain"]
    for place, rows in frame.groupby("place"):
        assert mean[place] == pytest.approx(rows["utility_gain"].mean())


def test_the_best_supernode_is_judged_on_the_other_half() -> None:
    frame = searched_supernodes(SMALL, 1)
    assert frame["series"].tolist() == ["at most 0", "at most 1"]
    assert all(proposer == SKIP for proposer in frame["proposers"][0])
    _, check = halves(SMALL.tasks, 0)
    world = open_world(SMALL.settings, SMALL.pool, neutral_roles("choice"), check, 950, draws=1)
    row = frame.iloc[1]
    node = Supernode(NEUTRAL, row["proposers"], row["synthesizer"])
    assert row["utility"] == pytest.approx(supernode_results(world, node).utility.mean())
    assert list(without_crews(frame)) == [
        "panel", "series", "seed", "accuracy", "utility", "cost_reference",
    ]  # fmt: skip


def searched() -> pd.DataFrame:
    rows = [
        ("at most 0", 0, 0.5, "a", ()),
        ("at most 0", 1, 0.7, "a", ()),
        ("at most 2", 0, 0.6, "a", ("a", "b")),
        ("at most 2", 1, 0.9, "b", ("a", SKIP)),
    ]
    names = ["series", "seed", "utility", "synthesizer", "proposers"]
    frame = pd.DataFrame(rows, columns=names).assign(panel="hard world")
    return frame.assign(accuracy=frame["utility"], cost_reference=1.0)


def test_gain_of_the_search_is_over_the_best_single_llm() -> None:
    table = search_table(searched())
    assert table["proposers"].tolist() == ["at most 0", "at most 2"]
    assert table["gain"].tolist() == pytest.approx([0, 0.15])
    assert table["utility"].tolist() == pytest.approx([0.6, 0.75])


def test_seats_are_counted_in_the_largest_supernode_only() -> None:
    table = seat_shares(searched(), ["a", "b", "c"], 2)
    assert table.index.tolist() == ["hard · proposers", "hard · synthesizer"]
    assert table.columns.tolist() == ["a", "b", "c", SKIP]
    assert table.loc["hard · proposers"].tolist() == [0.5, 0.25, 0, 0.25]
    assert table.loc["hard · synthesizer"].tolist() == [0.5, 0.5, 0, 0]


def test_effects_are_told_apart_by_name_and_level() -> None:
    numbers = {f"{v}{e}": 0.1 for v in ("accuracy", "utility") for e in ("", "_low", "_high")}
    row = pd.DataFrame([{"panel": "hard world", "series": "as shipped", "seeds": 2} | numbers])
    table = effects_table(row.assign(width=1), row.assign(width=2), row.assign(company="trio"))
    assert table["effect"].tolist() == ["mixed proposers", "copies", "company"]
    assert table["level"].tolist() == [1, 2, "trio"]
    assert list(table)[:4] == ["effect", "world", "knobs", "level"]
    assert "seeds" not in table
