"""One small training of stage 1: who answers what, and what its curve is made of."""

import asyncio
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.learning_curve.match_table import match_sentence, match_table
from hieramas_lib.experiments.learning_curve.stage1_study import (
    PRIOR,
    STRONGEST,
    TRAINED,
    WAYS,
    Stage1Study,
    study_stage1,
    utility_while_training,
)
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings


@cache
def world() -> Benchmark:
    whole = open_benchmark("knowledge", seed=0, graphs=3, width=1, decision="gemma-3-27b")
    return replace(whole, train=whole.train[:24], test=whole.test[:10])


@cache
def study() -> Stage1Study:
    settings = HieraMASSettings(stage1=Stage1Settings(passes=2, batch=12, group=2))
    return asyncio.run(
        study_stage1(world(), settings, 5, strongest="gpt-5-mini", alone=["gpt-5-nano"])
    )


def test_all_ways_answer_all_test_questions() -> None:
    counts = study().records.groupby("method", sort=False)["task_id"].nunique()
    assert counts.index.tolist() == [*WAYS, "Base, gpt-5-nano"]
    assert set(counts) == {10}
    assert set(study().records["seed"]) == {5}
    kept = study().records.groupby("method")["kept_roles"].mean()
    assert kept[STRONGEST] == 0 < kept[PRIOR]


def test_the_prior_is_untrained_and_the_trace_begins_with_it() -> None:
    """Two passes of two batches: an entry before, and one after every second batch."""
    assert [entry.rollouts for entry in study().trace] == [0, 48, 96]
    first, *_, last = study().trace
    assert (first.shares != last.shares).any()
    means = study().records.groupby("method")[["kept_roles", "cost_usd"]].mean()
    kept, cost = means["kept_roles"], means["cost_usd"]
    assert cost[TRAINED] < cost[PRIOR]  # whose LLM is the dearest everywhere
    assert kept[PRIOR] == pytest.approx(float(first.kept.sum()))
    assert kept[TRAINED] == pytest.approx(float(last.kept.sum()))


def test_a_point_of_the_curve_is_the_mean_of_one_pass() -> None:
    def made(seed: int, *utilities: float) -> Any:
        steps = [SimpleNamespace(utility=u, rollouts=10 * i + 10) for i, u in enumerate(utilities)]
        return SimpleNamespace(system=SimpleNamespace(seed=seed, history=steps))

    curve = utility_while_training([made(3, 0.0, 0.2, 0.4, 0.8), made(4, 1.0, 1.0, 1.0, 1.0)], 2)
    assert curve.index.tolist() == [20, 30, 40]
    assert curve[3].tolist() == pytest.approx([0.1, 0.3, 0.6])
    assert curve[4].tolist() == [1.0, 1.0, 1.0]


def test_the_match_tells_experts_questions_and_says_where_it_does_not() -> None:
    whole = open_benchmark("knowledge", seed=0, graphs=3, width=1, decision="gemma-3-27b")
    table = match_table(whole, "hard").set_index("role")
    assert table.loc["Lawyer", "d_prime"] > 2
    assert table.loc["Critic", "questions"] == 0
    assert table["questions"].sum() == len(whole.train) + len(whole.test)
    told = match_sentence(table.reset_index())
    weak = table.index[table["d_prime"] < 1].tolist()
    assert weak and f"under 1: {', '.join(weak)}. Nothing replaces it" in told
    strong = table[table["d_prime"] >= 1].reset_index()
    assert match_sentence(strong).endswith("under 1: no role.")
