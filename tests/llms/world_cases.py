"""A small pool and synthetic tasks for the tests of the simulated world."""

import asyncio
from collections.abc import Iterable
from datetime import date

from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import CodeTests, Task

FAMILIES = {
    "gpt-5-mini": "openai",
    "gpt-5-nano": "openai",
    "gpt-4o-mini": "openai",
    "gemma-3-27b": "gemma",
    "llama-3.1-8b": "llama",
}
ALONE = Header("Solver", "alone")


def make_pool() -> LLMPool:
    price = Price(input=0.25, output=2.0, date=date(2026, 11, 1), source="made up")
    llms = tuple(
        LLMSpec(
            name=name, client="simulated", model=name, family=family, profile="", price=price,
            usual_tokens=(60, 450),
        )
        for name, family in FAMILIES.items()
    )  # fmt: skip
    return LLMPool(name="test", skip_profile="", reference="gpt-5-mini", llms=llms)


def choice_tasks(count: int) -> list[Task]:
    """Four options, the subjects of the settings in turn, levels 1 to 5 in turn."""
    subjects = load_settings("hard").subjects["choice"]
    return [
        Task(
            id=f"made/{i}",
            benchmark="made",
            kind="choice",
            subject=subjects[i % len(subjects)],
            prompt=f"Question {i}: which one?",
            gold="ABCD"[i % 4],
            choices=("ash", "beech", "cedar", "elm"),
            level=1 + i // len(subjects) % 5,
        )
        for i in range(count)
    ]


def maths_task() -> Task:
    return Task("made/maths", "made", "maths", "algebra", "What is 6 x 7?", "42", tempting=("48",))


def code_task() -> Task:
    return Task(
        id="made/code",
        benchmark="made",
        kind="code",
        subject="programming",
        prompt="def double(x):\n    '''Return twice x.'''\n",
        gold="def double(x):\n    return 2 * x",
        tempting=("def double(x):\n    return x ** 2",),
        tests=CodeTests("double", "def check(f):\n    assert f(3) == 6"),
    )


def quiet(settings: WorldSettings, **difficulty: object) -> WorldSettings:
    """The settings without blank replies, and with other knobs of difficulty."""
    return settings.with_knobs("replies", blank_rate=0.0).with_knobs("difficulty", **difficulty)


def ask(
    llm: str,
    task: Task,
    header: Header = ALONE,
    sections: Iterable[Section] = (),
    *,
    sample: int = 0,
    max_tokens: int = 1024,
) -> ChatRequest:
    parts = [Section("task", task.statement).render(), *(s.render() for s in sections)]
    system = f"{header.render()}\n\nAnswer the question."
    messages = (Message("system", system), Message("user", "\n\n".join(parts)))
    return ChatRequest(llm, messages, temperature=0.2, max_tokens=max_tokens, sample=sample)


def reply(world: World, request: ChatRequest) -> Completion:
    client = SimulatedClient(make_pool()[request.model], world)
    return asyncio.run(client.complete(request))


def replies(world: World, requests: list[ChatRequest]) -> list[Completion]:
    """Answers to many requests in one event loop."""
    pool = make_pool()
    clients = {r.model: SimulatedClient(pool[r.model], world) for r in requests}

    async def run() -> list[Completion]:
        return [await clients[request.model].complete(request) for request in requests]

    return asyncio.run(run())
