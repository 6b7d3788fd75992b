"""Calls that fail, and errors that stop a run."""

import asyncio

import pytest
from team_stubs import TASK, StubLLM, make_team

from hieramas_lib.errors import BudgetExceeded, ConfigError, ReplayMiss
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.layout import Header
from hieramas_lib.teams import execution, graph_pool
from hieramas_lib.teams.executor import Job, run_batch, run_team
from hieramas_lib.teams.prompts import DECISION_ROLE, prompt_set
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.topology import Topology
from hieramas_lib.teams.verdict import judge


def run_with_failing(models: set[str], reads: str = "all") -> tuple[Rollout, StubLLM]:
    """Run the chain 0 -> 1 -> 2 with some LLMs out of order."""
    llms = StubLLM(fails=lambda header, request: request.model in models)
    return asyncio.run(run_team(make_team(graph_pool.chain(3), reads=reads), TASK, llms)), llms


def test_a_failed_proposer_leaves_no_proposal() -> None:
    rollout, llms = run_with_failing({"p1.0"})
    names = [node.role for node in rollout.nodes]
    failed, other = rollout.nodes[1].proposals
    assert failed.error == "timeout: stub" and failed.completion is None
    assert llms.of(names[1], "synthesizer")[0].proposals() == [other.text]
    assert rollout.delivered_edges == rollout.requested_edges
    assert rollout.grade.correct
    assert rollout.usage.calls == 10


def test_without_any_proposal_left_the_synthesizer_answers_alone() -> None:
    rollout, llms = run_with_failing({"p1.0", "p1.1"})
    (asked,) = llms.of(rollout.nodes[1].role, "synthesizer")
    assert asked.proposals() == []
    assert rollout.delivered_edges == rollout.requested_edges


@pytest.mark.parametrize("reads", ["all", "sinks"])
def test_a_failed_synthesizer_leaves_its_node_without_a_message(reads: str) -> None:
    rollout, llms = run_with_failing({"s1"}, reads)
    a, b, c = (node.role for node in rollout.nodes)
    assert rollout.nodes[1].synthesis.error
    assert rollout.requested_edges == ((a, b), (b, c))
    assert rollout.delivered_edges == ((a, b),)
    assert all(asked.read() == {} for asked in llms.of(c))
    expected = [a, c] if reads == "all" else [c]
    assert list(llms.of(DECISION_ROLE)[0].read()) == expected
    assert rollout.grade.correct


def test_a_failed_sink_leaves_the_decision_alone() -> None:
    rollout, llms = run_with_failing({"s2"}, "sinks")
    assert llms.of(DECISION_ROLE)[0].read() == {}
    assert rollout.grade.correct


def test_a_failed_decision_is_an_error_and_not_a_wrong_answer() -> None:
    rollout, llms = run_with_failing({"decider"})
    assert rollout.answer == ""
    assert rollout.grade.status == "error"
    assert rollout.grade.detail == "timeout: stub"
    assert rollout.usage.cost_usd == llms.total_cost > 0


NOTHING_TO_READ: list[tuple[str, FinishReason]] = [
    ("", "stop"),
    (" \n", "length"),
    ("I cannot help with that.", "refusal"),
]


def run_with_blank(models: set[str], end: tuple[str, FinishReason]) -> tuple[Rollout, StubLLM]:
    """Run the chain 0 -> 1 -> 2 with some LLMs that give no proper answer."""
    llms = StubLLM(blank=lambda request: end if request.model in models else None)
    return asyncio.run(run_team(make_team(graph_pool.chain(3)), TASK, llms, grade_nodes=True)), llms


@pytest.mark.parametrize("end", NOTHING_TO_READ)
def test_an_empty_or_refused_proposal_is_left_out(end: tuple[str, FinishReason]) -> None:
    rollout, llms = run_with_blank({"p1.0"}, end)
    node = rollout.nodes[1]
    (asked,) = llms.of(node.role, "synthesizer")
    assert asked.proposals() == [node.proposals[1].text]
    assert node.proposals[0].text == end[0], "the record keeps what was paid for"
    assert rollout.usage.cost_usd == llms.total_cost


