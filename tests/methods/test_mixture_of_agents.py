"""Mixture-of-agents: who reads whom, what is paid, what a failure does."""

import asyncio
from dataclasses import dataclass, field

import pytest

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Header, parse_sections, role_of
from hieramas_lib.methods.mixture_of_agents import MixtureOfAgents, MixtureSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

TASK = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
ROLES = load_roles("choice")


@dataclass
class Script:
    """Says which call of which agent it is; fails where told to."""

    failing: tuple[str, ...] = ()
    requests: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        role = role_of(request)
        turn = sum(role_of(earlier) == role for earlier in self.requests) + 1
        self.requests.append(request)
        if f"{role}/{turn}" in self.failing:
            raise CallError("timeout", "too slow")
        text = f"{role}/{turn} by {request.model}\nAnswer: B"
        return Completion(text, "stop", 10, 5, 0.5, float(turn), False, "")


def answer(script: Script, layers: int = 2) -> Rollout:
    settings = MixtureSettings(("a", "b", "a"), "c", layers)
    return asyncio.run(MixtureOfAgents(ROLES, script, settings).answer(TASK))


def read_by(request: ChatRequest) -> list[tuple[str, str]]:
    sections = parse_sections(request.messages[1].content)
    assert sections[0].text == TASK.statement
    return [(s.source, s.text.split("\n")[0]) for s in sections[1:]]


def test_each_layer_reads_all_answers_of_the_one_before():
    script = Script()
    rollout = answer(script)
    first, second, last = script.requests[:3], script.requests[3:6], script.requests[6]
    assert [read_by(request) for request in first] == [[]] * 3
    layers = [
        [(str(i), f"Proposer {i}/{turn} by {llm}") for i, llm in enumerate("aba", start=1)]
        for turn in (1, 2)
    ]
    assert [read_by(request) for request in second] == [layers[0]] * 3
    assert read_by(last) == layers[1]
    assert [r.model for r in script.requests] == [*"abaaba", "c"]
    assert [r.temperature for r in script.requests] == [0.7] * 6 + [0.2]
    assert Header.parse(last.messages[0].content) == Header("Aggregator", "decision")
    assert rollout.answer == "Aggregator/1 by c\nAnswer: B"
    assert (rollout.usage.calls, rollout.usage.cost_usd) == (7, 3.5)
    assert rollout.latency_s == 1.0 + 2.0 + 1.0


def test_a_failed_proposal_is_absent_and_the_others_are_numbered_on():
    script = Script(failing=("Proposer 2/1",))
    rollout = answer(script, layers=1)
    assert read_by(script.requests[3]) == [("1", "Proposer 1/1 by a"), ("2", "Proposer 3/1 by a")]
    assert rollout.grade.correct
    assert (rollout.usage.calls, rollout.usage.cost_usd) == (4, 1.5)


def test_without_any_proposal_the_aggregator_answers_the_task():
    script = Script(failing=tuple(f"Proposer {i}/1" for i in (1, 2, 3)))
    assert answer(script, layers=1).grade.correct
    system, user = script.requests[3].messages
    assert "numbered" not in system.content
    assert [s.tag for s in parse_sections(user.content)] == ["task"]


def test_a_failed_aggregator_is_our_error():
    rollout = answer(Script(failing=("Aggregator/1",)))
    assert (rollout.grade.status, rollout.answer, rollout.usage.calls) == ("error", "", 7)


@pytest.mark.parametrize(("field_", "value"), [("proposers", ()), ("layers", 0)])
def test_settings_name_what_is_wrong(field_: str, value: object):
    good = {"proposers": ("a",), "aggregator": "c"}
    with pytest.raises(ConfigError, match=f"^{field_}: "):
        MixtureSettings(**good | {field_: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_it_answers_what_ships_and_twice_the_same(benchmark: str):
    def run(slots: int) -> list[str]:
        bench = open_benchmark(benchmark, seed=1, graphs=2, width=1, decision="gemma-3-27b")
        settings = MixtureSettings(bench.llms.pool.names[:3], "gemma-3-27b")
        method = MixtureOfAgents(bench.space.roles, bench.llms, settings)

        async def fit_and_answer() -> list[Rollout]:
            await method.fit(bench.train, bench.val)
            return await answer_all(method, bench.test[:4], slots=slots)

        rollouts = asyncio.run(fit_and_answer())
        assert [r.usage.calls for r in rollouts] == [7] * 4
        assert bench.llms.usage.calls == 28
        return [rollout.to_json() for rollout in rollouts]

    assert run(1) == run(8)
