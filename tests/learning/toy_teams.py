"""Two roles, toy questions and scripted LLMs for the tests of the learners."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hieramas_lib.errors import CallError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import parse_sections
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import Role, RoleSet

GOLDS = "ABAB"


def roles() -> RoleSet:
    """Two solvers, One and Two."""
    return RoleSet(
        name="two",
        kind="choice",
        proposer="Propose.",
        synthesizer="Synthesize.",
        decision="Decide.",
        answer_format="Answer: X",
        roles=tuple(
            Role(name=name, duty="solver", profile=name, instruction="Solve.")
            for name in ("One", "Two")
        ),
    )


def toy_tasks(count: int, golds: str = "A") -> list[Task]:
    """Questions numbered from 0; the gold letters repeat in a cycle."""
    return [
        Task(
            id=f"toy/{i}",
            benchmark="toy",
            kind="choice",
            subject="s",
            prompt=f"question {i}",
            gold=golds[i % len(golds)],
            choices=("a", "b", "c", "d"),
        )
        for i in range(count)
    ]


@dataclass
class Answerer:
    """Answers by a function of the task's number and of whose messages are read.

    It also agrees with a teammate's or proposal's "Answer: A"; ``None`` is a call that fails.
    """

    answer: Callable[[int, frozenset[str]], str | None]

    async def complete(self, request: ChatRequest) -> Completion:
        body = request.messages[-1].content
        (number,) = re.findall(r"question (\d+)", body)
        sections = parse_sections(body)
        read = frozenset(s.source for s in sections if s.tag == "message")
        letter = self.answer(int(number), read)
        if letter is None:
            raise CallError("server", "outage")
        if any("Answer: A" in s.text for s in sections if s.tag != "task"):
            letter = "A"
        tokens = 100 + 50 * len(sections)
        return Completion(f"Answer: {letter}", "stop", tokens, 10, None, 1.0, False, "")


def always(letter: str | None) -> Answerer:
    """Return an LLM that says the same to everything, but agrees with an "A" that it reads."""
    return Answerer(lambda task, read: letter)


def spec(name: str, price: float | None) -> LLMSpec:
    """Return an LLM with one price for reading and writing, None if unknown."""
    listed = Price(input=price, output=price, date="2026-11-01", source="toy") if price else None
    return LLMSpec(
        name=name, client="simulated", model=name, family=name, profile=name, price=listed
    )


def pool(*llms: LLMSpec, reference: str) -> LLMPool:
    """Return a pool of ``llms``."""
    return LLMPool(name="toy", skip_profile="none", reference=reference, llms=llms)


def service(clients: Mapping[str, Answerer], prices: Mapping[str, float] = {}) -> LLMService:
    """Return scripted LLMs behind the real service; the last one is the unit of cost."""
    specs = [spec(name, prices.get(name, 1.0)) for name in clients]
    return LLMService(pool(*specs, reference=specs[-1].name), clients, CallStore(None))


class _HashEncoder:
    def encode(self, texts):
        rows = [np.frombuffer(text.encode().ljust(64)[:64], dtype=np.uint8) for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def encoder() -> _HashEncoder:
    """Return an encoder that knows every text."""
    return _HashEncoder()
