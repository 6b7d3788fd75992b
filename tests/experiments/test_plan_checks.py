"""What a notebook opens, and the checks before anything is trained or paid for."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import check_plan, open_benchmark
from hieramas_lib.methods.fixed import decision_alone


def plan(
    *,
    pool: str = "simulated",
    benchmarks: Sequence[str] = ("maths",),
    seeds: Sequence[int] = (0,),
    llms: Mapping[str, str] | None = None,
    at_least_one: Mapping[str, int] | None = None,
) -> None:
    check_plan(
        pool=pool,
        benchmarks=benchmarks,
        seeds=seeds,
        llms=llms or {"decision": "gpt-5-mini"},
        at_least_one=at_least_one or {"width": 2},
    )


def test_a_sound_plan_passes():
    plan()
    plan(pool="data/pools/local.yaml", llms={"decision": "smollm2-chat"})
    plan(pool="simulated:data/pools/qwen.yaml", llms={"decision": "qwen3-8b"})


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"benchmarks": ["maths", "mmlu"]}, "benchmark: 'mmlu' is not one of knowledge"),
        ({"benchmarks": []}, "benchmarks: give at least one"),
        ({"seeds": []}, "seeds: give at least one"),
        ({"llms": {"strongest": "gpt-6"}}, "strongest: 'gpt-6' is not in pool simulated; it has"),
        ({"pool": "data/pools/local.yaml"}, "decision: 'gpt-5-mini' is not in pool"),
        ({"pool": "nowhere.yaml"}, "nowhere.yaml: no such pool file"),
        ({"pool": "simulated:nowhere.yaml"}, "nowhere.yaml: no such pool file"),
        ({"pool": "simulated:data/pools/qwen.yaml"}, "decision: 'gpt-5-mini' is not in pool"),
        ({"at_least_one": {"width": 0}}, "width: at least 1, got 0"),
    ],
)
def test_each_fault_names_the_parameter(fault: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        plan(**fault)  # type: ignore[arg-type]


def test_paid_llms_need_a_budget(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "not-a-key")
    with pytest.raises(ConfigError, match="budget_usd: gpt-5-mini"):
        open_benchmark(
            "maths", pool="data/llm_pool.yaml", seed=0, graphs=3, width=1, decision="gpt-5-mini"
        )


def test_simulated_benchmark_holds_splits_space_and_llms():
    bench = open_benchmark("maths", seed=0, graphs=3, width=1, decision="gpt-5-mini")
    assert {task.benchmark for task in (*bench.train, *bench.val, *bench.test)} == {"maths"}
    assert len(bench.space.graphs) == 3
    assert bench.space.actions.llms == bench.llms.pool.names
    assert bench.reference_cost == pytest.approx(0.001)


def test_the_twin_of_a_pool_file_answers() -> None:
    opened = open_benchmark(
        "maths",
        pool="simulated:data/pools/anthropic.yaml",
        seed=0,
        graphs=3,
        width=1,
        decision="claude-haiku-5.5",
    )
    assert {spec.client for spec in opened.llms.pool.llms} == {"simulated"}
    method = decision_alone(opened.space, opened.llms)
    rollout = asyncio.run(method.answer(opened.test[0]))
    assert rollout.grade.status in ("correct", "wrong", "unparsed", "empty")
    assert rollout.usage.cost_usd > 0
