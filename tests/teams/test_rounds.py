"""Teams that talk in rounds: what is requested is read, and nothing else is."""

import asyncio
import random
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from team_stubs import TASK, Asked, StubLLM, make_team

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.learning.qmix.actions import graph_of
from hieramas_lib.learning.qmix.play import choice_of, constant_chooser
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.teams.prompts import DECISION_ROLE
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.rounds import (
    Choice,
    Progress,
    RoundsJob,
    run_rounds,
    run_rounds_batch,
)
from hieramas_lib.teams.supernode import SKIP
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Edge, Topology

EVERY_JOINT_ACTION = list(product(range(6), repeat=3))


def agents(count: int = 3, width: int = 0, skip: tuple[int, ...] = ()) -> Team:
    """Plain agents, or supernodes with ``width`` proposers."""
    return make_team(Topology(count), width=width, skip_roles=skip)


def talk(edges: Iterable[Edge], *, rounds: int = 2, ordered: bool = False, team: Team | None = None,
         llms: StubLLM | None = None) -> tuple[Rollout, StubLLM]:  # fmt: skip
    """Run rounds in which the same edges are asked for each time."""
    llms = llms or StubLLM()
    choice = Choice(tuple(edges))
    job = RoundsJob(team or agents(), TASK, rounds, lambda progress: choice, ordered)
    return asyncio.run(run_rounds(job, llms)), llms


def heard(team: Team, asked: list[Asked]) -> set[tuple[str, str]]:
    """The messages that are in the prompts of one round, own ones left out."""
    return {
        (source, a.header.role) for a in asked for source in a.read() if source != a.header.role
    }


def round_of(llms: StubLLM, team: Team, number: int) -> list[Asked]:
    """What plain agents were asked in a round, from 0."""
    return [llms.of(role)[number] for role in team.roles.names]


@pytest.mark.parametrize("mode", ["synchronous", "reference"])
def test_requests_are_messages_for_every_joint_action(mode: str) -> None:
    """In the published code no agent ever reads another, and most are never run."""
    team, names = agents(), agents().roles.names
    for joint in EVERY_JOINT_ACTION:
        llms, graph = StubLLM(), graph_of(joint, mode)  # type: ignore[arg-type]
        choose = constant_chooser(joint, mode)  # type: ignore[arg-type]
        job = RoundsJob(team, TASK, 2, choose, ordered=mode == "reference")
        rollout = asyncio.run(run_rounds(job, llms))
        assert len(llms.asked) == rollout.usage.calls == 3 * 2 + 1
        edges = {(names[u], names[v]) for u, v in graph.edges}
        assert heard(team, round_of(llms, team, 1)) == edges
        assert heard(team, round_of(llms, team, 0)) == (edges if mode == "reference" else set())
        last = rollout.rounds[-1]
        assert set(last.delivered_edges) == edges
        assert set(last.requested_edges) == {(names[u], names[v]) for u, v in graph.requested}
        if mode == "synchronous":
            assert rollout.requested_edges == rollout.delivered_edges


@given(
    rounds=st.integers(1, 3),
    count=st.integers(1, 5),
    width=st.integers(0, 2),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=25)
def test_calls_and_messages_of_any_size(rounds: int, count: int, width: int, seed: int) -> None:
    rng, team, llms = random.Random(seed), agents(count, width), StubLLM()
    joints = [[rng.randrange(6) for _ in range(count)] for _ in range(rounds)]

    def choose(progress: Progress) -> Choice:
        return choice_of(joints[progress.round], "synchronous")

    rollout = asyncio.run(run_rounds(RoundsJob(team, TASK, rounds, choose), llms))
    assert rollout.usage.calls == len(llms.asked) == count * rounds * (width + 1) + 1
    assert len(rollout.rounds) == rounds
    assert rollout.rounds[0].requested_edges == ()
    assert rollout.requested_edges == rollout.delivered_edges
    assert len(rollout.delivered_edges) == sum(len(graph_of(j).edges) for j in joints[1:])


def test_a_round_reads_the_texts_of_the_round_before() -> None:
    team = agents()
    _, llms = talk([(0, 1), (1, 0), (2, 1)], rounds=3, team=team)
    a, b, c = team.roles.names
    for number in (1, 2):
        before = {asked.header.role: asked.reply for asked in round_of(llms, team, number - 1)}
        first, second, third = (asked.read() for asked in round_of(llms, team, number))
        assert first == {a: before[a], b: before[b]}
        assert second == before
        assert third == {c: before[c]}
    assert round_of(llms, team, 1) != round_of(llms, team, 2)


def test_an_ordered_round_reads_texts_of_the_same_round() -> None:
    team = agents()
    rollout, llms = talk([(2, 0), (0, 1)], ordered=True, team=team)
    a, b, c = team.roles.names
    for number in (0, 1):
        now = {asked.header.role: asked.reply for asked in round_of(llms, team, number)}
        first, second, _ = (asked.read() for asked in round_of(llms, team, number))
        assert first[c] == now[c]
        assert second[a] == now[a]
    assert rollout.rounds[0].delivered_edges == ((a, b), (c, a))
    starts = [event[1] for event in llms.events if event[0] == "start"]
    assert starts[:3] == [c, a, b]


