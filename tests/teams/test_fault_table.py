"""Every position, every pair of positions, all proposers, everybody: out of order, in every way.

What each record must say is worked out here from the documented rules alone: a lost proposer
leaves no proposal, a lost synthesizer no message, a lost decision no answer.
"""

import asyncio
from itertools import combinations

import pytest
from team_stubs import TASK, Asked, StubLLM, make_team

from hieramas_lib.llms.chat import ChatRequest, FinishReason
from hieramas_lib.teams import graph_pool
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.prompts import DECISION_ROLE, prompt_set
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

PROPOSERS = tuple(f"p{node}.{place}" for node in range(3) for place in range(2))
SYNTHESIZERS = ("s0", "s1", "s2")
POSITIONS = (*PROPOSERS, *SYNTHESIZERS, "decider")
LOST: tuple[frozenset[str], ...] = (
    frozenset(),
    *(frozenset({position}) for position in POSITIONS),
    *(frozenset(pair) for pair in combinations(POSITIONS, 2)),
    frozenset(PROPOSERS),
    frozenset(SYNTHESIZERS),
    frozenset({*PROPOSERS, *SYNTHESIZERS}),
    frozenset({*PROPOSERS, "decider"}),
    frozenset(POSITIONS),
)
"""The positions that are out of order, a rollout each."""

WAYS: dict[str, tuple[str, FinishReason] | None] = {
    "fails": None,
    "says nothing": ("", "stop"),
    "only thinks": ("  \n", "length"),
    "refuses": ("I cannot help with that.", "refusal"),
}
STATUS = {"fails": "error", "says nothing": "empty", "only thinks": "empty", "refuses": "unparsed"}
GRAPHS = (
    graph_pool.empty(3),
    graph_pool.chain(3),
    graph_pool.star(3),
    graph_pool.full(3),
    Topology(3, ((1, 0), (2, 0))),
)


def run_table(team: Team, way: str) -> tuple[list[Rollout], list[list[Asked]]]:
    """Run all of ``LOST`` as one batch; return the rollouts and what was asked in each."""

    def out(request: ChatRequest) -> bool:
        return request.model in LOST[request.sample]

    blank = WAYS[way]
    if blank is None:
        llms = StubLLM(fails=lambda header, request: out(request))
    else:
        llms = StubLLM(blank=lambda request: blank if out(request) else None)
    jobs = [Job(team, TASK, sample) for sample in range(len(LOST))]
    rollouts = asyncio.run(run_batch(jobs, llms, grade_nodes=True))
    asked = [[a for a in llms.asked if a.request.sample == sample] for sample in range(len(LOST))]
    return rollouts, asked


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reads", ["all", "sinks"])
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.id)
def test_whatever_is_lost_the_record_says_so(graph: Topology, reads: str, way: str) -> None:
    team = make_team(graph, reads=reads)
    rollouts, asked = run_table(team, way)
    assert len(LOST) == 1 + 10 + 45 + 5
    for lost, rollout, requests in zip(LOST, rollouts, asked, strict=True):
        check_calls(lost, rollout, way)
        check_edges(team, lost, rollout)
        check_grades(lost, rollout, way)
        check_prompts(team, lost, requests)


def check_calls(lost: frozenset[str], rollout: Rollout, way: str) -> None:
    assert [call.llm for call in rollout.calls] == [
        "p0.0", "p0.1", "s0", "p1.0", "p1.1", "s1", "p2.0", "p2.1", "s2", "decider",
    ]  # fmt: skip
    assert {call.llm for call in rollout.calls if not call.readable} == lost
    failed = {call.llm for call in rollout.calls if call.error}
    assert failed == (lost if way == "fails" else frozenset())
    assert all((call.completion is None) == bool(call.error) for call in rollout.calls)
    assert rollout.usage.calls == 10
    assert len(rollout.nodes) == 3
    assert rollout.pruned == ()


def check_edges(team: Team, lost: frozenset[str], rollout: Rollout) -> None:
    names, edges = team.roles.names, team.topology.edges
    heard = [(u, v) for u, v in edges if f"s{u}" not in lost]
    assert rollout.requested_edges == tuple((names[u], names[v]) for u, v in edges)
    assert rollout.delivered_edges == tuple((names[u], names[v]) for u, v in heard)


def check_grades(lost: frozenset[str], rollout: Rollout, way: str) -> None:
    for node, record in enumerate(rollout.nodes):
        assert record.grade is not None
        assert record.grade.status == (STATUS[way] if f"s{node}" in lost else "correct")
    assert rollout.grade.status == (STATUS[way] if "decider" in lost else "correct")
    answered = "decider" not in lost
    assert bool(rollout.answer.strip()) == (answered or way == "refuses")


def check_prompts(team: Team, lost: frozenset[str], asked: list[Asked]) -> None:
    """Check what each position that answered had been given to read."""
    graph, names, prompts = team.topology, team.roles.names, prompt_set(team.roles)
    for one in asked:
        who = one.request.model
        if who == "decider":
            sources = set(range(3)) if team.reads == "all" else set(graph.sinks)
        else:
            sources = set(graph.predecessors(int(who[1])))
        assert set(one.read()) == {names[u] for u in sources if f"s{u}" not in lost}
        proposals = 0
        if who in SYNTHESIZERS:
            node = int(who[1])
            proposals = sum(f"p{node}.{place}" not in lost for place in range(2))
            alone = one.request.messages[0] == prompts.solo[node]
            assert alone == (proposals == 0)
        assert len(one.proposals()) == proposals
        if one.header.role == DECISION_ROLE:
            assert (one.request.messages[0] == prompts.decision_alone) == (not one.read())
