"""Faults on purpose: one by one through both clients, and 2,000 calls under a seeded schedule."""

import asyncio
import itertools
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from serving import serving

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.anthropic_client import AnthropicClient
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import OpenAIClient
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.provider import ProviderClient
from hieramas_lib.llms.server import Served, make_app
from hieramas_lib.llms.server_faults import FAULTS, HARMLESS, UNANSWERED, Fault, FaultPlan
from hieramas_lib.llms.service import LLMService

CLIENTS: dict[str, type[ProviderClient]] = {"openai": OpenAIClient, "anthropic": AnthropicClient}
RETRIES = 4
ERRORS = ("timeout", "rate_limit", "server", "connection", "malformed", "rejected")


def spec(kind: str, url: str, concurrency: int = 16) -> LLMSpec:
    return LLMSpec.model_validate(
        {
            "name": kind,
            "client": kind,
            "model": kind,
            "family": "f",
            "profile": "p",
            "base_url": f"{url}/v1" if kind == "openai" else url,
            "price": {"input": 0.3, "output": 1.7, "date": "2026-11-01", "source": "test"},
            "max_concurrency": concurrency,
        }
    )


def question(kind: str, number: int) -> ChatRequest:
    return ChatRequest(kind, (Message("user", f"question {number}"),), max_tokens=50)


@dataclass(frozen=True)
class Scholar:
    """Answers each question in its own words and at its own price."""

    kind: str

    async def complete(self, request: ChatRequest) -> Completion:
        number = int(request.messages[0].content.split()[1])
        read, written = 10 + number % 7, 1 + number % 11
        cost = spec(self.kind, "").cost(read, written)
        return Completion(
            f"answer {number} ∎", "stop", read, written, cost, 0.0, False, f"{self.kind} {number}"
        )


SCHOLARS = {kind: Scholar(kind) for kind in CLIENTS}


def plan(rate: float, *kinds: Fault, seed: int = 0) -> FaultPlan:
    return FaultPlan(rate, seed, kinds or FAULTS, wait_s=0.02, silence_s=20.0, slow_s=0.1)


def end_of(kind: str, fault: Fault, retries: int = 0) -> tuple[Completion | CallError, int]:
    """How a call ends whose every attempt meets ``fault``, and how often it was sent."""
    log: list[Served] = []
    with serving(make_app(SCHOLARS, faults=plan(1.0, fault), log=log.append)) as url:
        client = CLIENTS[kind](spec(kind, url), None, timeout_s=0.4, max_retries=retries)
        try:
            end: Completion | CallError = asyncio.run(client.complete(question(kind, 5)))
        except CallError as error:
            end = error
    return end, len(log)


KIND_OF_ERROR: dict[Fault, str] = {
    "429": "rate_limit",
    "429 wait": "rate_limit",
    "429 long wait": "rate_limit",
    "500": "server",
    "503": "server",
    "silence": "timeout",
    "drop": "connection",
    "cut": "connection",
    "not JSON": "malformed",
    "HTML": "malformed",
}


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("fault", KIND_OF_ERROR)
def test_faults_that_leave_no_answer(kind: str, fault: Fault) -> None:
    end, _ = end_of(kind, fault)
    assert isinstance(end, CallError)
    assert end.kind == KIND_OF_ERROR[fault]


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("fault", HARMLESS)
def test_faults_that_leave_the_answer_whole(kind: str, fault: Fault) -> None:
    end, _ = end_of(kind, fault)
    assert isinstance(end, Completion)
    assert (end.text, end.prompt_tokens, end.completion_tokens) == ("answer 5 ∎", 15, 6)