@pytest.mark.parametrize("end", NOTHING_TO_READ)
def test_without_any_readable_proposal_the_synthesizer_gets_the_solo_prompt(
    end: tuple[str, FinishReason],
) -> None:
    rollout, llms = run_with_blank({"p1.0", "p1.1"}, end)
    team = make_team(graph_pool.chain(3))
    (asked,) = llms.of(rollout.nodes[1].role, "synthesizer")
    assert asked.proposals() == []
    assert asked.request.messages[0] == prompt_set(team.roles).solo[1]
    assert rollout.delivered_edges == rollout.requested_edges


@pytest.mark.parametrize("end", NOTHING_TO_READ)
def test_an_empty_or_refused_message_is_not_delivered(end: tuple[str, FinishReason]) -> None:
    rollout, llms = run_with_blank({"s1"}, end)
    a, b, c = (node.role for node in rollout.nodes)
    assert rollout.requested_edges == ((a, b), (b, c))
    assert rollout.delivered_edges == ((a, b),)
    assert all(asked.read() == {} for asked in llms.of(c))
    assert list(llms.of(DECISION_ROLE)[0].read()) == [a, c]
    grade = rollout.nodes[1].grade
    assert grade is not None
    assert grade.status == ("unparsed" if end[1] == "refusal" else "empty")


def test_a_truncated_text_is_passed_on_as_far_as_it_goes() -> None:
    end: tuple[str, FinishReason] = ("The planet nearest to the", "length")
    rollout, llms = run_with_blank({"p1.0", "s1"}, end)
    _, b, c = (node.role for node in rollout.nodes)
    assert llms.of(b, "synthesizer")[0].proposals()[0] == end[0]
    assert rollout.delivered_edges == rollout.requested_edges
    assert all(asked.read() == {b: end[0]} for asked in llms.of(c))


class Stopping(StubLLM):
    """Raises ``error`` at the call of one LLM, while the other calls take three turns."""

    error: Exception = BudgetExceeded("limit")
    at: str = "p1.0"

    async def complete(self, request: ChatRequest) -> Completion:
        if request.model == self.at:
            for _ in range(2):
                await asyncio.sleep(0)
            self.events.append(("stop", "", "", request.model))
            raise self.error
        return await super().complete(request)


async def three_turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def slowly(header: Header, request: ChatRequest) -> object:
    return three_turns()


@pytest.mark.parametrize("kind", [BudgetExceeded, ReplayMiss, ConfigError, ZeroDivisionError])
@pytest.mark.parametrize("batch", [False, True])
def test_errors_that_are_no_failed_call_stop_the_run_and_lose_nothing(
    kind: type[Exception], batch: bool
) -> None:
    error = kind("stop here")
    team = make_team(graph_pool.empty(3))
    llms = Stopping(pause=slowly)  # type: ignore[arg-type]
    llms.error = error
    with pytest.raises(kind) as caught:
        if batch:
            asyncio.run(run_batch([Job(team, TASK, i) for i in range(5)], llms, slots=2))
        else:
            asyncio.run(run_team(team, TASK, llms))
    assert caught.value is error
    where, *finished = error.__notes__
    assert where == "in the rollout of task 'stub/1'"
    assert len(finished) == batch
    kinds = [event[0] for event in llms.events]
    assert kinds.count("start") == kinds.count("end"), "a call in flight was lost"
    assert "start" not in kinds[kinds.index("stop") :], "a call was started after the error"
    assert not llms.of(DECISION_ROLE)


def test_a_bug_of_ours_in_one_rollout_of_a_batch_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(task: object, call: object) -> object:
        raise ZeroDivisionError("grader")

    monkeypatch.setattr(execution, "judge", broken)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_batch([Job(make_team(Topology(1)), TASK)] * 3, StubLLM()))


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("Answer: B", "stop", "correct"),
        ("Answer: C", "stop", "wrong"),
        ("Answer: B", "length", "unparsed"),
        ("Answer: B", "refusal", "unparsed"),
        ("I cannot say", "stop", "unparsed"),
        (" \n", "stop", "empty"),
        ("", "length", "empty"),
    ],
)
def test_verdicts(text: str, finish: str, status: str) -> None:
    completion = Completion(text, finish, 1, 1, 0.0, 0.0, False, "k")  # type: ignore[arg-type]
    call = CallRecord("Assistant", "alone", "a", completion)
    assert asyncio.run(judge(TASK, call)).status == status


def test_a_failed_call_is_judged_an_error() -> None:
    verdict = asyncio.run(judge(TASK, CallRecord("Assistant", "alone", "a", error="server: down")))
    assert (verdict.status, verdict.detail) == ("error", "server: down")
