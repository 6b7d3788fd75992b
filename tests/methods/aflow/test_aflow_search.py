"""The search: what it spends, what it remembers, when it ends, and that it finds what helps."""

import asyncio
import json

import numpy as np
import pytest
from graph_world import Paired
from pydantic import TypeAdapter
from workflow_world import LLMS, workflow_world

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import role_of
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.aflow.aflow import AFlow
from hieramas_lib.methods.aflow.purse import Purse, PurseEmpty
from hieramas_lib.methods.aflow.settings import AFlowSettings
from hieramas_lib.methods.aflow.tree import Round, Search
from hieramas_lib.methods.aflow.workflow import Generate, Revise, Workflow, first_workflow
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import uniform_pool
from hieramas_lib.teams.roles import load_roles

TASKS = [Task(f"t/{i}", "toy", "choice", "s", f"q {i}", "A", tuple("abcd")) for i in range(4)]
ADD = '[{"op": "add", "path": "/operators/1", "value": {"kind": "revise", "llm": "wise"}}]'


class Answers:
    """Says one thing to every task; as an optimiser, gives its patches one after another."""

    def __init__(self, letter: str, patches: list[str | None] | None = None) -> None:
        self.letter, self.patches = letter, list(patches or [])
        self.told: list[str] = []

    async def complete(self, request: ChatRequest) -> Completion:
        text: str | None = f"Answer: {self.letter}"
        if role_of(request) == "Workflow Optimiser":
            self.told.append(request.messages[1].content)
            text = self.patches.pop(0) if self.patches else "I have no idea."
        if text is None:
            raise CallError("timeout", "too slow")
        return Completion(text, "stop", 100, 50, None, 1.0, False, "")


def toy(patches: list[str | None], price: float | None = 1.0, **settings) -> tuple[AFlow, Answers]:
    """Two LLMs, of which "wise" is always right, and an optimiser that follows a script."""
    listed = Price(input=price, output=price, date="2026-11-01", source="toy") if price else None
    one = Price(input=1.0, output=1.0, date="2026-11-01", source="toy")
    specs = tuple(
        LLMSpec(name=n, client="simulated", model=n, family=n, profile=n, max_tokens=200,
                price=one if n == "wise" else listed)
        for n in ("plain", "wise", "optimiser")
    )  # fmt: skip
    optimiser = Answers("B", patches)
    pool = LLMPool(name="toy", skip_profile="none", reference="wise", llms=specs)
    clients = {"plain": Answers("B"), "wise": Answers("A"), "optimiser": optimiser}
    space = TeamSpace(
        load_roles("choice"), ActionSpace(("plain", "wise"), 1), uniform_pool(8, 2, seed=0), "plain"
    )
    given = AFlowSettings("plain", proposer="llm", optimiser="optimiser", **settings)
    llms = LLMService(pool, clients, CallStore(None))
    return AFlow(space, llms, None, given, seed=0), optimiser


def test_an_edit_that_helps_is_found_kept_and_told():
    learned, optimiser = toy([ADD, '[{"op": "remove", "path": "/operators/1"}]', ADD], rounds=4)
    asyncio.run(learned.fit([], TASKS))
    assert learned.workflow == Workflow(operators=(Generate(llm="plain"), Revise(llm="wise")))
    assert [each.score for each in learned.search.rounds] == [0.0, 1.0]
    assert '"llm": "plain"' in optimiser.told[0] and "Right: A" in optimiser.told[0]
    assert any("score 1.0000, better" in told for told in optimiser.told[1:])
    # What led back to the start, and what was tried before, cost no validation.
    faults = [each.fault for each in learned.search.rejections]
    assert any("tried before, the result is that of round" in fault for fault in faults)
    assert asyncio.run(learned.answer(TASKS[0])).grade.correct


def test_a_malformed_edit_is_recorded_and_the_next_one_asked_for():
    bad = ["```python\nimport os\n```", '[{"op": "remove", "path": "/operators/7"}]', None, ADD]
    learned, optimiser = toy(bad, rounds=2, tries=4)
    asyncio.run(learned.fit([], TASKS))
    faults = [each.fault for each in learned.search.rejections]
    assert faults[0].startswith("patch: there is no JSON array")
    assert faults[1].startswith("patch.0.path: /operators/7")
    assert faults[2].startswith("timeout")
    assert len(learned.search.rounds) == 2
    assert "refused, patch.0.path" in optimiser.told[2]


def test_refused_edits_are_capped_and_the_round_is_given_up():
    """AFlow's loop asks again without limit."""
    learned, optimiser = toy([], rounds=50, tries=3, patience=4)
    asyncio.run(learned.fit([], TASKS))
    assert learned.search.end == "no progress"
    assert len(learned.search.rejections) == len(optimiser.told) == 3 * 4
    assert [each.number for each in learned.search.rounds] == [1]
    assert learned.workflow == first_workflow("plain")


