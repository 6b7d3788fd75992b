"""One call, a chain and a chat: who reads whom."""

import asyncio
from dataclasses import dataclass, field

import pytest

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import parse_sections, role_of
from hieramas_lib.methods.shapes import (
    Turns,
    TurnsSettings,
    chain,
    round_robin_chat,
    single_call,
)
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

TASK = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
ROLES = load_roles("choice")


@dataclass
class Script:
    """A text a turn; None is a call that fails."""

    texts: list[str | None]
    requests: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        text = self.texts[len(self.requests) - 1]
        if text is None:
            raise CallError("timeout", "too slow")
        return Completion(text, "stop", 10, 5, 0.5, 2.0, False, "")

    @property
    def read(self) -> list[list[tuple[str, str]]]:
        """Source and text of what each turn read besides the task."""
        found = []
        for request in self.requests:
            task, *messages = parse_sections(request.messages[1].content)
            assert task.text == TASK.statement
            found.append([(m.source, m.text) for m in messages])
        return found


def test_a_chain_hands_one_message_on():
    script = Script(["one", "two", "Answer: B"])
    rollout = asyncio.run(chain("m", script, ROLES).answer(TASK))
    assert script.read == [[], [("Agent 1", "one")], [("Agent 2", "two")]]
    assert [call.role for call in rollout.calls] == ["Agent 1", "Agent 2", "Agent 3"]
    assert rollout.grade.correct
    assert (rollout.usage.calls, rollout.usage.cost_usd, rollout.latency_s) == (3, 1.5, 6.0)


def test_in_a_chat_everybody_reads_everything_and_turns_go_round():
    script = Script(["1", "2", "3", "4", "Answer: B"])
    rollout = asyncio.run(round_robin_chat("m", script, ROLES, turns=5).answer(TASK))
    speakers = ["Agent 1", "Agent 2", "Agent 3", "Agent 1", "Agent 2"]
    assert [role_of(request) for request in script.requests] == speakers
    spoken = list(zip(speakers, script.texts, strict=True))
    assert script.read == [spoken[:turn] for turn in range(5)]
    assert rollout.grade.correct


def test_a_failed_turn_is_absent_and_counted():
    script = Script(["one", None, "Answer: B"])
    rollout = asyncio.run(chain("m", script, ROLES).answer(TASK))
    assert script.read == [[], [("Agent 1", "one")], [("Agent 1", "one")]]
    assert rollout.grade.correct
    assert (rollout.usage.calls, rollout.usage.cost_usd) == (3, 1.0)


def test_the_last_turn_gives_the_answer_or_none_is_given():
    said = asyncio.run(
        chain("m", Script(["Answer: B", "Answer: B", "I agree."]), ROLES).answer(TASK)
    )
    assert said.grade.status == "unparsed"
    failed = asyncio.run(chain("m", Script(["Answer: B", "Answer: B", None]), ROLES).answer(TASK))
    assert (failed.grade.status, failed.answer) == ("error", "")


def test_a_single_call_is_one_call():
    script = Script(["Answer: B"])
    method = single_call("m", script, ROLES)
    rollout = asyncio.run(method.answer(TASK))
    assert (method.name, rollout.usage.calls, script.read) == ("Shape: single call", 1, [[]])


def test_names_say_that_they_are_shapes():
    script = Script([])
    assert chain("m", script, ROLES).name == "Shape: chain"
    assert round_robin_chat("m", script, ROLES).name == "Shape: round-robin chat"


@pytest.mark.parametrize(("field_", "value"), [("shape", "ring"), ("agents", 0), ("turns", 0)])
def test_settings_name_what_is_wrong(field_: str, value: object):
    with pytest.raises(ConfigError, match=f"^{field_}: "):
        TurnsSettings(**{"llm": "m", "shape": "chain", field_: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_they_answer_what_ships_and_twice_the_same(benchmark: str):
    def run(slots: int) -> list[str]:
        bench = open_benchmark(benchmark, seed=1, graphs=2, width=1, decision="gemma-3-27b")
        alone = ("llama-3.1-8b", bench.llms, bench.space.roles)
        methods = (single_call(*alone), chain(*alone), round_robin_chat(*alone))

        async def fit_and_answer(method: Turns) -> list[Rollout]:
            await method.fit(bench.train, bench.val)
            return await answer_all(method, bench.test[:3], slots=slots)

        rollouts = [r for m in methods for r in asyncio.run(fit_and_answer(m))]  # type: ignore[arg-type]
        assert [r.usage.calls for r in rollouts] == [1] * 3 + [3] * 3 + [5] * 3
        assert bench.llms.usage.calls == 27
        return [rollout.to_json() for rollout in rollouts]

    assert run(1) == run(8)