@pytest.mark.parametrize(
    ("kind", "fault", "empty"),
    [
        ("openai", "null content", True),
        ("anthropic", "null content", False),
        ("openai", "no choices", False),
        ("anthropic", "no choices", True),
    ],
)
def test_faults_that_empty_the_answer(kind: str, fault: Fault, empty: bool) -> None:
    """An empty text with its usage is a completion; a reply without its parts is none."""
    end, _ = end_of(kind, fault)
    if empty:
        assert isinstance(end, Completion)
        assert (end.text, end.prompt_tokens, end.completion_tokens) == ("", 15, 6)
    else:
        assert isinstance(end, CallError) and end.kind == "malformed"


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_is_retried(kind: str) -> None:
    sent = {fault: end_of(kind, fault, retries=2)[1] for fault in ("429 wait", "not JSON")}
    assert sent == {"429 wait": 3, "not JSON": 2}
    assert end_of(kind, "429 long wait", retries=2)[1] == 1


def test_the_kinds_of_fault_are_complete() -> None:
    tested = [*KIND_OF_ERROR, *HARMLESS, "null content", "no choices"]
    assert sorted(tested) == sorted(FAULTS)
    assert set(UNANSWERED) < set(KIND_OF_ERROR)


def test_the_schedule_follows_from_its_seed() -> None:
    asked = list(itertools.product([f"{n:x}" for n in range(500)], range(2)))
    first = [plan(0.4).draw(*each) for each in asked]
    assert [plan(0.4).draw(*each) for each in reversed(asked)] == first[::-1]
    assert [plan(0.4, seed=1).draw(*each) for each in asked] != first
    twice = [a is not None and b is not None for a, b in zip(first[::2], first[1::2], strict=True)]
    assert 0.1 < sum(twice) / len(twice) < 0.22, "attempts do not fail independently"
    counts = Counter(first)
    assert 0.35 < 1 - counts[None] / len(asked) < 0.45
    assert set(counts) == {None, *FAULTS}
    assert {plan(0.0).draw(*each) for each in asked} == {None}
    assert None not in {plan(1.0).draw(*each) for each in asked}


@pytest.mark.parametrize("settings", [{"rate": 1.5}, {"rate": 0.1, "kinds": ("404",)}])
def test_a_plan_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="faults: "):
        FaultPlan(**settings)


# Many calls at once, as their caller, the store and the server saw them.


@dataclass
class Trial:
    """What became of many calls; a call's name is its client and its number.

    Attributes:
        ends: How each call ended.
        stored: Name, text and price of each row of the store.
        paid_usd: The store's own total.
        served: What the server did with each call, attempt by attempt.
    """

    ends: dict[str, Completion | BaseException]
    stored: list[tuple[str, str, float]]
    paid_usd: float
    served: dict[str, list[Served]]
    wall_s: float

    def answers(self, name: str) -> list[Completion]:
        """Answers that the server sent to a call, readable and to the last byte."""
        emptied = "null content" if name.startswith("openai") else "no choices"
        readable = (None, emptied, *HARMLESS)
        return [s.completion for s in self.served[name] if s.completion and s.fault in readable]

    def table(self) -> str:
        """Say in figures how the calls ended."""
        kinds = Counter(e.kind if isinstance(e, CallError) else "" for e in self.ends.values())
        failed = ", ".join(f"{kinds[kind]} {kind}" for kind in ERRORS if kinds[kind])
        faults = sum(s.fault is not None for log in self.served.values() for s in log)
        attempts = sum(map(len, self.served.values()))
        return (
            f"{kinds['']} of {len(self.ends)} calls survived, {failed}; {attempts} requests of "
            f"which {faults} met a fault; {len(self.stored)} rows, ${self.paid_usd:.9f}; "
            f"{self.wall_s:.1f} s"
        )