def test_optimiser_calls_are_paid_from_the_same_purse():
    learned, _ = toy([], rounds=3, tries=2)
    asyncio.run(learned.fit([], TASKS))
    used = learned.llms.store.totals()
    assert used.calls == len(TASKS) + 2 * 2
    unit = learned.llms.pool.reference_cost
    assert learned.search.spent * unit == pytest.approx(used.as_if_usd)


def test_without_a_price_no_limit_can_hold():
    learned, _ = toy([], price=None)
    with pytest.raises(ConfigError, match=r"^spend: plain, optimiser have no price"):
        asyncio.run(learned.fit([], TASKS))


class Slow:
    """Takes its time, and costs less than it might; the tenth call fails."""

    def __init__(self) -> None:
        self.under_way: list[int] = [0]

    async def complete(self, request: ChatRequest) -> Completion:
        self.under_way.append(self.under_way[-1] + 1)
        await asyncio.sleep(0.01)
        self.under_way.append(self.under_way[-1] - 1)
        if request.sample == 9:
            raise CallError("timeout", "too slow")
        return Completion("x", "stop", 0, 10, 1e-5, 1.0, False, "")


def test_the_purse_counts_calls_in_flight_and_failed_ones_at_their_worst():
    """Calls that have no room beside those in flight wait; what is refused has none at all."""
    price = Price(input=1.0, output=1.0, date="2026-11-01", source="toy")
    spec = LLMSpec(name="m", client="simulated", model="m", family="m", profile="m", price=price)
    pool = LLMPool(name="toy", skip_profile="none", reference="m", llms=(spec,))
    unit, slow = pool.reference_cost, Slow()
    purse = Purse(LLMService(pool, {"m": slow}, CallStore(None)), 0.000505 / unit)

    async def ask(*samples: int) -> list:  # each 0.0002 dollars at worst, 0.00001 in fact
        requests = [ChatRequest("m", (), max_tokens=200, sample=sample) for sample in samples]
        calls = [purse.complete(request) for request in requests]
        return await asyncio.gather(*calls, return_exceptions=True)

    async def spend() -> None:
        assert all(isinstance(each, Completion) for each in await ask(0, 1, 2, 3, 4))
        assert max(slow.under_way) == 2 and purse.spent * unit == pytest.approx(5e-5)
        (failed,) = await ask(9)
        assert isinstance(failed, CallError) and purse.spent * unit == pytest.approx(2.5e-4)
        outcomes = await ask(*range(10, 20))
        assert [isinstance(each, PurseEmpty) for each in outcomes] == [False] * 6 + [True] * 4
        assert purse.spent * unit == pytest.approx(3.1e-4)

    asyncio.run(spend())


SMALL = dict(rounds=4, patience=9)


def world(benchmark: str = "knowledge", seed: int = 0) -> Benchmark:
    return open_benchmark(benchmark, seed=seed, graphs=6, width=1, decision="gemma-3-27b")


def searcher(bench: Benchmark, seed: int = 0, **settings) -> AFlow:
    given = AFlowSettings("gemma-3-27b", **(SMALL | settings))
    return AFlow(bench.space, bench.llms, bench.encoder, given, seed)


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_fit_and_answer_on_every_benchmark(benchmark: str):
    bench = world(benchmark)
    learned = searcher(bench)
    asyncio.run(learned.fit(bench.train, bench.val[:6]))
    rollouts = asyncio.run(answer_all(learned, bench.test[:4]))
    assert [r.task_id for r in rollouts] == [task.id for task in bench.test[:4]]
    assert learned.search.best.score == max(each.score for each in learned.search.rounds)
    assert all(r.usage.calls <= learned.workflow.most_calls for r in rollouts)


def test_two_searches_with_one_seed_are_equal_and_another_seed_is_not():
    def search(seed: int, slots: int) -> tuple:
        bench = world()
        learned = searcher(bench, seed)
        asyncio.run(learned.fit(bench.train, bench.val[:8]))
        answers = asyncio.run(answer_all(learned, bench.test[:6], slots=slots))
        return learned.learned_json(), [r.to_json() for r in answers]

    assert search(0, 1) == search(0, 64)
    assert search(0, 1)[0] != search(1, 1)[0]


@pytest.mark.parametrize("spend", [2.0, 6.0, 20.0])
def test_the_limit_is_never_passed(spend: float):
    bench = world()
    learned = searcher(bench, rounds=20, spend=spend)
    asyncio.run(learned.fit(bench.train, bench.val[:8]))
    assert learned.search.end == "spend"
    assert 0.5 < learned.search.spent <= spend
    paid = bench.llms.store.totals().as_if_usd / bench.reference_cost
    assert learned.search.spent >= paid - 1e-9  # equal calls of two rounds are counted twice


def test_a_limit_too_low_for_the_start_says_so():
    bench = world()
    with pytest.raises(ConfigError, match=r"^spend: 0.01 reference calls do not pay"):
        asyncio.run(searcher(bench, spend=0.01).fit(bench.train, bench.val[:8]))


