"""LangGraph and AutoGen as they come, against our server: what is asked, booked and graded."""

import asyncio
import importlib.util
import socket
from math import fsum
from typing import Any

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import parse_sections
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.methods.frameworks.autogen_chat import AutoGenChat
from hieramas_lib.methods.frameworks.langgraph_chain import LangGraphChain
from hieramas_lib.methods.frameworks.served import Item, ServedLLMs, serve_llms
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

LLM = "llama-3.1-8b"
ADAPTERS = {"LangGraph": (LangGraphChain, 3), "AutoGen": (AutoGenChat, 5)}
MISSING = [
    name
    for name in ("langgraph", "langchain_openai", "autogen_agentchat", "autogen_ext")
    if importlib.util.find_spec(name) is None
]

needs_frameworks = pytest.mark.skipif(
    bool(MISSING), reason=f"the extra `frameworks` is not installed: no {', '.join(MISSING)}"
)
each = pytest.mark.parametrize("name", ADAPTERS)


def benchmark(name: str = "knowledge") -> Benchmark:
    return open_benchmark(name, seed=1, graphs=2, width=1, decision="gemma-3-27b")


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> list[Item]:
    """Every item that is opened from now on."""
    opened: list[Item] = []
    begin = Item.__init__

    def note(self: Item, *args: object) -> None:
        begin(self, *args)  # type: ignore[arg-type]
        opened.append(self)

    monkeypatch.setattr(Item, "__init__", note)
    return opened


def answers(name: str, llms: LLMService, tasks: tuple[Task, ...], slots: int = 8) -> list[Rollout]:
    adapter, _ = ADAPTERS[name]
    with serve_llms(llms) as served:
        method = adapter(LLM, served, load_roles(tasks[0].kind))
        assert method.name == name

        async def fit_and_answer() -> list[Rollout]:
            await method.fit((), ())
            return await answer_all(method, tasks, slots=slots)

        return asyncio.run(fit_and_answer())


@needs_frameworks
@each
@pytest.mark.parametrize(("kind", "count"), [("knowledge", 8), ("maths", 3), ("humaneval", 3)])
def test_books_are_right_with_one_and_with_eight_items_under_way(
    name: str, kind: str, count: int, items: list[Item]
):
    """Calls booked = requests the server saw = calls the store holds; and twice the same."""
    tasks = load_tasks(kind, "test")[:count]
    runs = []
    for slots in (1, 8):
        bench = benchmark(kind)
        rollouts = answers(name, bench.llms, tasks, slots)
        items_of_run, items[:] = list(items), []
        turns = ADAPTERS[name][1]
        assert [len(item.requests) for item in items_of_run] == [turns] * count
        assert [r.usage.calls for r in rollouts] == [turns] * count
        assert {served.status for item in items_of_run for served in item.requests} == {200}
        used = bench.llms.usage
        assert used.calls == count * turns
        assert fsum(r.usage.cost_usd for r in rollouts) == pytest.approx(used.as_if_usd)
        assert sum(r.usage.prompt_tokens for r in rollouts) == used.prompt_tokens
        assert sum(r.usage.completion_tokens for r in rollouts) == used.completion_tokens
        runs.append([rollout.to_json() for rollout in rollouts])
    assert runs[0] == runs[1]
    assert len({rollout.grade.status for rollout in rollouts} - {"error"}) >= 1


