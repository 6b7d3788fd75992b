"""Connecting a pool: every fault is found before the first call."""

import asyncio
import importlib.util
from pathlib import Path

import pytest
from world_cases import choice_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.pool import LLMPool, LLMSpec, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path

PAPERS = load_pool(data_path("llm_pool.yaml"))


def pool(**fields) -> LLMPool:
    base = {"name": "one", "model": "m", "family": "f", "profile": "p"}
    return LLMPool(
        name="test", skip_profile="-", reference="one", llms=(LLMSpec(**(base | fields)),)
    )


def world(tasks, seed: int = 1) -> World:
    return World(tasks, load_settings("hard"), PAPERS, seed)


def test_a_missing_key_names_llm_variable_and_fix(monkeypatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"'gpt-5-mini'.*OPENROUTER_API_KEY.*export.*simulated"):
        connect(PAPERS)
    monkeypatch.setenv("OPENROUTER_API_KEY", "  ")
    with pytest.raises(ConfigError, match="OPENROUTER_API_KEY"):
        connect(PAPERS)


def test_keys_are_found(monkeypatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-planted")
    llms = connect(PAPERS, budget=Budget(usd=1.0))
    assert llms.pool is PAPERS
    assert llms.budget is not None
    assert "planted" not in repr(vars(llms))
    connect(pool(client="anthropic", key_env="OPENROUTER_API_KEY"))


def test_a_server_without_keys() -> None:
    connect(pool(client="openai", base_url="http://127.0.0.1:1/v1"))


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is optional")
def test_a_missing_model_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.gguf is missing.*make run"):
        connect(pool(client="local", model="nowhere.gguf"))


def test_a_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"'one' needs the package xllamacpp: .*pip install"):
        connect(pool(client="local"))


def test_a_simulated_pool_needs_a_world() -> None:
    for mode in ("cache", "replay"):
        with pytest.raises(ConfigError, match=r"'gpt-5-mini' is simulated.*world"):
            connect(PAPERS.simulated(), store=CallStore(None, mode))


def test_replay_needs_no_key(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    CallStore(tmp_path / "tape.sqlite").close()
    connect(PAPERS, store=CallStore(tmp_path / "tape.sqlite", "replay"))
    with pytest.raises(ConfigError):
        connect(PAPERS, store=CallStore(tmp_path / "tape.sqlite", "cache"))


def test_a_simulated_pool_answers_and_worlds_do_not_mix() -> None:
    tasks = choice_tasks(30)
    store = CallStore()
    requests = [
        ChatRequest(
            "llama-3.1-8b",
            (
                Message("system", Header("Solver", "alone").render()),
                Message("user", Section("task", task.statement).render()),
            ),
            0.2,
        )
        for task in tasks
    ]

    def texts(seed: int) -> list[str]:
        llms = connect(PAPERS.simulated(), store=store, world=world(tasks, seed))

        async def all_of_them() -> list[str]:
            return [(await llms.complete(request)).text for request in requests]

        return asyncio.run(all_of_them())

    first, second = texts(1), texts(2)
    assert first != second
    assert texts(1) == first
    used = store.totals()
    assert (used.calls, used.made, used.paid_usd, used.unpriced) == (90, 60, 0.0, 0)
    assert used.as_if_usd > 0


def test_the_default_store_of_a_simulated_pool_keeps_no_request_texts(monkeypatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    assert connect(PAPERS).store.keep_requests
    assert not connect(PAPERS.simulated(), world=world(choice_tasks(1))).store.keep_requests