def test_the_decision_reads_what_all_said_last() -> None:
    team = agents()
    _, llms = talk([], rounds=3, team=team)
    (asked,) = llms.of(DECISION_ROLE)
    assert asked.read() == {a.header.role: a.reply for a in round_of(llms, team, 2)}


def test_all_agents_of_a_synchronous_round_work_at_once() -> None:
    working: list[str] = []
    most = 0

    async def pause() -> None:
        nonlocal most
        working.append("")
        most = max(most, len(working))
        await asyncio.sleep(0.01)
        working.pop()

    llms = StubLLM(pause=lambda header, request: asyncio.ensure_future(pause()))
    talk([(0, 1), (1, 2), (2, 0)], llms=llms)
    assert most == 3


def test_latency_is_the_slowest_agent_of_each_round_or_the_longest_chain() -> None:
    rollout, _ = talk([(0, 1)])
    seconds = [call.completion.latency_s for call in rollout.calls if call.completion]
    assert rollout.latency_s == max(seconds[:3]) + max(seconds[3:6]) + seconds[6]
    rollout, _ = talk([(0, 1)], ordered=True, rounds=1)
    first, second, third, decision = [c.completion.latency_s for c in rollout.calls if c.completion]
    assert rollout.latency_s == max(first + second, third) + decision


def test_a_failed_call_leaves_requests_undelivered() -> None:
    llms = StubLLM(fails=lambda header, request: request.model == "s0")
    rollout, _ = talk([(0, 1), (2, 1)], llms=llms)
    a, b, c = agents().roles.names
    assert rollout.requested_edges == ((a, b), (c, b))
    assert rollout.delivered_edges == ((c, b),)
    assert rollout.usage.calls == 7
    assert rollout.calls[0].error == "timeout: stub"
    assert rollout.grade.correct


def test_a_pruned_agent_makes_no_call_and_has_no_edges() -> None:
    team = agents(skip=(1,))
    rollout, _ = talk([(0, 1), (1, 2), (0, 2)], team=team)
    a, b, c = team.roles.names
    assert rollout.usage.calls == 2 * 2 + 1
    assert rollout.pruned == (b,)
    assert rollout.requested_edges == rollout.delivered_edges == ((a, c),)
    everyone = agents(skip=(0, 1, 2))
    assert talk([], team=everyone)[0].usage.calls == 1
    assert SKIP not in {call.llm for call in rollout.calls}


class Spent(StubLLM):
    """The budget ends at one agent's second call, while the others' are under way."""

    async def complete(self, request: ChatRequest) -> Completion:
        if request.model == "s1" and len(self.of(agents().roles.names[1])) == 1:
            raise BudgetExceeded("limit")
        return await super().complete(request)


@pytest.mark.parametrize("ordered", [False, True])
def test_an_error_that_is_no_failed_call_stops_the_run(ordered: bool) -> None:
    llms = Spent()
    with pytest.raises(BudgetExceeded) as caught:
        talk([(0, 1), (1, 2)], llms=llms, ordered=ordered)
    assert "stub/1" in caught.value.__notes__[0]
    assert not llms.of(DECISION_ROLE)


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        (RoundsJob(agents(), TASK, 0, lambda p: Choice(())), "rounds"),
        (RoundsJob(make_team(Topology(3, ((0, 1),))), TASK, 2, lambda p: Choice(())), "topology"),
        (RoundsJob(agents(), TASK, 2, lambda p: Choice(((0, 3),))), "edge 0 -> 3"),
        (RoundsJob(agents(), TASK, 2, lambda p: Choice(((1, 1),))), "edge 1 -> 1"),
        (RoundsJob(agents(), TASK, 2, lambda p: Choice(((0, 1), (1, 0))), True), "cycle"),
        (RoundsJob(agents(), TASK, 2, lambda p: Choice(()), sample=1000), "sample"),
    ],
)
def test_what_cannot_be_run(job: RoundsJob, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        asyncio.run(run_rounds(job, StubLLM()))


def test_same_bytes_at_1_and_64_slots() -> None:
    """Calls come back in an order that no two runs share."""
    jitter = random.Random()

    def texts(slots: int) -> list[str]:
        llms = StubLLM(pause=lambda *_: asyncio.ensure_future(asyncio.sleep(jitter.random() / 500)))
        jobs = [
            RoundsJob(agents(), TASK, 3, constant_chooser(joint, "synchronous"), sample=sample)
            for sample, joint in enumerate([(0, 1, 5), (3, 3, 3), (2, 4, 1)])
        ]
        rollouts = asyncio.run(run_rounds_batch(jobs, llms, slots=slots))
        return [rollout.to_json() for rollout in rollouts]

    assert texts(1) == texts(64)
