"""One limit over all runs: what is spent is read from the stores, and nobody starts beyond it."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acting import ActingWorkers, act

from hieramas_lib.experiments.execution.kernel import NotebookFailed, Outcome
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.experiments.execution.spending import Spending
from hieramas_lib.experiments.execution.sweep import Sweep, run_sweep
from hieramas_lib.experiments.pool_choice import ALLOTTED, allotted_usd
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import Completion


@pytest.fixture
def plans(tiny: Path, results: Path) -> list[Plan]:
    """Four runs that may spend a dollar each."""
    values = {"budget_usd": 1.0}
    return [Plan(tiny, values, values, results / "90_tiny" / f"run{i}") for i in range(4)]


def pay(path: Path, usd: float, experiment: str = "90_tiny", **fields: Any) -> None:
    """Write a call that was paid."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = CallStore(path, experiment=experiment)
    completion = Completion("x", "stop", 10, 5, usd, 0.1, False, str(time.time()))
    store.put(
        completion, **({"name": "a", "client": "openai", "model": "a", "paid": True} | fields),
        request="{}",
    )  # fmt: skip
    store.close()


def test_only_the_sweeps_own_paid_calls_since_its_start_count(
    plans: list[Plan], results: Path
) -> None:
    store = results / "calls.sqlite"
    pay(store, 0.5)
    time.sleep(0.01)
    spending = Spending("s", "90_tiny", [None], 2.0)
    assert spending.spent_usd == 0
    pay(store, 0.25)
    pay(store, 0.5, experiment="05_other")
    pay(store, 0.5, paid=False)
    spending.refresh(None)
    assert spending.spent_usd == 0.25
    assert Spending("s", "90_tiny", [None], 2.0).spent_usd == 0.25, (
        "another start of the same sweep"
    )
    assert Spending("t", "90_tiny", [None], 2.0).spent_usd == 0, "another sweep"


def test_a_call_that_was_cut_off_counts_at_its_worst(plans: list[Plan], results: Path) -> None:
    spending = Spending("s", "90_tiny", [None], 2.0)
    store = CallStore(results / "calls.sqlite", experiment="90_tiny")
    store.send("key", name="a", role="", most_usd=0.75)
    store.close()
    spending.refresh(None)
    assert spending.spent_usd == 0.75


def test_runs_hold_their_budget_while_they_are_under_way(plans: list[Plan], results: Path) -> None:
    spending = Spending("s", "90_tiny", [None], 2.5)
    first, second = spending.start(plans[0], []), spending.start(plans[1], [])
    assert first and second and first.allotted_usd == 1.0
    assert spending.start(plans[2], [first, second]) is None, "no room until one of them ends"
    pay(results / "calls.sqlite", 0.25)
    spending.refresh(None)
    third = spending.start(plans[2], [second])
    assert third and third.allotted_usd == 1.0


def test_a_run_gets_what_is_left_and_if_that_is_too_little_none_follows(
    plans: list[Plan], results: Path
) -> None:
    spending = Spending("s", "90_tiny", [None], 1.25)
    pay(results / "calls.sqlite", 0.75)
    spending.refresh(None)
    last = spending.start(plans[0], [])
    assert last and last.allotted_usd == 0.5
    spending.ended(last, well=True)
    assert spending.start(plans[1], [])
    spending.ended(last, well=False)
    assert spending.start(plans[1], []) is None


def test_without_a_limit_or_costs_runs_start_freely(plans: list[Plan], results: Path) -> None:
    free = replace(plans[0], parameters={"budget_usd": 0.0})
    assert Spending("s", "90_tiny", [None], None).start(plans[0], plans) == plans[0]
    pay(results / "calls.sqlite", 9.0)
    assert Spending("u", "90_tiny", [None], 1.0).start(free, plans) == free


def test_own_stores_are_summed_with_the_common_one(plans: list[Plan], results: Path) -> None:
    own = [plan.folder / "calls.sqlite" for plan in plans]
    spending = Spending("s", "90_tiny", own, 2.0)
    for path in (own[0], own[1], None):
        pay(path or results / "calls.sqlite", 0.5)
        spending.refresh(path)
    assert spending.spent_usd == 1.5
    assert Spending("s", "90_tiny", own, 2.0).spent_usd == 1.5


def test_a_sweep_stops_at_its_limit_and_names_what_it_left(
    plans: list[Plan], results: Path
) -> None:
    """Each run wants a dollar and spends 60 cents; $1.50 are enough for two and a bit."""
    allotted: list[float] = []

    def spend(plan: Plan) -> Outcome:
        allotted.append(round(plan.allotted_usd, 6))
        pay(results / "calls.sqlite", min(0.6, plan.allotted_usd))
        if plan.allotted_usd < 0.6:
            raise NotebookFailed("90_tiny: the budget is used up")
        return act(plan)

    sweep = Sweep("s", tuple(plans), ("a", "b", "c", "d"), 1.5)
    result = run_sweep(sweep, lambda: ActingWorkers(spend, slots=1))
    assert allotted == [1.0, 0.9, 0.3]
    assert result.spent_usd == pytest.approx(1.5)
    assert (result.complete, result.failures, result.not_started) == (
        2, [("c", "90_tiny: the budget is used up")], ["d"],
    )  # fmt: skip


def test_what_a_run_is_left_reaches_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOTTED, raising=False)
    assert math.isinf(allotted_usd())
    monkeypatch.setenv(ALLOTTED, repr(0.25))
    assert allotted_usd() == 0.25
    monkeypatch.setenv(ALLOTTED, repr(math.inf))
    assert math.isinf(allotted_usd())
