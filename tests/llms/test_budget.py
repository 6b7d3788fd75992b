"""The budget: worst case before, true cost after, never passed."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.llms.budget import Budget, Reservation, worst_case_usd
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.pool import LLMSpec, Price

PRICE = Price.model_validate({"input": 1.0, "output": 10.0, "date": "2026-11-01", "source": "test"})
SPEC = LLMSpec(name="small", client="openai", model="m", family="f", profile="p", price=PRICE)
REQUEST = ChatRequest("small", (Message("user", "x" * 84),), max_tokens=90)
WORST = (84 + 16 + 90 * 10) / 1e6  # 0.001


def held(budget: Budget) -> Reservation:
    reservation = budget.reserve(SPEC, REQUEST)
    assert reservation is not None
    return reservation


def done(cost_usd: float | None, tokens: int = 0) -> Completion:
    return Completion("", "stop", tokens, 0, cost_usd, 0.1, False, "")


def test_worst_case() -> None:
    assert worst_case_usd(SPEC, REQUEST) == pytest.approx(WORST)
    # A token is at least one byte, and "é" has two.
    wide = ChatRequest("small", (Message("user", "é" * 42),), max_tokens=90)
    assert worst_case_usd(SPEC, wide) == pytest.approx(WORST)


def test_the_worst_case_of_a_reasoning_model_has_room_for_its_thoughts() -> None:
    thinker = SPEC.model_copy(update={"max_tokens": 8192})
    request = ChatRequest("small", (Message("user", "x" * 84),))
    assert worst_case_usd(thinker, request) == pytest.approx((100 + 8192 * 10) / 1e6)
    assert worst_case_usd(thinker, REQUEST) == pytest.approx(WORST)


def test_every_attempt_is_reserved() -> None:
    budget = Budget(usd=5 * WORST * (1 + 1e-9))
    with pytest.raises(BudgetExceeded, match=r"up to \$0\.006000 in 6 attempts"):
        budget.reserve(SPEC, REQUEST, attempts=6)
    reservation = budget.reserve(SPEC, REQUEST, attempts=5)
    assert reservation is not None
    assert reservation.usd == pytest.approx(WORST)
    assert budget.reserve(SPEC, REQUEST, attempts=1) is None
    budget.settle(reservation, None, unanswered=5)
    assert budget.spent_usd == pytest.approx(5 * WORST)


def test_attempts_before_the_answer_are_charged_too() -> None:
    budget = Budget(usd=1.0)
    reservation = budget.reserve(SPEC, REQUEST, attempts=5)
    assert reservation is not None
    budget.settle(reservation, done(0.0002, tokens=70), unanswered=2)
    assert budget.spent_usd == pytest.approx(0.0002 + 2 * WORST)
    assert (budget.used_tokens, budget.made) == (70 + 2 * 190, 1)


def test_a_call_that_could_pass_the_limit_is_not_made() -> None:
    budget = Budget(usd=0.0015)
    first = held(budget)
    assert budget.reserve(SPEC, REQUEST) is None, "there is no room while the first is in flight"
    budget.settle(first, done(0.0002))
    assert budget.spent_usd == 0.0002
    budget.settle(held(budget), done(0.0004))
    with pytest.raises(BudgetExceeded, match=r"small could cost up to \$0\.001000"):
        budget.reserve(SPEC, REQUEST)


def test_a_call_that_was_not_billed_gives_its_room_back() -> None:
    budget = Budget(usd=0.0015, calls=1)
    for _ in range(5):
        budget.settle(held(budget), None)
    assert (budget.spent_usd, budget.made) == (0.0, 0)
    held(budget)


def test_an_unknown_cost_is_charged_at_its_worst_case() -> None:
    budget = Budget(usd=1.0)
    budget.settle(held(budget), done(None))
    assert budget.spent_usd == pytest.approx(WORST)


def test_calls_in_flight_count() -> None:
    budget = Budget(calls=2)
    first, second = held(budget), held(budget)
    assert budget.reserve(SPEC, REQUEST) is None
    budget.settle(first, None, unanswered=1)
    assert budget.reserve(SPEC, REQUEST) is None
    budget.settle(second, None, unanswered=1)
    with pytest.raises(BudgetExceeded, match="limit of 2 calls"):
        budget.reserve(SPEC, REQUEST)


def test_no_price() -> None:
    free = SPEC.model_copy(update={"price": None})
    with pytest.raises(ConfigError, match=r"'small' has no price.*pool file.*`calls`"):
        Budget(usd=1.0).reserve(free, REQUEST)
    assert Budget(calls=1).reserve(free, REQUEST) == Reservation(0.0, 190)


def test_tokens() -> None:
    """190 a call: 84 + 16 for the prompt, 90 for the answer."""
    budget = Budget(tokens=400)
    first = held(budget)
    second = budget.reserve(SPEC, REQUEST)
    assert second is not None
    assert budget.reserve(SPEC, REQUEST) is None
    budget.settle(first, done(None, tokens=40))
    budget.settle(second, None, unanswered=1)
    assert budget.used_tokens == 40 + 190
    with pytest.raises(
        BudgetExceeded, match=r"up to 190 tokens in its one attempt, and 230 of 400"
    ) as e:
        budget.reserve(SPEC, REQUEST)
    assert e.value.limit == "tokens"


def test_time_is_counted_from_the_first_call() -> None:
    now = [100.0]
    budget = Budget(seconds=30, clock=lambda: now[0])
    assert budget.elapsed_s == 0
    now[0] = 200.0
    first = held(budget)
    now[0] = 229.9
    budget.settle(held(budget), None)
    budget.check_time()
    with pytest.raises(BudgetExceeded, match="limit of 30 s reached"):
        budget.check_time(ahead_s=0.2)
    now[0] = 230.0
    with pytest.raises(BudgetExceeded, match="limit of 30 s reached") as caught:
        budget.reserve(SPEC, REQUEST)
    assert caught.value.limit == "seconds"
    budget.settle(first, done(0.001))


def test_the_message_says_what_was_used() -> None:
    budget = Budget(calls=2, clock=lambda: 5.0)
    budget.settle(held(budget), done(0.0012, tokens=3400))
    budget.settle(held(budget), None, unanswered=1)
    used = r"limit of 2 calls reached \(used so far: \$0\.002200, 2 calls, 3,590 tokens, 0\.0 s\)"
    with pytest.raises(BudgetExceeded, match=used) as caught:
        budget.reserve(SPEC, REQUEST)
    assert caught.value.limit == "calls"


def test_the_message_does_not_take_an_unknown_cost_for_none() -> None:
    free = SPEC.model_copy(update={"price": None})
    budget = Budget(calls=1)
    reservation = budget.reserve(free, REQUEST)
    assert reservation is not None
    budget.settle(reservation, done(None, tokens=10))
    with pytest.raises(BudgetExceeded, match=r"used so far: at least \$0\.000000, 1 calls, 10 tok"):
        budget.reserve(free, REQUEST)


def test_sums_of_dollars_are_exact() -> None:
    """Ten dimes: added as floats they make 0.9999999999999999, which would leave room."""
    budget = Budget(usd=1.0)
    for _ in range(10):
        budget.settle(held(budget), done(0.1))
    with pytest.raises(BudgetExceeded):
        budget.reserve(SPEC, ChatRequest("small", (), max_tokens=0))
        held(budget)


@pytest.mark.parametrize(
    "limits",
    [{"usd": -1.0}, {"calls": -1}, {"usd": float("nan")}, {"tokens": -1}, {"seconds": -0.1}],
)
def test_limits_that_make_no_sense(limits: dict) -> None:
    with pytest.raises(ConfigError, match="must be at least 0"):
        Budget(**limits)


def test_a_limit_of_nothing_allows_nothing() -> None:
    for budget in (Budget(usd=0.0), Budget(calls=0), Budget(tokens=0), Budget(seconds=0)):
        with pytest.raises(BudgetExceeded):
            budget.reserve(SPEC, REQUEST)


@given(
    st.floats(0, 0.01),
    st.lists(st.tuples(st.sampled_from(["settle", "release", "hold"]), st.floats(0, 1))),
)
def test_the_limit_holds(limit: float, steps: list[tuple[str, float]]) -> None:
    """Whatever ends how, money spent never passes the limit, and all held room comes back."""
    budget = Budget(usd=limit)
    in_flight: list[Reservation] = []
    for end, share in steps:
        try:
            reservation = budget.reserve(SPEC, REQUEST)
        except BudgetExceeded:
            continue
        if reservation is None:
            assert in_flight
            continue
        in_flight.append(reservation)
        if end == "settle":
            budget.settle(in_flight.pop(0), done(WORST * share))
        elif end == "release":
            budget.settle(in_flight.pop(0), None)
        assert budget.spent_usd <= limit
    for reservation in in_flight:
        budget.settle(reservation, done(WORST))
    assert budget.spent_usd <= limit, "not even by a rounding"
    fits = budget.spent_usd + WORST <= limit
    try:
        budget.reserve(SPEC, REQUEST)
    except BudgetExceeded:
        assert not fits
    else:
        assert fits


def test_threads() -> None:
    budget = Budget(usd=100 * WORST)
    refused = []

    def work() -> None:
        for _ in range(100):
            try:
                while (reservation := budget.reserve(SPEC, REQUEST)) is None:
                    pass
                budget.settle(reservation, done(WORST))
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_usd <= 100 * WORST
    assert budget.made + len(refused) == 400
    assert budget.made >= 99
