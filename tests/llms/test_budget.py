"""The budget: worst case before, true cost after, never passed."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.llms.budget import Budget, worst_case_usd
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.pool import LLMSpec, Price

PRICE = Price.model_validate({"input": 1.0, "output": 10.0, "date": "2026-11-01", "source": "test"})
SPEC = LLMSpec(name="small", client="openai", model="m", family="f", profile="p", price=PRICE)
REQUEST = ChatRequest("small", (Message("user", "x" * 84),), max_tokens=90)
WORST = (84 + 16 + 90 * 10) / 1e6  # 0.001


def test_worst_case() -> None:
    assert worst_case_usd(SPEC, REQUEST) == pytest.approx(WORST)
    # A token is at least one byte, and "é" has two.
    wide = ChatRequest("small", (Message("user", "é" * 42),), max_tokens=90)
    assert worst_case_usd(SPEC, wide) == pytest.approx(WORST)


def test_a_call_that_could_pass_the_limit_is_not_made() -> None:
    budget = Budget(usd=0.0015)
    held = budget.reserve(SPEC, REQUEST)
    with pytest.raises(BudgetExceeded, match=r"small could cost up to \$0\.001000"):
        budget.reserve(SPEC, REQUEST)
    budget.settle(held, 0.0002)
    assert budget.spent_usd == 0.0002
    budget.settle(budget.reserve(SPEC, REQUEST), 0.0004)
    with pytest.raises(BudgetExceeded):
        budget.reserve(SPEC, REQUEST)


def test_a_failed_call_gives_its_room_back() -> None:
    budget = Budget(usd=0.0015, calls=1)
    for _ in range(5):
        budget.release(budget.reserve(SPEC, REQUEST))
    assert (budget.spent_usd, budget.made) == (0.0, 0)
    budget.reserve(SPEC, REQUEST)


def test_an_unknown_cost_is_charged_at_its_worst_case() -> None:
    budget = Budget(usd=1.0)
    budget.settle(budget.reserve(SPEC, REQUEST), None)
    assert budget.spent_usd == pytest.approx(WORST)


def test_calls_in_flight_count() -> None:
    budget = Budget(calls=2)
    held = budget.reserve(SPEC, REQUEST)
    budget.reserve(SPEC, REQUEST)
    with pytest.raises(BudgetExceeded, match="limit of 2 calls"):
        budget.reserve(SPEC, REQUEST)
    budget.settle(held, None)
    with pytest.raises(BudgetExceeded):
        budget.reserve(SPEC, REQUEST)


def test_no_price() -> None:
    free = SPEC.model_copy(update={"price": None})
    with pytest.raises(ConfigError, match=r"'small' has no price.*pool file.*`calls`"):
        Budget(usd=1.0).reserve(free, REQUEST)
    Budget(calls=1).settle(Budget(calls=1).reserve(free, REQUEST), None)


@pytest.mark.parametrize("limits", [{"usd": -1.0}, {"calls": -1}, {"usd": float("nan")}])
def test_limits_that_make_no_sense(limits: dict) -> None:
    with pytest.raises(ConfigError, match="must be at least 0"):
        Budget(**limits)


def test_a_limit_of_nothing_allows_nothing() -> None:
    for budget in (Budget(usd=0.0), Budget(calls=0)):
        with pytest.raises(BudgetExceeded):
            budget.reserve(SPEC, REQUEST)


@given(
    st.floats(0, 0.01),
    st.lists(st.tuples(st.sampled_from(["settle", "release", "hold"]), st.floats(0, 1))),
)
def test_the_limit_holds(limit: float, steps: list[tuple[str, float]]) -> None:
    """Whatever ends how, money spent never passes the limit, and all held room comes back."""
    budget = Budget(usd=limit)
    held = []
    for end, share in steps:
        try:
            held.append(budget.reserve(SPEC, REQUEST))
        except BudgetExceeded:
            continue
        if end == "settle":
            budget.settle(held.pop(0), WORST * share)
        elif end == "release":
            budget.release(held.pop(0))
        assert budget.spent_usd <= limit
    for reservation in held:
        budget.settle(reservation, WORST)
    assert budget.spent_usd <= limit * (1 + 1e-12)
    spent = budget.spent_usd
    fits = spent + WORST <= limit
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
                budget.settle(budget.reserve(SPEC, REQUEST), WORST)
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_usd <= 100 * WORST * (1 + 1e-12)
    assert budget.made + len(refused) == 400
    assert budget.made >= 99
