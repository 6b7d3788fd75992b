"""Methods by the names of the result tables, and all of them in one world."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.comparison import (
    FRAMEWORKS,
    PARTS,
    chosen_methods,
    compare_methods,
    planned_rows,
)
from hieramas_lib.experiments.method_table import (
    check_methods,
    families,
    fit_costed,
    make_method,
    method_names,
    settings_for,
)

LLM = "gpt-5-mini"


@pytest.fixture(scope="module")
def world() -> Benchmark:
    opened = open_benchmark("maths", seed=0, graphs=4, width=1, decision="gemma-3-27b")
    return replace(opened, train=opened.train[:6], val=opened.val[:3], test=opened.test[:4])


def test_the_table_has_every_method_of_the_papers_in_order():
    names = method_names()
    assert names[:4] == ("Base", "CoT", "SC", "SC + CoT")
    assert names[-1] == "HieraMAS"
    order = ["LLM-Debate", "Full-Graph", "GDesigner", "AFlow", "MASRouter", "Agent Q-Mix"]
    assert sorted(order, key=names.index) == order
    assert len(names) == 24
    assert set(families()) == set(names)
    assert set(method_names(learning=True)) | set(method_names(learning=False)) == set(names)


@pytest.mark.parametrize("name", method_names())
def test_every_name_makes_a_method_of_that_name_in_every_size(name: str, world: Benchmark):
    for effort in ("tiny", "quick", "full"):
        method = make_method(name, world, seed=0, llm=LLM, effort=effort)
        assert method.name == name


def test_given_settings_win(world: Benchmark):
    settings = replace(settings_for("SC", world, llm=LLM), samples=2)
    method = make_method("SC", world, seed=0, llm=LLM, settings=settings)
    rollout = asyncio.run(method.answer(world.test[0]))
    assert len(rollout.calls) == 2


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["SC", "Sc"], "methods: 'Sc' is not one of Base, CoT"),
        (["SC", "SC"], "methods: one is named twice"),
        ([], "methods: give at least one"),
    ],
)
def test_bad_names_are_refused(names: list[str], message: str, world: Benchmark):
    with pytest.raises(ConfigError, match=message):
        check_methods(names)
    with pytest.raises(ConfigError, match=message):
        chosen_methods(names, world.llms.pool)


def test_an_unknown_size_is_refused(world: Benchmark):
    with pytest.raises(ConfigError, match="effort: 'huge' is not one of tiny, quick, full"):
        settings_for("SC", world, llm=LLM, effort="huge")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["CoT", "LLM-Debate", "MoA", "Shape: chain", "Agent Q-Mix"])
def test_an_unknown_llm_is_refused_before_any_call(name: str, world: Benchmark):
    with pytest.raises(ConfigError, match="no LLM 'gpt-5-mimi' in pool"):
        make_method(name, world, seed=0, llm="gpt-5-mimi")


def test_ours_is_always_among_the_chosen(world: Benchmark):
    pool = world.llms.pool
    assert chosen_methods(["CoT", "Base"], pool) == ("Base", "CoT", "HieraMAS")
    assert chosen_methods(["all"], pool) == method_names()
    pytest.importorskip("langgraph")
    assert chosen_methods(["GTD", "LangGraph"], pool) == ("LangGraph", "GTD", "HieraMAS")


def test_methods_that_count_money_need_prices(world: Benchmark):
    pool = world.llms.pool
    specs = (*pool.llms[:-1], pool.llms[-1].model_copy(update={"price": None}))
    unpriced = pool.model_copy(update={"llms": specs})
    with pytest.raises(ConfigError, match="methods: Base, equal budget and AFlow need the price"):
        chosen_methods(["all"], unpriced)
    assert chosen_methods(["CoT"], unpriced) == ("CoT", "HieraMAS")


def test_training_is_costed_from_the_ledger(world: Benchmark):
    method = make_method("GDesigner", world, seed=0, llm=LLM, effort="tiny")
    before = world.llms.usage
    row = asyncio.run(fit_costed(method, world, seed=0))
    after = world.llms.usage
    # one pass over 6 questions, two rollouts each, three agents and the decision
    assert row["calls"] == after.calls - before.calls == 6 * 2 * 4
    assert row["cost_usd"] == pytest.approx(after.as_if_usd - before.as_if_usd)
    assert row["cost_reference"] == pytest.approx(row["cost_usd"] / world.reference_cost)
    assert (row["method"], row["train_tasks"], row["unpriced"]) == ("GDesigner", 6, 0)


def test_all_in_one_world_are_asked_the_same(world: Benchmark):
    names = ("Base", "Base, equal budget", "Random-Graph", "GTD", "HieraMAS")
    found = asyncio.run(compare_methods(names, world, world.test, seed=0, llm=LLM, effort="tiny"))
    records = found.records
    assert list(dict.fromkeys(records["method"])) == [*names, *PARTS]
    assert len(records) == planned_rows(names, len(world.test)) == 4 * (5 + 4 + 2)
    draws = records[records["method"] == "Random-Graph"]
    assert len(draws) == 3 * len(world.test)
    asked = records.groupby("method")["task_id"].agg(set)
    assert all(ids == {task.id for task in world.test} for ids in asked)
    assert found.training["method"].tolist() == ["Base, equal budget", "GTD", "HieraMAS"]
    assert (found.training["calls"] > 0).all()
    costs = records.groupby("method")["cost_reference"].mean()
    base, ours = costs["Base"], costs["HieraMAS"]
    assert costs["Base, equal budget"] <= max(base, 1.5 * ours)


def test_a_comparison_without_ours_is_refused(world: Benchmark):
    with pytest.raises(ConfigError, match="HieraMAS has to be among them"):
        asyncio.run(compare_methods(["Base"], world, world.test, seed=0, llm=LLM))


@pytest.mark.slow
def test_frameworks_are_asked_the_same_too(world: Benchmark):
    pytest.importorskip("langgraph")
    pytest.importorskip("autogen_agentchat")
    names = (*FRAMEWORKS, "HieraMAS")
    found = asyncio.run(compare_methods(names, world, world.test, seed=0, llm=LLM, effort="tiny"))
    assert len(found.records) == planned_rows(names, len(world.test))
    assert set(FRAMEWORKS) < set(found.records["method"])


def test_no_method_is_imported_before_it_is_asked_for():
    code = (
        "import sys, hieramas_lib.experiments.method_table\n"
        "print([m for m in ('gdesigner', 'masrouter', 'aflow', 'agent_qmix', 'debate')"
        " if f'hieramas_lib.methods.{m}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
