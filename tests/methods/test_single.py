"""One LLM without a team, with a scripted LLM behind it."""

import asyncio
from dataclasses import dataclass, field

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Header, parse_sections
from hieramas_lib.methods.single import SingleLLM, SingleSettings, base, cot, self_consistency
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles

TASK = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
ROLES = load_roles("choice")


def completion(text: str, cost: float = 0.5) -> Completion:
    return Completion(text, "stop", 10, 5, cost, 2.0, False, "")


@dataclass
class Script:
    """Answers with one text a sample; None is a call that fails."""

    texts: list[str | None]
    requests: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        text = self.texts[request.sample]
        if text is None:
            raise CallError("timeout", "too slow")
        return completion(text)


def run(method: SingleLLM):
    return asyncio.run(method.answer(TASK))


def test_base_and_cot_ask_once_and_differ_in_style():
    for make, style in ((base, "answer only"), (cot, "step by step")):
        script = Script(["Answer: B"])
        rollout = run(make("m", script, ROLES))
        assert rollout.grade.correct
        (request,) = script.requests
        header = Header.parse(request.messages[0].content)
        assert (header.position, header.style) == ("alone", style)
        (section,) = parse_sections(request.messages[1].content)
        assert section.text == TASK.statement


def test_self_consistency_takes_the_majority_of_five_distinct_samples():
    script = Script(["Answer: A", "Answer: B", "no idea", "Answer: B", "Answer: C"])
    rollout = run(self_consistency("m", script, ROLES))
    assert rollout.grade.extracted == "B"
    assert sorted(r.sample for r in script.requests) == [0, 1, 2, 3, 4]
    assert {r.temperature for r in script.requests} == {1.0}
    assert rollout.usage.cost_usd == 2.5
    assert rollout.latency_s == 2.0  # samples are drawn at the same time


def test_a_tie_is_recorded():
    rollout = run(self_consistency("m", Script([f"Answer: {x}" for x in "AABBC"]), ROLES))
    assert (rollout.grade.extracted, rollout.tied) == ("A", True)
    assert not run(self_consistency("m", Script([f"Answer: {x}" for x in "AABBB"]), ROLES)).tied
    assert not run(base("m", Script(["Answer: A"]), ROLES)).tied


@pytest.mark.parametrize(("field", "value"), [("style", "at length"), ("samples", 0)])
def test_settings_name_what_is_wrong(field: str, value: object):
    good = {"name": "Base", "llm": "m", "style": "answer only"}
    with pytest.raises(ConfigError, match=f"^{field}: "):
        SingleSettings(**good | {field: value})  # type: ignore[arg-type]


def test_a_failed_sample_does_not_vote():
    rollout = run(
        self_consistency("m", Script([None, "Answer: A", None, "Answer: B", "Answer: B"]), ROLES)
    )
    assert rollout.grade.correct
    assert rollout.usage.calls == 5
    assert rollout.usage.cost_usd == 1.5


def test_all_calls_failed_is_our_error_not_a_wrong_answer():
    rollout = run(base("m", Script([None]), ROLES))
    assert rollout.grade.status == "error"
    assert "too slow" in rollout.grade.detail
    assert rollout.answer == ""


@pytest.mark.parametrize(("text", "status"), [("", "empty"), ("I cannot say.", "unparsed")])
def test_no_answer_is_never_correct(text: str, status: str):
    assert run(base("m", Script([text]), ROLES)).grade.status == status


def test_a_spent_budget_waits_for_the_calls_in_flight():
    """What was paid for comes back before the run stops."""
    finished = []

    class Purse:
        async def complete(self, request: ChatRequest) -> Completion:
            if request.sample == 0:
                raise BudgetExceeded("no money left")
            await asyncio.sleep(0.01)
            finished.append(request.sample)
            return completion("Answer: B")

    with pytest.raises(BudgetExceeded):
        run(self_consistency("m", Purse(), ROLES))
    assert sorted(finished) == [1, 2, 3, 4]
