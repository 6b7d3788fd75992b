"""Both debates: who reads what, who votes, and that nothing that was asked is lost."""

import asyncio
from dataclasses import dataclass, field
from itertools import permutations

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.layout import parse_sections, role_of
from hieramas_lib.methods.debate import Debate, DebateSettings, Memory
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

TASK = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
ROLES = load_roles("choice")
NAMES = ("Debater 1", "Debater 2", "Debater 3")
BOTH = pytest.mark.parametrize("memory", ["own chat", "all rounds"])
Reply = str | None | tuple[str, FinishReason]


@dataclass
class Script:
    """Each agent's replies, round by round; None is a call that fails."""

    replies: dict[str, list[Reply]]
    requests: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        role = role_of(request)
        turn = sum(role_of(earlier) == role for earlier in self.requests)
        self.requests.append(request)
        reply = self.replies[role][turn]
        if reply is None:
            raise CallError("timeout", "too slow")
        text, finish = reply if isinstance(reply, tuple) else (reply, "stop")
        return Completion(text, finish, 10, 5, 0.5, 1.0 + int(role[-1]), False, "")

    def of(self, role: str) -> list[ChatRequest]:
        return [request for request in self.requests if role_of(request) == role]


def says(*letters: str | None) -> list[Reply]:
    return [letter and f"Thought {letter}.\n\nAnswer: {letter}" for letter in letters]


def debate(script: Script, memory: Memory = "own chat", rounds: int = 2) -> Rollout:
    method = Debate(ROLES, script, DebateSettings("m", rounds=rounds, memory=memory))
    return asyncio.run(method.answer(TASK))


def read_by(request: ChatRequest) -> list[tuple[str, str]]:
    """Source and answer of each message in the last user message."""
    sections = parse_sections(request.messages[-1].content)
    return [(s.source, s.text[-1]) for s in sections if s.tag == "message"]


@BOTH
def test_the_majority_of_the_last_round_wins_and_all_calls_are_counted(memory: Memory):
    script = Script(dict(zip(NAMES, [says("A", "A"), says("A", "B"), says("C", "B")], strict=True)))
    rollout = debate(script, memory)
    assert (rollout.grade.extracted, rollout.tied) == ("B", False)
    assert [call.role for call in rollout.calls] == [*NAMES, *NAMES]
    assert (rollout.usage.calls, rollout.usage.cost_usd) == (6, 3.0)
    assert rollout.latency_s == 8.0  # two rounds, each as long as its slowest agent
    assert {request.temperature for request in script.requests} == {0.7}


