"""Prices, ledger and slots in tables, against small numbers worked out by hand."""

import asyncio

import pandas as pd
import pytest

from hieramas_lib.experiments.llm_tables import ledger_table, price_table, slot_times
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.roles import load_roles


def spec(name: str, price: Price | None) -> LLMSpec:
    return LLMSpec(
        name=name, client="openai", model=name, family="f", profile="p", price=price,
        usual_tokens=(100, 1000),
    )  # fmt: skip


def test_prices_are_those_of_a_usual_call_with_the_unknown_last() -> None:
    cheap, dear = (
        Price(input=value, output=2 * value, date="2026-11-01", source="a list")  # type: ignore[arg-type]
        for value in (1.0, 5.0)
    )
    llms = (spec("unknown", None), spec("cheap", cheap), spec("dear", dear))
    table = price_table(LLMPool(name="toy", skip_profile="-", reference="dear", llms=llms))
    assert table["llm"].tolist() == ["dear", "cheap", "unknown"]
    # 400 tokens read; 100 or 1,000 written.
    assert table["short_usd"].tolist()[:2] == pytest.approx([0.003, 0.0006])
    assert table["reasoned_usd"].tolist()[:2] == pytest.approx([0.012, 0.0024])
    assert table["date"].tolist() == ["2026-11-01", "2026-11-01", "unknown"]
    assert table[["input", "reasoned_usd"]].iloc[2].isna().all()


def test_the_ledger_tells_calls_from_hits_and_shows_the_llms_asked_for() -> None:
    store = CallStore()
    for name, key in (("a", "1"), ("a", "2"), ("b", "3")):
        answer = Completion("x", "stop", 10, 5, 0.5, 1.0, False, key)
        store.put(answer, name=name, client="openai", model=name, request="{}", paid=name == "a")
    store.get("1")
    (row,) = ledger_table(store, ["a", "nobody"]).to_dict("records")
    assert row == {
        "llm": "a", "made": 2, "hits": 1, "prompt_tokens": 30, "completion_tokens": 15,
        "paid_usd": 1.0, "as_if_usd": 1.5,
    }  # fmt: skip


def test_slots_change_what_is_waited_for_at_once_and_not_what_is_waited_for() -> None:
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    tasks = load_tasks("knowledge")[:4]
    world = World(tasks, load_settings("hard"), pool, 0)
    table = asyncio.run(slot_times(world, pool, load_roles("choice"), tasks, [1, 4]))
    assert table["slots"].tolist() == [1, 4]
    assert table["waited_s"].nunique() == 1
    assert table["wall_s"].iloc[0] >= table["waited_s"].iloc[0]
    pd.testing.assert_series_equal(
        table["speed_up"], table["waited_s"] / table["wall_s"], check_names=False
    )
