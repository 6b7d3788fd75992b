"""As many samples as a budget allows, and not one more on average."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.equal_budget import EqualBudget, EqualBudgetSettings
from hieramas_lib.methods.single import cot
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

TASK = Task("t/0", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
TASKS = [replace(TASK, id=f"t/{i}", prompt=f"Which of {i}?") for i in range(400)]
ROLES = load_roles("choice")


class Priced:
    """Every call costs 0.0005 dollars, half a reference call; the text tells the sample."""

    def __init__(self, cost: float | None = 0.0005, fails: bool = False) -> None:
        self.cost, self.fails = cost, fails
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        if self.fails:
            raise CallError("timeout", "too slow")
        text = f"Answer: {'BAA'[request.sample % 3]}"
        return Completion(text, "stop", 100, 50, self.cost, 1.0, False, "")


def service(client: Priced, price: Price | None = None) -> LLMService:
    # One usual call of the reference: 400 tokens in at 1 and 300 out at 2 dollars a million.
    usual = {"client": "openai", "model": "m", "family": "f", "profile": "p"}
    reference = LLMSpec(
        name="ref", price=Price(input=1.0, output=2.0, date="2026-01-01", source="s"),
        usual_tokens=(60, 300), **usual,
    )  # fmt: skip
    asked = LLMSpec(name="m", price=price, **usual)
    pool = LLMPool(name="p", skip_profile="none", reference="ref", llms=(reference, asked))
    return LLMService(pool, {"ref": client, "m": client}, CallStore(None))


def fitted(reference_calls: float, client: Priced | None = None, seed: int = 0) -> EqualBudget:
    llms = service(client or Priced())
    method = EqualBudget(ROLES, llms, EqualBudgetSettings("m", reference_calls), seed)
    asyncio.run(method.fit(TASKS[:3], ()))
    return method


def test_a_budget_of_three_reference_calls_buys_six_calls_at_half_the_price():
    client = Priced()
    method = fitted(3.0, client)
    assert method.call_cost == pytest.approx(0.0005)
    assert method.mean_samples == pytest.approx(6.0)
    client.requests.clear()
    rollout = asyncio.run(fitted(3.1, client).answer(TASKS[5]))
    assert rollout.usage.calls in (6, 7)
    assert rollout.grade.extracted == "A"
    assert {r.temperature for r in client.requests[3:]} == {1.0}


@pytest.mark.parametrize(("reference_calls", "mean"), [(1.15, 2.3), (1.35, 2.7)])
def test_the_odd_sample_goes_to_a_share_of_tasks(reference_calls: float, mean: float):
    method = fitted(reference_calls)
    drawn = [method.samples(task) for task in TASKS]
    assert set(drawn) == {2, 3}
    assert sum(drawn) / len(drawn) == pytest.approx(mean, abs=0.07)


def test_who_gets_the_odd_sample_depends_on_seed_and_task_alone():
    first, again, other = fitted(1.15), fitted(1.15), fitted(1.15, seed=1)
    drawn = [first.samples(task) for task in TASKS]
    assert [again.samples(task) for task in reversed(TASKS)] == drawn[::-1]
    assert [other.samples(task) for task in TASKS] != drawn


@settings(max_examples=25, deadline=None)
@given(st.floats(0.5, 40.0))
def test_the_expected_cost_is_the_budget(reference_calls: float):
    method = fitted(reference_calls)
    share = method.mean_samples - int(method.mean_samples)
    counts = {method.samples(task) for task in TASKS[:50]}
    assert counts <= {int(method.mean_samples), int(method.mean_samples) + (share > 0)}
    assert method.call_cost is not None
    expected = method.mean_samples * method.call_cost
    assert expected == pytest.approx(reference_calls * 0.001)
    assert method.within_budget


def test_below_one_call_there_is_one_and_it_says_so():
    method = fitted(0.3)
    assert {method.samples(task) for task in TASKS} == {1}
    assert not method.within_budget


def test_with_one_sample_it_is_chain_of_thought_itself():
    client = Priced()
    method = fitted(0.5, client)
    rollout = asyncio.run(method.answer(TASKS[7]))
    alone = asyncio.run(cot("m", service(Priced()), ROLES).answer(TASKS[7]))
    assert rollout.to_json() == alone.to_json()


def test_it_is_restored_without_asking():
    method = fitted(1.15)
    other = EqualBudget(ROLES, service(Priced(fails=True)), method.settings, seed=0)
    other.restore(method.tensors())
    assert [other.samples(t) for t in TASKS] == [method.samples(t) for t in TASKS]


def test_before_fit_it_says_so():
    method = EqualBudget(ROLES, service(Priced()), EqualBudgetSettings("m", 1.0), seed=0)
    with pytest.raises(ConfigError, match="fit it first"):
        asyncio.run(method.answer(TASK))
    with pytest.raises(ConfigError, match="fit it first"):
        method.tensors()


@pytest.mark.parametrize(
    ("client", "train", "message"),
    [
        (Priced(), [], "train: give tasks"),
        (Priced(fails=True), TASKS[:2], "no call to 'm' came back"),
        (Priced(cost=0.0), TASKS[:2], "no price"),
        (Priced(cost=None), TASKS[:2], "no price"),
    ],
)
def test_what_cannot_be_measured_is_an_error(client: Priced, train: list[Task], message: str):
    method = EqualBudget(ROLES, service(client), EqualBudgetSettings("m", 1.0), seed=0)
    with pytest.raises(ConfigError, match=message):
        asyncio.run(method.fit(train, ()))


@pytest.mark.parametrize(("field_", "value"), [("reference_calls", 0.0), ("style", "at length")])
def test_settings_name_what_is_wrong(field_: str, value: object):
    good = {"llm": "m", "reference_calls": 1.0}
    with pytest.raises(ConfigError, match=f"^{field_}: "):
        EqualBudgetSettings(**good | {field_: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_it_answers_what_ships_and_twice_the_same(benchmark: str):
    def run(slots: int) -> list[str]:
        bench = open_benchmark(benchmark, seed=1, graphs=2, width=1, decision="gemma-3-27b")
        settings = EqualBudgetSettings("llama-3.1-8b", 0.05)
        method = EqualBudget(bench.space.roles, bench.llms, settings, seed=3)

        async def fit_and_answer() -> list[Rollout]:
            await method.fit(bench.train[:10], bench.val)
            return await answer_all(method, bench.test[:4], slots=slots)

        rollouts = asyncio.run(fit_and_answer())
        assert [r.usage.calls for r in rollouts] == [method.samples(t) for t in bench.test[:4]]
        assert bench.llms.usage.calls == 10 + sum(r.usage.calls for r in rollouts)
        return [rollout.to_json() for rollout in rollouts]

    assert run(1) == run(8)