def test_in_its_own_chat_an_agent_reads_the_latest_answers_of_the_others_only():
    letters = [says("A", "B", "C"), says("B", "C", "D"), says("C", "D", "A")]
    script = Script(dict(zip(NAMES, letters, strict=True)))
    debate(script, rounds=3)
    first, second, third = script.of("Debater 2")
    assert [m.role for m in first.messages] == ["system", "user"]
    assert [m.role for m in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[:2] == first.messages
    assert third.messages[:4] == second.messages
    assert second.messages[2].content.endswith("Answer: B")
    assert third.messages[4].content.endswith("Answer: C")
    assert read_by(second) == [("Debater 1", "A"), ("Debater 3", "C")]
    assert read_by(third) == [("Debater 1", "B"), ("Debater 3", "D")]
    body = "\n".join(message.content for message in third.messages[1:])
    assert [s.text for s in parse_sections(body) if s.tag == "task"] == [TASK.statement]


def test_all_rounds_are_a_fresh_prompt_with_everything_said_so_far():
    letters = [says("A", "B", "C"), says("B", "C", "D"), says("C", "D", "A")]
    script = Script(dict(zip(NAMES, letters, strict=True)))
    debate(script, "all rounds", rounds=3)
    _, second, third = script.of("Debater 2")
    assert [m.role for m in third.messages] == ["system", "user"]
    assert read_by(second) == [
        (f"{name}, round 1", x) for name, x in zip(NAMES, "ABC", strict=True)
    ]
    assert read_by(third) == [
        (f"{name}, round {number}", x)
        for number, row in ((1, "ABC"), (2, "BCD"))
        for name, x in zip(NAMES, row, strict=True)
    ]
    sizes = [len(request.messages[-1].content) for request in script.of("Debater 2")]
    assert sizes == sorted(sizes)


def test_a_round_waits_for_the_one_before_and_its_agents_answer_at_once():
    script = Script(dict.fromkeys(NAMES, says("A", "A")))
    debate(script)
    assert [role_of(request) for request in script.requests] == [*NAMES, *NAMES]
    under_way: list[int] = []

    class Slow:
        now = 0

        async def complete(self, request: ChatRequest) -> Completion:
            self.now += 1
            await asyncio.sleep(0.005)
            under_way.append(self.now)
            self.now -= 1
            return Completion("Answer: A", "stop", 1, 1, 0.0, 1.0, False, "")

    asyncio.run(Debate(ROLES, Slow(), DebateSettings("m")).answer(TASK))
    assert under_way == [3, 2, 1, 3, 2, 1]


@BOTH
def test_requested_edges_are_the_messages_read(memory: Memory):
    rollout = debate(Script(dict.fromkeys(NAMES, says("A", "A"))), memory)
    assert set(rollout.requested_edges) == set(permutations(NAMES, 2))
    assert rollout.delivered_edges == rollout.requested_edges
    assert [len(each.requested_edges) for each in rollout.rounds] == [0, 6]


@BOTH
def test_a_failed_call_is_no_message_and_no_vote(memory: Memory):
    letters = [says(None, "A"), says("B", "B"), says("A", None)]
    script = Script(dict(zip(NAMES, letters, strict=True)))
    rollout = debate(script, memory)
    assert rollout.usage.calls == 6
    assert {source[:9] for source, _ in read_by(script.of("Debater 2")[1])} - {"Debater 2"} == {
        "Debater 3"
    }
    assert ("Debater 1", "Debater 2") in rollout.requested_edges
    assert ("Debater 1", "Debater 2") not in rollout.delivered_edges
    assert len(rollout.delivered_edges) == 4
    assert (rollout.grade.extracted, rollout.tied) == ("A", True)  # A and B, one vote each
    again = script.of("Debater 1")[1]
    assert [m.role for m in again.messages] == ["system", "user"]  # its chat begins anew
    assert parse_sections(again.messages[1].content)[0].text == TASK.statement


def test_who_fell_silent_later_goes_on_from_where_it_was_heard():
    letters = [says("A", None, "A"), says("B", "B", "B"), says("B", "C", "C")]
    script = Script(dict(zip(NAMES, letters, strict=True)))
    debate(script, rounds=3)
    third = script.of("Debater 1")[2]
    assert [m.role for m in third.messages] == ["system", "user", "assistant", "user"]
    assert read_by(third) == [("Debater 2", "B"), ("Debater 3", "C")]


@BOTH
def test_truncated_and_refused_answers_do_not_vote(memory: Memory):
    cut: Reply = ("Answer: A", "length")
    refused: Reply = ("Answer: A", "refusal")
    letters = [[*says("A"), cut], [*says("A"), refused], says("A", "B")]
    assert debate(Script(dict(zip(NAMES, letters, strict=True))), memory).grade.extracted == "B"


@BOTH
def test_a_last_round_without_any_answer_is_our_error(memory: Memory):
    rollout = debate(Script(dict.fromkeys(NAMES, says("B", None))), memory)
    assert (rollout.grade.status, rollout.answer) == ("error", "")
    alone = debate(Script(dict.fromkeys(NAMES, says(None, "B"))), memory)
    assert alone.grade.correct and not alone.delivered_edges


def test_another_error_ends_the_debate_when_the_round_is_back():
    class Purse:
        back = 0

        async def complete(self, request: ChatRequest) -> Completion:
            if role_of(request) == "Debater 1":
                raise BudgetExceeded("no money left")
            await asyncio.sleep(0.005)
            self.back += 1
            return Completion("Answer: B", "stop", 1, 1, 0.0, 1.0, False, "")

    purse = Purse()
    with pytest.raises(BudgetExceeded):
        asyncio.run(Debate(ROLES, purse, DebateSettings("m")).answer(TASK))
    assert purse.back == 2


def test_the_variants_have_names_of_their_own():
    script = Script({})
    names = [
        Debate(ROLES, script, DebateSettings("m", memory=m)).name
        for m in ("own chat", "all rounds")
    ]
    assert names == ["LLM-Debate", "LLM-Debate, all rounds"]


@pytest.mark.parametrize(
    ("field_", "value"), [("agents", 1), ("rounds", 0), ("memory", "everything")]
)
def test_settings_name_what_is_wrong(field_: str, value: object):
    with pytest.raises(ConfigError, match=f"^{field_}: "):
        DebateSettings(**{"llm": "m", field_: value})  # type: ignore[arg-type]


@BOTH
@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_it_answers_what_ships_and_twice_the_same(benchmark: str, memory: Memory):
    def run(slots: int) -> list[str]:
        bench = open_benchmark(benchmark, seed=1, graphs=2, width=1, decision="gemma-3-27b")
        settings = DebateSettings("llama-3.1-8b", memory=memory)
        method = Debate(bench.space.roles, bench.llms, settings)

        async def fit_and_answer() -> list[Rollout]:
            await method.fit(bench.train, bench.val)
            return await answer_all(method, bench.test[:4], slots=slots)

        rollouts = asyncio.run(fit_and_answer())
        assert [r.usage.calls for r in rollouts] == [6] * 4
        assert bench.llms.usage.calls == 24
        assert sum(r.usage.cost_usd for r in rollouts) == pytest.approx(bench.llms.usage.as_if_usd)
        return [rollout.to_json() for rollout in rollouts]

    assert run(1) == run(8)
