"""Every limit of a budget holds, at 1 and at 64 calls at a time, with a real SDK and server."""

import asyncio
import threading
from fractions import Fraction

import pytest
from serving import serving

from hieramas_lib.errors import BudgetExceeded, CallError
from hieramas_lib.llms.anthropic_client import AnthropicClient
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import OpenAIClient
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.server import make_app
from hieramas_lib.llms.server_faults import Fault, FaultPlan
from hieramas_lib.llms.service import LLMService

PRICE = Price.model_validate({"input": 1.0, "output": 10.0, "date": "2026-11-01", "source": "test"})
LONGEST = 200
ASKED = 90


class Metered:
    """Answers with as many tokens as the request's number says, and keeps the bill."""

    def __init__(self) -> None:
        self.bills: list[tuple[Fraction, int]] = []
        self.now = self.most = 0
        self._lock = threading.Lock()

    async def complete(self, request: ChatRequest) -> Completion:
        self.now += 1
        self.most = max(self.most, self.now)
        number = int(request.messages[0].content.split()[1])
        await asyncio.sleep(0.001 * (number % 3))
        tokens = (9, 1 + number * 37 % LONGEST)
        cost = (tokens[0] * PRICE.input + tokens[1] * PRICE.output) / 1e6
        with self._lock:
            self.bills.append((Fraction(cost), sum(tokens)))
        self.now -= 1
        return Completion("ok", "stop", *tokens, cost, 0.0, False, "")


def ask(number: int) -> ChatRequest:
    return ChatRequest("m", (Message("user", f"question {number}"),), max_tokens=LONGEST)


def run(budget: Budget, concurrency: int) -> tuple[Metered, CallStore, list[Exception]]:
    """Ask until the budget stops it, and past that."""
    metered, store = Metered(), CallStore()
    with serving(make_app({"m": metered})) as url:
        spec = LLMSpec(
            name="m", client="openai", model="m", family="f", profile="p", price=PRICE,
            base_url=f"{url}/v1", max_concurrency=concurrency,
        )  # fmt: skip
        pool = LLMPool(name="loopback", skip_profile="-", reference="m", llms=(spec,))
        llms = LLMService(pool, {"m": OpenAIClient(spec, None, max_retries=0)}, store, budget)

        async def all_of_them() -> list[Completion | BaseException]:
            jobs = (llms.complete(ask(n)) for n in range(ASKED))
            return await asyncio.gather(*jobs, return_exceptions=True)

        ends = asyncio.run(all_of_them())
    errors = [end for end in ends if isinstance(end, Exception)]
    assert all(isinstance(error, BudgetExceeded) for error in errors), errors
    assert store.count() == len(metered.bills) == ASKED - len(errors), "none lost, none twice"
    return metered, store, errors


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize(
    ("limit", "amount"), [("usd", 0.025), ("calls", 25), ("tokens", 2500)], ids=str
)
def test_the_limit_is_never_passed_and_nearly_reached(
    limit: str, amount: float, concurrency: int
) -> None:
    metered, store, errors = run(Budget(**{limit: amount}), concurrency)
    used = {
        "usd": sum(cost for cost, _ in metered.bills),
        "calls": len(metered.bills),
        "tokens": sum(tokens for _, tokens in metered.bills),
    }
    assert used[limit] <= amount, "exactly"
    # What is left would not hold one more call at its worst.
    worst = {"usd": 30e-6 + LONGEST * 10e-6, "calls": 1, "tokens": 30 + LONGEST}
    assert used[limit] + 2 * worst[limit] > amount
    assert errors
    assert {getattr(error, "limit", "") for error in errors} == {limit}
    assert store.totals().paid_usd == pytest.approx(float(used["usd"]))
    if concurrency > 1:
        assert metered.most > 1


@pytest.mark.parametrize("concurrency", [1, 64])
def test_no_call_goes_out_after_the_time_is_over(concurrency: int) -> None:
    """By a clock that each look at it moves on by a second."""
    ticks = iter(range(10**6))
    budget = Budget(seconds=60, clock=lambda: float(next(ticks)))
    metered, _, errors = run(budget, concurrency)
    assert 0 < len(metered.bills) <= 60
    assert {getattr(error, "limit", "") for error in errors} == {"seconds"}
    assert "limit of 60 s reached" in str(errors[0])


CLIENTS = {"openai": OpenAIClient, "anthropic": AnthropicClient}
FAULTS: tuple[Fault, ...] = ("429 wait", "503", "cut", "cut", "cut", "not JSON")


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("kind", CLIENTS)
def test_all_answers_that_were_made_stay_within_the_limit(kind: str, concurrency: int) -> None:
    """Those that never reached anybody count too, as a provider bills them like the others."""
    metered, store, limit = Metered(), CallStore(), 0.15
    faults = FaultPlan(0.4, 1, FAULTS, wait_s=0.001)
    with serving(make_app({"m": metered}, faults=faults)) as url:
        spec = LLMSpec(
            name="m", client=kind, model="m", family="f", profile="p", price=PRICE,
            base_url=f"{url}/v1" if kind == "openai" else url, max_concurrency=concurrency,
        )  # fmt: skip
        pool = LLMPool(name="loopback", skip_profile="-", reference="m", llms=(spec,))
        client = CLIENTS[kind](spec, None, timeout_s=1.0, max_retries=4)
        budget = Budget(usd=limit)
        llms = LLMService(pool, {"m": client}, store, budget)

        async def all_of_them() -> list[Completion | BaseException]:
            jobs = (llms.complete(ask(n)) for n in range(200))
            return await asyncio.gather(*jobs, return_exceptions=True)

        ends = asyncio.run(all_of_them())
    made, paid = float(sum(cost for cost, _ in metered.bills)), store.totals().paid_usd
    print(f"{made:.6f} made, {paid:.6f} answered, {budget.spent_usd:.6f} charged")
    assert paid < made <= budget.spent_usd <= limit
    assert any(isinstance(end, BudgetExceeded) for end in ends)
    assert all(isinstance(end, Completion | CallError | BudgetExceeded) for end in ends), ends