def run_trial(path: Path, count: int, faults: FaultPlan) -> Trial:
    """Make ``count`` distinct calls, half of them by each client."""
    log: list[Served] = []
    requests = [question(kind, n) for n in range(count // 2) for kind in CLIENTS]
    with serving(make_app(SCHOLARS, faults=faults, log=log.append)) as url:
        specs = {kind: spec(kind, url, concurrency=64) for kind in CLIENTS}
        pool = LLMPool(name="p", skip_profile="s", reference="openai", llms=tuple(specs.values()))
        clients = {
            kind: CLIENTS[kind](each, None, timeout_s=2.0, max_retries=RETRIES)
            for kind, each in specs.items()
        }
        service = LLMService(pool, clients, CallStore(path))

        async def ask() -> list[Completion | BaseException]:
            calls = (service.complete(request) for request in requests)
            return await asyncio.gather(*calls, return_exceptions=True)

        began = time.perf_counter()
        ends = asyncio.run(ask())
        wall_s = time.perf_counter() - began
    paid_usd = service.usage.paid_usd
    service.store.close()
    names = [f"{r.model} {r.messages[0].content.split()[1]}" for r in requests]
    keys = {
        request.key(request.model, request.model, specs[request.model].address): name
        for name, request in zip(names, requests, strict=True)
    }
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT key, text, cost_usd FROM calls").fetchall()
    return Trial(
        ends=dict(zip(names, ends, strict=True)),
        stored=[(keys[key], text, cost) for key, text, cost in rows],
        paid_usd=paid_usd,
        served=_by_call(log, names),
        wall_s=wall_s,
    )


def _by_call(log: list[Served], names: list[str]) -> dict[str, list[Served]]:
    """Sort the server's log by call.

    A body that was never answered can be any of the calls that the server never answered; which
    of them does not matter, as the server did nothing for either. On a machine that is too busy,
    a call can time out before the server hears of it.
    """
    by_digest: dict[str, list[Served]] = defaultdict(list)
    for served in log:
        by_digest[served.digest].append(served)
    answered: dict[str, list[Served]] = {}
    unanswered = []
    for attempts in by_digest.values():
        named = {s.completion.request_key for s in attempts if s.completion}
        assert len(named) <= 1
        if named:
            answered[named.pop()] = attempts
        else:
            unanswered.append(attempts)
    rest = [name for name in names if name not in answered]
    unheard: list[list[Served]] = [[] for _ in range(len(rest) - len(unanswered))]
    return answered | dict(zip(rest, unanswered + unheard, strict=True))


def check(trial: Trial) -> None:
    """Every call ended in one way, was stored once if answered, and was charged exactly."""
    rows = {name: (text, cost) for name, text, cost in trial.stored}
    assert len(rows) == len(trial.stored), "a call is in the store twice"
    for name, end in trial.ends.items():
        sent = trial.answers(name)
        if isinstance(end, Completion):
            assert rows.get(name) == (end.text, end.cost_usd), (
                "a call was lost, or stored otherwise"
            )
            assert sent, "an answer that the server never gave"
            assert (end.prompt_tokens, end.cost_usd) == (sent[-1].prompt_tokens, sent[-1].cost_usd)
            assert end.text in (sent[-1].text, "")
        else:
            assert isinstance(end, CallError) and end.kind in ERRORS
            assert name not in rows
            # An answer can come too late: the client had hung up by then.
            assert not sent or end.kind == "timeout"
        assert len(trial.served[name]) <= RETRIES + 1
    owed = fsum(trial.answers(name)[-1].cost_usd or 0.0 for name in rows)
    assert fsum(cost for _, _, cost in trial.stored) == owed
    assert trial.paid_usd == owed


@pytest.mark.usefixtures("quick_retries")
def test_2000_calls_under_faults(tmp_path: Path, record_property: Callable[..., None]) -> None:
    trial = run_trial(tmp_path / "calls.sqlite", 2000, plan(0.4, seed=1))
    record_property("table: 2,000 calls under faults", trial.table())
    check(trial)
    # About 1,895 with the machine to itself; a busy one makes some calls late.
    assert len(trial.stored) > 1000
    assert {s.fault for log in trial.served.values() for s in log} == {None, *FAULTS}