class Script:
    """Replies by turn; an exception is raised."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = replies
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, "stop", 10, 5, 0.5, 1.0, False, "")


def scripted(script: Script, budget: Budget | None = None) -> LLMService:
    """The simulated pool, with ``script`` in place of the LLM that is asked."""
    bench = benchmark()
    clients = dict.fromkeys(bench.llms.pool.names, script)
    return LLMService(bench.llms.pool, clients, CallStore(None), budget)


async def ask(item: Item, *contents: str) -> list[str]:
    """The smallest framework there is: one message a request."""
    texts = []
    for content in contents:
        body = {"model": LLM, "messages": [{"role": "user", "content": content}]}
        reply = await item.http.post(f"{item.base_url}/chat/completions", json=body)
        texts.append(reply.json()["choices"][0]["message"]["content"])
    return texts


def test_what_the_framework_ends_with_is_graded_not_what_the_llm_said():
    task = load_tasks("knowledge", "test")[0]

    async def framework(served: ServedLLMs) -> Rollout:
        async with served.item() as item:
            assert await ask(item, "Say.") == ["Thinking."]
            return await item.rollout(task, f"Answer: {task.gold}")

    with serve_llms(scripted(Script("Thinking."))) as served:
        rollout = asyncio.run(framework(served))
    assert rollout.grade.correct
    assert rollout.calls[0].text == "Thinking."


def test_a_framework_that_asks_nothing_or_breaks_by_itself_stops_the_run():
    task = load_tasks("knowledge", "test")[0]

    async def framework(
        served: ServedLLMs, asks: tuple[str, ...], failure: Exception | None
    ) -> None:
        async with served.item() as item:
            await ask(item, *asks)
            await item.rollout(task, "", failure)

    with serve_llms(scripted(Script("Answer: A"))) as served:
        with pytest.raises(ConfigError, match="asked no LLM"):
            asyncio.run(framework(served, (), None))
        with pytest.raises(KeyError):
            asyncio.run(framework(served, ("Say.",), KeyError("its own fault")))


def test_a_closed_item_answers_nobody():
    script = Script("Answer: A")

    async def framework(served: ServedLLMs) -> list[int]:
        async with served.item() as first:
            pass
        async with served.item() as second:
            url = f"{first.base_url}/chat/completions"
            body = {"model": LLM, "messages": [{"role": "user", "content": "Say."}]}
            return [(await second.http.post(url, json=body)).status_code, len(second.requests)]

    with serve_llms(scripted(script)) as served:
        assert asyncio.run(framework(served)) == [404, 0]
    assert script.requests == []


@needs_frameworks
@each
def test_every_turn_reads_what_was_said_and_the_last_text_is_graded(name: str):
    task = load_tasks("knowledge", "test")[0]
    turns = ADAPTERS[name][1]
    said = [f"Thought {turn}. Answer: {letter}" for turn, letter in enumerate("ABCDA"[:turns])]
    said[-1] = f"At last. Answer: {task.gold}"
    script = Script(*said)
    (rollout,) = answers(name, scripted(script), (task,))
    for turn, request in enumerate(script.requests):
        system, question, *others = request.messages
        assert load_roles("choice").answer_format.strip() in system.content
        assert question.content == task.statement
        assert [message.content for message in others] == said[:turn]
        assert request.temperature == 0.2
    assert rollout.answer == said[-1]
    assert rollout.grade.correct
    assert [call.role for call in rollout.calls] == [f"Agent {i % 3 + 1}" for i in range(turns)]
    assert rollout.usage.cost_usd == 0.5 * turns
    assert rollout.latency_s == float(turns)


@needs_frameworks
@each
def test_what_others_said_reaches_a_simulated_llm_as_messages(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """A question with its options is found word for word, and every turn after it is a vote."""
    seen: list[int] = []
    complete = SimulatedClient.complete

    async def spy(self: SimulatedClient, request: ChatRequest) -> Completion:
        sections = parse_sections(request.messages[-1].content)
        assert sections[0].tag == "task"
        seen.append(len(sections) - 1)
        return await complete(self, request)

    monkeypatch.setattr(SimulatedClient, "complete", spy)
    bench = benchmark()
    answers(name, bench.llms, bench.test[:1])
    assert seen == list(range(ADAPTERS[name][1]))


@needs_frameworks
@each
def test_a_failed_call_is_booked_and_is_our_error(name: str, items: list[Item]):
    script = Script("Answer: A", CallError("server", "502"))
    (rollout,) = answers(name, scripted(script), load_tasks("knowledge", "test")[:1])
    assert (rollout.grade.status, rollout.answer) == ("error", "")
    assert "502" in rollout.grade.detail
    assert [call.error for call in rollout.calls] == ["", "server: 502"]
    assert len(items[0].requests) == len(script.requests) == 2  # no second attempt


@needs_frameworks
@each
def test_a_budget_that_is_used_up_stops_the_run(name: str):
    llms = scripted(Script("Answer: A", "Answer: B"), Budget(calls=1))
    with pytest.raises(BudgetExceeded):
        answers(name, llms, load_tasks("knowledge", "test")[:1])


@needs_frameworks
@each
def test_an_llm_that_is_not_there_is_an_error_at_once(name: str):
    adapter, _ = ADAPTERS[name]
    with serve_llms(benchmark().llms) as served:
        method = adapter("gpt-0", served, load_roles("choice"))
        with pytest.raises(ConfigError, match="HTTP \\[404\\]"):
            asyncio.run(method.answer(load_tasks("knowledge", "test")[0]))


@needs_frameworks
@each
def test_nothing_leaves_this_machine_even_where_tracing_is_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    from langchain_core.tracers.langchain import wait_for_all_tracers
    from langsmith import utils

    hosts: set[str] = set()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def note(host: str) -> None:
        hosts.add(host)
        if host != "127.0.0.1":
            raise socket.gaierror(f"{host} is not this machine")

    def connecting(self: socket.socket, address: tuple[str, int]) -> None:
        note(address[0])
        connect(self, address)

    def looking_up(host: str, *args: Any, **settings: Any) -> Any:
        note(host)
        return look_up(host, *args, **settings)

    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    utils.get_env_var.cache_clear()
    bench = benchmark()
    try:
        (rollout,) = answers(name, bench.llms, bench.test[:1])
        wait_for_all_tracers()
    finally:
        monkeypatch.undo()
        utils.get_env_var.cache_clear()
    assert rollout.usage.calls == ADAPTERS[name][1]
    assert hosts == {"127.0.0.1"}
