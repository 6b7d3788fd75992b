"""The service: routing, the store's modes, sharing, limits and exact sums."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import fsum
from pathlib import Path

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError, ReplayMiss
from hieramas_lib.llms.attempts import begin_count, count_attempt
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import UNDER_WAY, Unanswered, unanswered
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService

PRICE = Price.model_validate({"input": 1.0, "output": 10.0, "date": "2026-11-01", "source": "test"})


def spec(name: str, **fields) -> LLMSpec:
    base = {"client": "openai", "model": f"maker/{name}", "family": "f", "profile": "p"}
    return LLMSpec(name=name, **(base | {"price": PRICE} | fields))


def pool(*specs: LLMSpec) -> LLMPool:
    return LLMPool(name="test", skip_profile="-", reference=specs[0].name, llms=specs)


def ask(sample: int = 0, model: str = "small", text: str = "hi") -> ChatRequest:
    return ChatRequest(model, (Message("user", text),), sample=sample, max_tokens=20)


class Stub:
    """Answers with a running number; may wait, fail, or give its own price.

    ``billed`` is how many attempts of a call it counts, the answered one included; None if it
    does not count.
    """

    max_attempts = 1
    billed: int | None = None

    def __init__(self, wait_s: float = 0.0, fail: Callable[[int], bool] | None = None) -> None:
        self.calls = 0
        self.asked: list[ChatRequest] = []
        self.error: Exception = CallError("server", "broken")
        self.now = self.most = 0
        self.cost: float | None = None
        self.tokens = (100, 10)
        self._wait_s = wait_s
        self._fail = fail

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        self.asked.append(request)
        number = self.calls
        self.now += 1
        self.most = max(self.most, self.now)
        if self.billed is not None:
            begin_count()
            for _ in range(self.billed):
                count_attempt()
        try:
            if self._wait_s:
                await asyncio.sleep(self._wait_s)
        finally:
            self.now -= 1
        if self._fail and self._fail(number):
            raise self.error
        return Completion(f"answer {number}", "stop", *self.tokens, self.cost, 0.5, False, "")


def service(stub: Stub, store: CallStore | None = None, budget: Budget | None = None, **fields):
    return LLMService(pool(spec("small", **fields)), {"small": stub}, store or CallStore(), budget)


def test_an_answer_is_priced_keyed_and_stored_before_it_is_used() -> None:
    stub = Stub()
    llms = service(stub)
    answer = asyncio.run(llms.complete(ask()))
    key = ask().key("openai", "maker/small")
    # 100 tokens in at $1, 10 out at $10 a million.
    assert answer == Completion("answer 1", "stop", 100, 10, 2e-4, 0.5, False, key)
    assert llms.store.get(key) == replace(answer, cached=True)


def test_the_store_is_told_who_was_asked() -> None:
    llms = service(Stub())
    llms.store.experiment = "07_main"
    header = Header("Critic", "proposer").render()
    system = Message("system", f"{header}\n\nBe strict.\nRole: none of yours")
    asyncio.run(llms.complete(ChatRequest("small", (system, Message("user", "hi")))))
    asyncio.run(llms.complete(ask()))
    assert llms.store.rows("SELECT name, role, experiment FROM calls") == [
        ("small", "Critic", "07_main"), ("small", "", "07_main"),
    ]  # fmt: skip


def test_the_client_knows_the_price_better() -> None:
    stub = Stub()
    stub.cost = 0.75
    assert asyncio.run(service(stub).complete(ask())).cost_usd == 0.75


def test_unknown_prices_are_none() -> None:
    assert asyncio.run(service(Stub(), price=None).complete(ask())).cost_usd is None
    uncounted = Stub()
    uncounted.tokens = (0, 0)
    assert asyncio.run(service(uncounted).complete(ask())).cost_usd is None


def test_routing_by_name() -> None:
    one, two = Stub(), Stub()
    llms = LLMService(pool(spec("a"), spec("b")), {"a": one, "b": two}, CallStore())
    asyncio.run(llms.complete(ask(model="b")))
    assert (one.calls, two.calls) == (0, 1)
    with pytest.raises(ConfigError, match="no LLM 'c'; it has a, b"):
        asyncio.run(llms.complete(ask(model="c")))


def test_a_client_for_every_llm() -> None:
    with pytest.raises(ConfigError, match="no client for b"):
        LLMService(pool(spec("a"), spec("b")), {"a": Stub()}, CallStore())


def test_cache_mode_calls_once() -> None:
    stub = Stub()
    llms = service(stub)
    first = asyncio.run(llms.complete(ask()))
    again = asyncio.run(llms.complete(ask()))
    assert stub.calls == 1
    assert again == replace(first, cached=True)
    assert asyncio.run(llms.complete(ask(sample=1))).text == "answer 2"
    used = llms.usage
    assert (used.calls, used.made) == (3, 2)
    assert used.paid_usd == pytest.approx(4e-4)
    assert used.as_if_usd == pytest.approx(6e-4)


def test_simulated_and_local_calls_are_not_paid() -> None:
    for client in ("simulated", "local"):
        llms = service(Stub(), client=client)
        asyncio.run(llms.complete(ask()))
        assert llms.usage.paid_usd == 0.0
        assert llms.usage.as_if_usd == pytest.approx(2e-4)


def test_live_mode_always_calls_and_shares_nothing() -> None:
    stub = Stub(wait_s=0.01)
    llms = service(stub, CallStore(None, "live"))

    async def three() -> list[Completion]:
        first = await llms.complete(ask())
        return [first, *await asyncio.gather(llms.complete(ask()), llms.complete(ask()))]

    answers = asyncio.run(three())
    assert sorted(a.text for a in answers) == ["answer 1", "answer 2", "answer 3"]
    assert not any(a.cached for a in answers)
    assert llms.store.count() == 3


def test_replay_needs_no_client_and_pays_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tape.sqlite"
    recorded = asyncio.run(service(Stub(), CallStore(path)).complete(ask()))
    llms = LLMService(pool(spec("small")), {}, CallStore(path, "replay"))
    assert asyncio.run(llms.complete(ask())) == replace(recorded, cached=True)
    assert (llms.usage.made, llms.usage.paid_usd) == (0, 0.0)
    with pytest.raises(ReplayMiss, match="sample: stored 0, asked 7"):
        asyncio.run(llms.complete(ask(sample=7)))


def test_identical_requests_in_flight_share_one_call() -> None:
    stub = Stub(wait_s=0.02)
    llms = service(stub)

    async def many() -> list[Completion]:
        return await asyncio.gather(*(llms.complete(ask()) for _ in range(10)))

    answers = asyncio.run(many())
    assert stub.calls == 1
    assert {a.text for a in answers} == {"answer 1"}
    assert sum(not a.cached for a in answers) == 1
    used = llms.usage
    assert (used.calls, used.made) == (10, 1)
    assert used.paid_usd == pytest.approx(2e-4)
    assert used.as_if_usd == pytest.approx(20e-4)


def test_a_shared_failure_reaches_all_and_is_not_stored() -> None:
    stub = Stub(wait_s=0.01, fail=lambda n: n == 1)
    llms = service(stub)

    async def many() -> list[Completion | BaseException]:
        jobs = [llms.complete(ask()) for _ in range(4)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    assert all(isinstance(end, CallError) for end in asyncio.run(many()))
    assert stub.calls == 1
    assert llms.store.count() == 0
    assert asyncio.run(llms.complete(ask())).text == "answer 2"


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_cancelled_call_leaves_no_waiter_alone(concurrency: int) -> None:
    """Under way, it is shared as before; waiting for its turn, the first waiter makes it."""
    stub, budget = Stub(wait_s=0.02), Budget(calls=2)
    llms = service(stub, budget=budget, max_concurrency=concurrency)

    async def story() -> list[Completion | BaseException]:
        first = asyncio.create_task(llms.complete(ask(1)))
        await asyncio.sleep(0)
        tasks = [asyncio.create_task(llms.complete(ask())) for _ in range(3)]
        await asyncio.sleep(0.005)
        tasks[0].cancel()
        tasks[2].cancel()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    ends = asyncio.run(story())
    cancelled, answered = asyncio.CancelledError, Completion
    assert [type(end) for end in ends] == [answered, cancelled, answered, cancelled]
    assert stub.calls == budget.made == llms.store.count() == 2


def test_the_concurrency_limit() -> None:
    stub = Stub(wait_s=0.005)
    llms = service(stub, max_concurrency=3)

    async def many() -> None:
        await asyncio.gather(*(llms.complete(ask(n)) for n in range(20)))

    asyncio.run(many())
    assert stub.most == 3


def test_one_service_serves_one_event_loop_after_another() -> None:
    stub = Stub(wait_s=0.002)
    llms = service(stub, max_concurrency=1)

    async def many(first: int) -> None:
        await asyncio.gather(*(llms.complete(ask(n)) for n in range(first, first + 4)))

    asyncio.run(many(0))
    asyncio.run(many(4))
    assert stub.calls == 8


def test_event_loops_of_several_threads_share_one_service(tmp_path: Path) -> None:
    stub, budget = Stub(wait_s=0.001), Budget(usd=0.01)
    llms = service(stub, CallStore(tmp_path / "calls.sqlite"), budget, max_concurrency=4)

    async def many(first: int) -> list[Completion | BaseException]:
        jobs = [llms.complete(ask(n)) for n in range(first, first + 40)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    with ThreadPoolExecutor(3) as threads:
        batches = list(threads.map(lambda first: asyncio.run(many(first)), (0, 40, 80)))
    kinds = Counter(type(end) for batch in batches for end in batch)
    assert set(kinds) == {Completion, BudgetExceeded}
    assert kinds[Completion] == llms.store.count() == budget.made
    assert budget.spent_usd == pytest.approx(llms.usage.paid_usd)
    assert 0.01 - 218e-6 < budget.spent_usd <= 0.01


@pytest.mark.parametrize("limit", [1, 64])
def test_a_budget_is_never_passed(limit: int) -> None:
    stub = Stub(wait_s=0.001)
    budget = Budget(usd=0.005)
    llms = service(stub, budget=budget, max_concurrency=limit)

    async def many() -> list[Completion | BaseException]:
        jobs = [llms.complete(ask(n)) for n in range(100)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    ends = asyncio.run(many())
    assert any(isinstance(end, Completion) for end in ends)
    assert any(isinstance(end, BudgetExceeded) for end in ends)
    assert all(isinstance(end, Completion | BudgetExceeded) for end in ends)
    assert stub.calls == sum(isinstance(end, Completion) for end in ends)
    assert budget.spent_usd == pytest.approx(llms.usage.paid_usd)
    assert budget.spent_usd <= 0.005


def test_a_budget_with_room_for_one_call_at_a_time_slows_down_and_goes_on() -> None:
    """A reservation is many times what a call costs; to hold too many must not end the run."""
    stub = Stub(wait_s=0.001)
    budget = Budget(usd=0.005)  # 2e-4 a call, and 218e-6 reserved for each of its 20 attempts.
    stub.max_attempts = 20
    llms = service(stub, budget=budget)

    async def many() -> list[Completion]:
        return await asyncio.gather(*(llms.complete(ask(n)) for n in range(4)))

    assert len(asyncio.run(many())) == 4
    assert stub.most == 1
    assert budget.spent_usd == pytest.approx(8e-4)


def test_services_that_share_a_budget_wait_for_each_other() -> None:
    budget, slow, quick = Budget(calls=2), Stub(wait_s=0.02, fail=lambda n: True), Stub()
    slow.error, slow.billed = CallError("rejected", "no"), 0
    one, two = service(slow, budget=budget), service(quick, budget=budget)

    async def story() -> list[Completion | BaseException]:
        jobs = [one.complete(ask(0)), one.complete(ask(1)), two.complete(ask(0))]
        return await asyncio.gather(*jobs, return_exceptions=True)

    kinds = [type(end) for end in asyncio.run(story())]
    assert kinds == [CallError, CallError, Completion]


@pytest.mark.parametrize(
    ("billed", "charged"), [(0, 0), (1, 1), (3, 3), (None, 1)], ids=lambda count: str(count)
)
@pytest.mark.parametrize(
    "error", [CallError("timeout", "-"), ConfigError("wrong key"), ZeroDivisionError("a bug")]
)
def test_a_failed_call_is_charged_each_attempt_that_may_have_been_billed(
    error: Exception, billed: int | None, charged: int
) -> None:
    stub = Stub(fail=lambda n: True)
    stub.error, stub.max_attempts, stub.billed = error, 5, billed
    budget = Budget(usd=1.0)
    llms = service(stub, budget=budget)
    with pytest.raises(type(error)):
        asyncio.run(llms.complete(ask()))
    # Two letters and 16 tokens of allowance at $1, 20 tokens out at $10 a million.
    assert budget.spent_usd == pytest.approx(charged * 218e-6)
    assert budget.made == bool(charged)
    outcome = getattr(error, "kind", type(error).__name__)
    kept = [Unanswered("small", "", "", outcome, 1, pytest.approx(charged * 218e-6))]
    assert unanswered(llms.store) == (kept if charged else [])


def test_attempts_before_the_answer_are_charged_and_kept_in_mind() -> None:
    stub, budget = Stub(), Budget(usd=1.0)
    stub.max_attempts, stub.billed = 5, 3
    llms = service(stub, budget=budget)
    asyncio.run(llms.complete(ask()))
    assert budget.spent_usd == pytest.approx(2e-4 + 2 * 218e-6)
    assert llms.usage.paid_usd == pytest.approx(2e-4)
    assert unanswered(llms.store) == [
        Unanswered("small", "", "", "answered at a later attempt", 1, pytest.approx(2 * 218e-6))
    ]
    unpriced = service(stub, price=None)
    asyncio.run(unpriced.complete(ask()))
    assert [call.most_usd for call in unanswered(unpriced.store)] == [None]


@pytest.mark.parametrize("mode", ["cache", "live"])
def test_a_call_that_went_out_is_stored_although_nobody_waits_for_it(mode) -> None:
    stub, budget = Stub(wait_s=0.02), Budget(usd=1.0)
    llms = service(stub, CallStore(None, mode), budget)

    async def story() -> None:
        task = asyncio.create_task(llms.complete(ask()))
        await asyncio.sleep(0.005)
        assert unanswered(llms.store) == [
            Unanswered("small", "", "", UNDER_WAY, 1, pytest.approx(218e-6))
        ]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert llms.store.count() == stub.calls == 1
    assert budget.spent_usd == llms.usage.paid_usd == pytest.approx(2e-4)
    assert unanswered(llms.store) == []


def test_a_second_cancellation_drops_the_call_and_keeps_it_in_mind() -> None:
    llms = service(Stub(wait_s=5), price=None)

    async def story() -> None:
        task = asyncio.create_task(llms.complete(ask()))
        for _ in range(2):
            await asyncio.sleep(0.005)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 4))
    assert unanswered(llms.store) == [Unanswered("small", "", "", "cancelled", 1, None)]


@pytest.mark.parametrize("limit", [{"max_concurrency": 1}, {"max_per_minute": 1}], ids=str)
def test_a_cancelled_call_that_waits_for_its_turn_is_dropped_at_once(limit: dict) -> None:
    stub, budget = Stub(wait_s=0.02), Budget(usd=1.0)
    llms = service(stub, budget=budget, **limit)

    async def story() -> list[Completion | BaseException]:
        tasks = [asyncio.create_task(llms.complete(ask(n))) for n in range(3)]
        await asyncio.sleep(0.005)
        for task in tasks[1:]:
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ends = asyncio.run(asyncio.wait_for(story(), 4))
    assert [type(end) for end in ends] == [Completion] + [asyncio.CancelledError] * 2
    assert (stub.calls, budget.made) == (1, 1)
    assert budget.spent_usd == pytest.approx(2e-4)


@pytest.mark.parametrize("client", ["simulated", "local"])
def test_calls_that_nobody_bills_are_not_marked(client: str) -> None:
    stub = Stub(fail=lambda n: True)
    stub.error = CallError("timeout", "-")
    llms = service(stub, client=client)
    with pytest.raises(CallError):
        asyncio.run(llms.complete(ask()))
    assert unanswered(llms.store) == []


def test_calls_go_out_as_often_as_the_llm_allows() -> None:
    llms = service(Stub(), max_per_minute=1200)

    async def many() -> None:
        await asyncio.gather(*(llms.complete(ask(n)) for n in range(5)))

    began = time.monotonic()
    asyncio.run(many())
    # Four gaps of 50 ms; a machine that is busy makes them longer, never shorter.
    assert time.monotonic() - began >= 0.19
    assert asyncio.run(llms.complete(ask(0))).cached


def test_nobody_waits_for_a_turn_that_comes_after_the_time_is_over() -> None:
    stub = Stub()
    budget = Budget(usd=1.0, seconds=60)
    llms = service(stub, budget=budget, max_per_minute=1)

    async def two() -> list[Completion | BaseException]:
        jobs = [llms.complete(ask(n)) for n in range(2)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    first, second = asyncio.run(two())
    assert isinstance(first, Completion)
    assert isinstance(second, BudgetExceeded)
    assert second.limit == "seconds"
    assert (stub.calls, budget.made) == (1, 1)
    assert budget.spent_usd == pytest.approx(2e-4)


def test_why_a_call_was_not_found() -> None:
    llms = service(Stub(), max_tokens=99)
    asyncio.run(llms.complete(ask()))
    assert llms.explain_miss(ask()) == "the same request is stored"
    longer = replace(ask(), max_tokens=None)
    assert llms.explain_miss(longer).endswith("differs in max_tokens: stored 20, asked 99")


def test_the_limit_of_a_call_is_the_llms_own_unless_it_has_one() -> None:
    stub = Stub()
    llms = service(stub, max_tokens=8192)
    open_ended = replace(ask(), max_tokens=None)
    answer = asyncio.run(llms.complete(open_ended))
    assert stub.asked[0].max_tokens == 8192
    assert answer.request_key == replace(ask(), max_tokens=8192).key("openai", "maker/small")
    assert asyncio.run(llms.complete(replace(ask(), max_tokens=8192))).cached
    assert asyncio.run(llms.complete(ask())).text == "answer 2"
    assert stub.asked[1].max_tokens == 20
    # Another limit in the pool file is another call.
    other = service(stub, llms.store, max_tokens=4096)
    assert asyncio.run(other.complete(open_ended)).text == "answer 3"


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_one_store_tells_servers_apart(client: str) -> None:
    store, stub = CallStore(), Stub()

    def at(url: str | None) -> str:
        llms = service(stub, store, client=client, base_url=url)
        return asyncio.run(llms.complete(ask())).text

    texts = [at(url) for url in (None, "http://a/v1", "http://b/v1", "http://a/v1/")]
    assert texts == ["answer 1", "answer 2", "answer 3", "answer 2"]


def test_a_replay_miss_names_the_other_server(tmp_path: Path) -> None:
    path = tmp_path / "tape.sqlite"
    asyncio.run(service(Stub(), CallStore(path), base_url="http://a/v1").complete(ask()))
    llms = LLMService(pool(spec("small", base_url="http://b/v1")), {}, CallStore(path, "replay"))
    with pytest.raises(ReplayMiss, match="origin: stored 'http://a/v1', asked 'http://b/v1'"):
        asyncio.run(llms.complete(ask()))


def test_cached_answers_need_no_budget() -> None:
    llms = service(Stub(), budget=Budget(calls=1))
    asyncio.run(llms.complete(ask()))
    assert asyncio.run(llms.complete(ask())).cached


def test_a_budget_in_dollars_needs_prices_before_any_call() -> None:
    with pytest.raises(ConfigError, match="'small' has no price"):
        service(Stub(), budget=Budget(usd=1.0), price=None)


def test_sums_are_exact_under_concurrency() -> None:
    stub = Stub(wait_s=0.001, fail=lambda n: n % 7 == 0)
    stub.cost = 0.1
    llms = service(stub)

    async def many() -> list[Completion | BaseException]:
        jobs = [llms.complete(ask(n % 60)) for n in range(200)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    done = [end for end in asyncio.run(many()) if isinstance(end, Completion)]
    used = llms.usage
    assert used.calls == len(done)
    assert used.made == sum(not c.cached for c in done) == llms.store.count()
    assert used.as_if_usd == fsum(c.cost_usd or 0 for c in done)
    assert used.paid_usd == fsum(c.cost_usd or 0 for c in done if not c.cached)
    assert used.prompt_tokens == sum(c.prompt_tokens for c in done)


def test_self_consistency_gives_the_same_samples_with_the_cache_on_and_off() -> None:
    class BySample:
        async def complete(self, request: ChatRequest) -> Completion:
            return Completion(f"sample {request.sample}", "stop", 1, 1, None, 0.1, False, "")

    async def five(mode) -> list[str]:
        llms = LLMService(pool(spec("small")), {"small": BySample()}, CallStore(None, mode))
        return [(await llms.complete(ask(n))).text for n in range(5)]

    texts = [asyncio.run(five(mode)) for mode in ("cache", "live")]
    assert texts[0] == texts[1] == [f"sample {n}" for n in range(5)]


def test_one_store_tells_worlds_apart() -> None:
    store, answers = CallStore(), []
    for world in ("world 1", "world 2"):
        stub = Stub()
        stub.calls = len(answers)
        llms = LLMService(
            pool(spec("small", client="simulated")),
            {"small": stub},
            store,
            origins={"small": world},
        )
        answers.append(asyncio.run(llms.complete(ask())).text)
    assert answers == ["answer 1", "answer 2"]


def test_overhead() -> None:
    """Per call, in CPU time, with a wide margin over the 60 us aimed at."""
    llms = service(Stub(), CallStore(keep_requests=False), client="simulated")
    requests = [ask(n, text="word " * 400) for n in range(2000)]

    async def all_of_them() -> None:
        for request in requests:
            await llms.complete(request)

    began = time.process_time()
    asyncio.run(all_of_them())
    made = time.process_time() - began
    asyncio.run(all_of_them())
    hits = time.process_time() - began - made
    assert made / 2000 < 300e-6
    assert hits / 2000 < 200e-6
