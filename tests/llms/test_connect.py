"""Connecting a pool: every fault is found before the first call."""

import asyncio
import importlib.util
from pathlib import Path

import pytest
from world_cases import choice_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms import connect as connect_module
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.pool import LLMPool, LLMSpec, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Task

PAPERS = load_pool(data_path("llm_pool.yaml"))


def pool(**fields) -> LLMPool:
    base = {"name": "one", "model": "m", "family": "f", "profile": "p"}
    return LLMPool(
        name="test", skip_profile="-", reference="one", llms=(LLMSpec(**(base | fields)),)
    )


def world(tasks, seed: int = 1) -> World:
    return World(tasks, load_settings("hard"), PAPERS, seed)


ASK = ChatRequest("one", (Message("user", "?"),))


class Echo:
    """Answers with a running number."""

    calls = 0

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        return Completion(f"answer {self.calls}", "stop", 1, 1, None, 0.1, False, "")


def asking(task: Task) -> ChatRequest:
    header, section = Header("Solver", "alone"), Section("task", task.statement)
    messages = (Message("system", header.render()), Message("user", section.render()))
    return ChatRequest("llama-3.1-8b", messages, 0.2)


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
    requests = [asking(task) for task in tasks]

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


@pytest.mark.parametrize("changed", ["seed", "settings", "spec"])
def test_services_on_several_worlds_share_a_file_and_no_answer(
    tmp_path: Path, changed: str
) -> None:
    """World seed, settings and spec count, though the requests are the same."""
    tasks = choice_tasks(20)
    settings, twin = load_settings("hard"), PAPERS.simulated()
    worlds = [World(tasks, settings, PAPERS, 1)] * 2
    pools = [twin, twin]
    if changed == "seed":
        worlds[1] = World(tasks, settings, PAPERS, 2)
    elif changed == "settings":
        tiring = settings.reading.model_copy(update={"fatigue": 0.5})
        worlds[1] = World(tasks, settings.model_copy(update={"reading": tiring}), PAPERS, 1)
    else:
        longer = twin["llama-3.1-8b"].model_copy(update={"usual_tokens": (50, 999)})
        pools[1] = twin.model_copy(update={"llms": (*twin.llms[:-1], longer)})
    path = tmp_path / "calls.sqlite"

    def keys(pool: LLMPool, world: World) -> list[tuple[str, bool]]:
        store = CallStore(path)
        llms = connect(pool, store=store, world=world)
        ends = [asyncio.run(llms.complete(asking(task))) for task in tasks]
        store.close()
        return [(end.request_key, end.cached) for end in ends]

    first, second = (keys(*pair) for pair in zip(pools, worlds, strict=True))
    assert not any(cached for _, cached in first + second)
    assert not {key for key, _ in first} & {key for key, _ in second}
    assert keys(pools[0], worlds[0]) == [(key, True) for key, _ in first]
    replay = connect(pools[1], store=CallStore(path, "replay"), world=worlds[1])
    assert asyncio.run(replay.complete(asking(tasks[0]))).request_key == second[0][0]


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_the_default_address_of_an_sdk_counts(client: str, monkeypatch) -> None:
    """The SDKs take it from the environment, so one pool file can mean two servers."""
    monkeypatch.setattr(connect_module, "_client", lambda spec, world: echo)
    echo, store = Echo(), CallStore()

    def answer(url: str, **fields: str) -> str:
        monkeypatch.setenv(f"{client.upper()}_BASE_URL", url)
        return asyncio.run(connect(pool(client=client, **fields), store=store).complete(ASK)).text

    assert [answer(url) for url in ("http://a/v1", "http://b/v1", "http://a/v1/")] == [
        "answer 1", "answer 2", "answer 1",
    ]  # fmt: skip
    assert answer("http://c/v1", base_url="http://b/v1") == "answer 2"


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_a_password_in_the_default_address_of_an_sdk_is_refused(client: str, monkeypatch) -> None:
    variable = f"{client.upper()}_BASE_URL"
    monkeypatch.setenv(variable, "https://me:s3cret@host/v1")
    with pytest.raises(ConfigError, match=f"environment variable {variable}: .*out") as caught:
        connect(pool(client=client))
    assert "s3cret" not in str(caught.value)
    connect(pool(client=client, base_url="http://own/v1"))


def test_another_file_at_the_same_path_is_another_llm(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connect_module, "_client", lambda spec, world: echo)
    echo, model, path = Echo(), tmp_path / "model.gguf", tmp_path / "calls.sqlite"

    def answer(mode: str = "cache") -> str:
        llms = connect(pool(client="local", model=str(model)), store=CallStore(path, mode))
        return asyncio.run(llms.complete(ASK)).text

    def with_file(content: bytes) -> str:
        model.write_bytes(content)
        return answer()

    assert [with_file(b"a" * 9), with_file(b"b" * 9)] == ["answer 1", "answer 2"]
    assert [with_file(b"a" * 9), answer("replay")] == ["answer 1"] * 2
    # A tape can be handed on without the model: then the newest one on it is meant.
    model.unlink()
    assert answer("replay") == "answer 2"
    with pytest.raises(ConfigError, match="is missing"):
        answer()


def test_the_default_store_of_a_simulated_pool_keeps_no_request_texts(monkeypatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    assert connect(PAPERS).store.keep_requests
    assert not connect(PAPERS.simulated(), world=world(choice_tasks(1))).store.keep_requests
