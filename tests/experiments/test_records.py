"""One row a planned item, whatever happens to its call."""

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError
from hieramas_lib.experiments.records import answer_all, evaluate
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.rollout import CallRecord, Rollout

TASKS = tuple(Task(f"maths/{i}", "maths", "maths", "algebra", f"{i} + 1?", "2") for i in range(6))
PRICE = Price(input=1.0, output=2.0, date=date(2026, 1, 1), source="made up")


def pool(price: Price | None = PRICE, client: str = "simulated") -> LLMPool:
    spec = LLMSpec(
        name="a", client=client, model="a", family="f", profile="p", price=price,
        usual_tokens=(50, 300),
    )  # fmt: skip
    return LLMPool(name="p", skip_profile="none", reference="a", llms=(spec,))


class Scripted:
    """Answers each task as its index says; counts how many are under way."""

    name = "scripted"

    def __init__(self, outcomes: dict[int, Exception] | None = None) -> None:
        self.outcomes = outcomes or {}
        self.under_way = self.most = self.begun = 0

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing."""

    async def answer(self, task: Task) -> Rollout:
        index = int(task.id.split("/")[1])
        self.begun += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.001 * (6 - index))
        self.under_way -= 1
        if index in self.outcomes:
            raise self.outcomes[index]
        done = Completion("2", "stop", 100, 50, 0.0002, 0.5, False, "k")
        call = CallRecord("Solver", "alone", "a", done)
        grade = Grade("correct" if index % 2 else "wrong", "2")
        return Rollout(task.id, "2", grade, (call,), pruned=("Critic",), latency_s=0.5)


def test_rows_come_in_order_with_costs_and_utility() -> None:
    frame = asyncio.run(evaluate(Scripted(), TASKS, pool=pool(), seed=4, split="val"))
    assert frame["task_id"].tolist() == [task.id for task in TASKS]
    assert frame["correct"].tolist() == [False, True] * 3
    row = frame.iloc[1]
    # The reference call: 400 prompt tokens at 1 and 300 at 2 dollars a million = 0.001.
    assert row["cost_reference"] == pytest.approx(0.2)
    assert row["utility"] == pytest.approx(1 - 0.01 * 0.2)
    named = row[["method", "benchmark", "subject", "split", "seed", "pruned", "calls", "unpriced"]]
    assert named.tolist() == ["scripted", "maths", "algebra", "val", 4, "Critic", 1, 0]
    assert bool(row["simulated"])


def test_failed_call_keeps_its_place_in_the_denominator() -> None:
    method = Scripted({2: CallError("server", "502")})
    frame = asyncio.run(evaluate(method, TASKS, pool=pool()))
    assert len(frame) == 6
    assert frame["status"].tolist()[2] == "error"
    assert not frame["correct"].iloc[2]
    assert frame["calls"].iloc[2] == 0


def test_other_errors_stop_the_evaluation_and_name_the_task() -> None:
    method = Scripted({0: BudgetExceeded("limit")})
    with pytest.raises(BudgetExceeded) as caught:
        asyncio.run(answer_all(method, TASKS, slots=2))
    assert "scripted was answering task 'maths/0'" in caught.value.__notes__
    answered = method.begun - 1
    assert caught.value.__notes__[-1].startswith(f"{answered} of 6 tasks are answered")
    assert f"{6 - answered} are left" in caught.value.__notes__[-1]
    assert method.begun < len(TASKS)
    assert method.under_way == 0


def test_cancelled_evaluation_keeps_its_finished_calls(tmp_path: Path) -> None:
    """As Ctrl-C in a kernel cancels it: what came back is in the store and not asked again."""
    client = SlowFromThird()

    def llms() -> LLMService:
        return LLMService(pool(), {"a": client}, CallStore(tmp_path / "calls.sqlite"))

    async def interrupted() -> None:
        under_way = asyncio.create_task(answer_all(Asking(llms()), TASKS, slots=2))
        await client.reached.wait()
        under_way.cancel()
        await under_way

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert CallStore(tmp_path / "calls.sqlite").count() == 2
    client.slow = False
    asyncio.run(answer_all(Asking(again := llms()), TASKS))
    assert (again.usage.calls, again.usage.made) == (6, 4)


class SlowFromThird:
    """Answers two calls at once, and does not come back from the others while ``slow``."""

    def __init__(self) -> None:
        self.slow, self.calls, self.reached = True, 0, asyncio.Event()

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        if self.slow and self.calls > 2:
            if self.calls == 4:
                self.reached.set()
            await asyncio.sleep(60)
        return Completion("2", "stop", 100, 50, None, 0.5, False, "")


class Asking:
    """One call a task."""

    name = "asking"

    def __init__(self, llms: LLMService) -> None:
        self.llms = llms

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing."""

    async def answer(self, task: Task) -> Rollout:
        done = await self.llms.complete(ChatRequest("a", (Message("user", task.statement),)))
        return Rollout(task.id, done.text, Grade("correct", done.text), ())


def test_slots_bound_what_is_under_way() -> None:
    method = Scripted()
    seen: list[int] = []
    asyncio.run(answer_all(method, TASKS, slots=2, on_answer=lambda: seen.append(1)))
    assert method.most == 2
    assert len(seen) == 6


def test_same_rows_at_one_and_many_slots() -> None:
    one = asyncio.run(evaluate(Scripted(), TASKS, pool=pool(), slots=1))
    many = asyncio.run(evaluate(Scripted(), TASKS, pool=pool(), slots=64))
    assert one.equals(many)


def test_unpriced_pool_has_no_utility_rather_than_a_wrong_one() -> None:
    frame = asyncio.run(evaluate(Scripted(), TASKS, pool=pool(price=None, client="local")))
    assert frame["utility"].isna().all()
    assert not frame["simulated"].any()