def test_it_stops_when_the_best_stand_still():
    bench = world()
    learned = searcher(bench, rounds=20, patience=1)
    asyncio.run(learned.fit(bench.train, bench.val[:2]))
    assert learned.search.end == "no progress"
    assert len(learned.search.rounds) < 20


def test_of_equal_scores_the_cheapest_workflow_is_taken_then_the_first():
    start = first_workflow("m")
    found = [(0.5, 1.0), (0.7, 9.0), (0.7, 2.0), (0.7, 2.0)]
    rounds = tuple(
        Round(number=n, parent=None, edit=(), workflow=start, score=s, accuracy=s, cost=cost)
        for n, (s, cost) in enumerate(found, start=1)
    )
    assert Search(rounds=rounds, rejections=(), end="rounds", spent=0.0).best.number == 3


def test_the_price_counts_if_it_is_asked_for():
    bench = world()
    free, priced = searcher(bench, rounds=6), searcher(bench, rounds=6, cost_weight=10.0)
    for learned in (free, priced):
        asyncio.run(learned.fit(bench.train, bench.val[:8]))
    assert priced.search.best.score == pytest.approx(
        priced.search.best.accuracy - 10.0 * priced.search.best.cost
    )
    assert priced.search.best.cost == min(each.cost for each in priced.search.rounds)
    assert free.search.best.score == free.search.best.accuracy


def test_repeats_are_other_calls():
    bench = world()
    learned = searcher(bench, rounds=1, repeats=3)
    asyncio.run(learned.fit(bench.train, bench.val[:4]))
    assert bench.llms.store.totals().calls == 12


def test_what_was_learned_survives_json():
    bench = world()
    learned, other = searcher(bench), searcher(bench, seed=3)
    with pytest.raises(ConfigError, match="call fit"):
        learned.learned_json()
    asyncio.run(learned.fit(bench.train, bench.val[:8]))
    other.restore_json(learned.learned_json())
    assert other.learned_json() == learned.learned_json()
    assert (other.workflow, other.search) == (learned.workflow, learned.search)
    started = searcher(bench)
    started.start()
    other.restore_json(started.learned_json())
    assert other.search is None and other.workflow == first_workflow("gemma-3-27b")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda fields: fields["workflow"]["operators"][0].update(llm="x"), "operators.0.llm"),
        (lambda fields: fields["workflow"]["operators"][0].update(run="x"), "operators.0"),
        (lambda fields: fields["search"].update(end="x"), "search.end"),
        (lambda fields: fields.pop("workflow"), "AFlow"),
    ],
)
def test_a_damaged_file_is_refused(change, field: str):
    bench = world()
    learned = searcher(bench, rounds=1)
    asyncio.run(learned.fit(bench.train, bench.val[:2]))
    fields = json.loads(learned.learned_json())
    change(fields)
    with pytest.raises(ConfigError) as caught:
        learned.restore_json(json.dumps(fields))
    assert str(caught.value).startswith(field)


def test_settings_are_checked_and_can_be_written():
    adapter = TypeAdapter(AFlowSettings)
    given = AFlowSettings("m", rounds=3)
    assert adapter.validate_json(adapter.dump_json(given)) == given
    for field, change in (
        ("rounds", {"rounds": 0}), ("spend", {"spend": 0.0}), ("proposer", {"proposer": "x"}),
        ("optimiser", {"proposer": "llm"}), ("optimiser", {"optimiser": "m"}),
        ("cost_weight", {"cost_weight": -1.0}),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"^{field}"):
            AFlowSettings("m", **change)
    bench = world()
    with pytest.raises(ConfigError, match=r"^llm"):
        AFlow(bench.space, bench.llms, bench.encoder, given, 0)
    with pytest.raises(ConfigError, match=r"^val"):
        asyncio.run(searcher(bench).fit(bench.train, ()))


def gain(seed: int) -> float:
    """Accuracy on the test questions: of what the search found, less that of its start."""
    bench = workflow_world(seed)
    learned = AFlow(bench.space, bench.llms, bench.encoder, AFlowSettings(LLMS[0]), seed)

    def accuracy() -> float:
        rollouts = asyncio.run(answer_all(learned, bench.test))
        return float(np.mean([rollout.grade.correct for rollout in rollouts]))

    learned.start()
    before = accuracy()
    asyncio.run(learned.fit(bench.train, bench.val))
    return accuracy() - before


def test_it_finds_that_reading_another_llm_helps():
    """One world; five with an interval are the slow test below."""
    assert gain(seed=0) > 0.05


@pytest.mark.slow
def test_the_search_beats_its_start_by_more_than_the_interval(record_property):
    paired = Paired.of([gain(seed) for seed in range(5)])
    record_property("table: AFlow, found less start, accuracy, 5 simulated worlds", str(paired))
    assert paired.mean > paired.half
