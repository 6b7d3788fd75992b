"""What runs is the graph that was chosen: read off the prompts, not off the executor's record."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from team_stubs import TASK, Asked, StubLLM, make_team, some_roles, teams

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.layout import Header
from hieramas_lib.teams import graph_pool
from hieramas_lib.teams.executor import COPY_STRIDE, Job, run_batch, run_team
from hieramas_lib.teams.graph_pool import uniform_pool
from hieramas_lib.teams.prompts import DECISION_ROLE
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology


def run(team: Team, llms: StubLLM, *, grade_nodes: bool = False) -> Rollout:
    return asyncio.run(run_team(team, TASK, llms, grade_nodes=grade_nodes))


def edges_in_prompts(team: Team, llms: StubLLM) -> set[tuple[str, str]]:
    """Edges as the prompts show them; every position of a role must read the same messages.

    A message counts only if its text is what the source's synthesizer in fact replied.
    """
    said = {a.header.role: a.reply for a in llms.asked if a.header.position == "synthesizer"}
    found = set()
    for name in team.roles.names:
        readings = [asked.read() for asked in llms.of(name)]
        assert all(reading == readings[0] for reading in readings)
        for source, text in (readings[0] if readings else {}).items():
            assert text == said[source]
            found.add((source, name))
    return found


def expected_edges(team: Team) -> list[tuple[str, str]]:
    names = team.roles.names
    acts = [supernode.synthesizer != SKIP for supernode in team.supernodes]
    return sorted((names[u], names[v]) for u, v in team.topology.edges if acts[u] and acts[v])


def expected_calls(team: Team) -> Counter[tuple[str, str, str]]:
    calls = Counter([(DECISION_ROLE, "decision", team.decision)])
    for node in team.supernodes:
        if node.synthesizer != SKIP:
            calls[(node.role, "synthesizer", node.synthesizer)] += 1
            calls.update((node.role, "proposer", m) for m in node.proposers if m != SKIP)
    return calls


def made_calls(asked: list[Asked]) -> Counter[tuple[str, str, str]]:
    return Counter((a.header.role, a.header.position, a.request.model) for a in asked)


@settings(max_examples=150, deadline=None)
@given(teams())
def test_any_team_runs_exactly_as_chosen(team: Team) -> None:
    llms = StubLLM()
    rollout = run(team, llms)
    shown = edges_in_prompts(team, llms)
    assert sorted(shown) == expected_edges(team)
    assert sorted(rollout.requested_edges) == sorted(shown)
    assert rollout.delivered_edges == rollout.requested_edges
    assert made_calls(llms.asked) == expected_calls(team)
    assert rollout.pruned == tuple(n.role for n in team.supernodes if n.synthesizer == SKIP)
    assert rollout.topology_id == team.topology.id
    assert rollout.grade.correct


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(0, 1000))
def test_graphs_of_a_pool_deliver_every_edge(size: int, seed: int) -> None:
    for topology in uniform_pool(size, 2, seed=seed):
        team = make_team(topology)
        llms = StubLLM()
        rollout = run(team, llms)
        assert sorted(edges_in_prompts(team, llms)) == expected_edges(team)
        assert len(rollout.delivered_edges) == len(topology.edges)
        assert len(rollout.calls) == len(llms.asked) == 3 * size + 1


@settings(max_examples=60, deadline=None)
@given(teams(), st.randoms(use_true_random=False))
def test_nobody_starts_before_its_predecessors_are_done(team: Team, random: object) -> None:
    async def some_turns(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    llms = StubLLM(pause=lambda header, request: some_turns(random.randint(0, 9)))  # type: ignore
    run(team, llms)
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for time, (event, role, position, _) in enumerate(llms.events):
        if event == "start":
            starts.setdefault(role, time)
            if position == "synthesizer":
                proposing = [e for e in llms.events[:time] if e[1:3] == (role, "proposer")]
                assert len(proposing) % 2 == 0, "a proposer was still at work"
        else:
            ends[role] = time
    for u, v in expected_edges(team):
        assert ends[u] < starts[v]
    assert all(end < starts[DECISION_ROLE] for role, end in ends.items() if role != DECISION_ROLE)


def test_proposers_of_independent_roles_are_in_flight_together() -> None:
    async def scenario() -> None:
        team = make_team(graph_pool.empty(3))
        all_started = asyncio.Event()
        started = 0

        def pause(header: Header, request: ChatRequest) -> object:
            nonlocal started
            if header.position != "proposer":
                return None
            started += 1
            if started == 6:
                all_started.set()
            return all_started.wait()

        async with asyncio.timeout(10):
            await run_team(team, TASK, StubLLM(pause=pause))  # type: ignore[arg-type]

    asyncio.run(scenario())


def test_a_role_does_not_wait_for_those_it_does_not_read() -> None:
    # 0 -> 1, and 2 apart. Role 2 comes back only once role 1 has started.
    async def scenario() -> None:
        team = make_team(Topology(3, ((0, 1),)))
        names = team.roles.names
        reader_started = asyncio.Event()

        def pause(header: Header, request: ChatRequest) -> object:
            if header.role == names[1]:
                reader_started.set()
            return reader_started.wait() if header.role == names[2] else None

        async with asyncio.timeout(10):
            await run_team(team, TASK, StubLLM(pause=pause))  # type: ignore[arg-type]

    asyncio.run(scenario())


def test_proposals_are_numbered_and_seen_by_their_synthesizer_only() -> None:
    team = make_team(graph_pool.chain(2))
    llms = StubLLM()
    run(team, llms)
    for name in team.roles.names:
        replies = [a.reply for a in llms.of(name, "proposer")]
        (synthesis,) = llms.of(name, "synthesizer")
        assert synthesis.proposals() == replies
        assert [s.source for s in synthesis.sections if s.tag == "proposal"] == ["1", "2"]
        assert all(not a.proposals() for a in llms.of(name, "proposer"))
    assert not llms.of(DECISION_ROLE)[0].proposals()


def test_messages_come_in_role_order_whatever_the_graph() -> None:
    team = make_team(Topology(4, ((3, 0), (1, 0), (2, 0))))
    llms = StubLLM()
    run(team, llms)
    names = team.roles.names
    assert list(llms.of(names[0], "synthesizer")[0].read()) == list(names[1:])


@pytest.mark.parametrize(("reads", "informants"), [("all", (0, 2, 3)), ("sinks", (2, 3))])
def test_the_decision_reads_all_kept_roles_or_the_sinks_of_the_pruned_graph(
    reads: str, informants: tuple[int, ...]
) -> None:
    # 0 -> 1 -> 2 and 0 -> 3 without role 1: 2 and 3 are sinks, 0 is still read by 3.
    team = make_team(Topology(4, ((0, 1), (1, 2), (0, 3))), skip_roles=(1,), reads=reads)
    llms = StubLLM()
    rollout = run(team, llms)
    names = team.roles.names
    (decision,) = llms.of(DECISION_ROLE)
    assert list(decision.read()) == [names[i] for i in informants]
    assert rollout.requested_edges == rollout.delivered_edges == ((names[0], names[3]),)
    assert rollout.pruned == (names[1],)
    assert not llms.of(names[1])


def test_a_role_whose_only_reader_is_pruned_becomes_a_sink() -> None:
    team = make_team(graph_pool.chain(2), skip_roles=(1,), reads="sinks")
    llms = StubLLM()
    run(team, llms)
    assert list(llms.of(DECISION_ROLE)[0].read()) == [team.roles.names[0]]


def test_all_pruned_the_decision_answers_alone() -> None:
    team = make_team(graph_pool.full(3), skip_roles=(0, 1, 2))
    llms = StubLLM()
    rollout = run(team, llms)
    (asked,) = llms.asked
    assert asked.header.position == "decision"
    assert [s.tag for s in asked.sections] == ["task"]
    assert len(rollout.calls) == rollout.usage.calls == 1
    assert rollout.nodes == ()
    assert rollout.requested_edges == ()


def test_without_proposers_the_synthesizer_answers_alone_as_a_plain_agent() -> None:
    roles = some_roles(1)
    team = Team(roles, (Supernode(roles.names[0], (SKIP, SKIP), "s"),), Topology(1), "d")
    llms = StubLLM()
    rollout = run(team, llms)
    (asked,) = llms.of(roles.names[0])
    assert asked.header.position == "synthesizer"
    system = asked.request.messages[0].content
    assert roles.proposer.strip() in system and roles.synthesizer.strip() not in system
    assert rollout.nodes[0].proposals == ()


def test_the_same_llm_twice_is_asked_twice() -> None:
    roles = some_roles(1)
    team = Team(roles, (Supernode(roles.names[0], ("a", "b", "a"), "a"),), Topology(1), "d")
    llms = StubLLM()
    asyncio.run(run_team(team, TASK, llms, sample=7))
    samples = [(a.request.model, a.request.sample) for a in llms.of(roles.names[0], "proposer")]
    assert samples == [("a", 7), ("b", 7), ("a", 7 + COPY_STRIDE)]
    assert len({a.request for a in llms.asked}) == len(llms.asked)


@pytest.mark.parametrize("slots", [1, 64])
def test_costs_of_items_add_up_to_what_the_llms_took(slots: int) -> None:
    graphs = uniform_pool(4, 40, seed=5)
    jobs = [Job(make_team(graph, width=i % 3), TASK, i) for i, graph in enumerate(graphs)]
    llms = StubLLM(pause=lambda header, request: asyncio.sleep(0))  # type: ignore[arg-type]
    rollouts = asyncio.run(run_batch(jobs, llms, slots=slots))
    # Costs of the stub are multiples of 1/1024, so sums are exact.
    assert sum(r.usage.cost_usd for r in rollouts) == llms.total_cost
    assert sum(r.usage.prompt_tokens for r in rollouts) == llms.total_tokens
    assert sum(r.usage.calls for r in rollouts) == len(llms.asked)
    for rollout in rollouts:
        nodes = sum(node.usage.cost_usd for node in rollout.nodes)
        decision = rollout.calls[-1].completion
        assert decision is not None and decision.cost_usd is not None
        assert nodes + decision.cost_usd == rollout.usage.cost_usd


@settings(max_examples=20, deadline=None)
@given(st.lists(teams(), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_same_records_at_one_and_at_many_slots(batch: list[Team], random: object) -> None:
    async def some_turns() -> None:
        for _ in range(random.randint(0, 5)):  # type: ignore[attr-defined]
            await asyncio.sleep(0)

    jobs = [Job(team, TASK, sample) for sample, team in enumerate(batch)]
    one = asyncio.run(run_batch(jobs, StubLLM(), slots=1))
    slow = StubLLM(pause=lambda header, request: some_turns())  # type: ignore[arg-type]
    many = asyncio.run(run_batch(jobs, slow, slots=64, grade_nodes=False))
    assert one == many


@pytest.mark.parametrize("slots", [1, 3])
def test_no_more_rollouts_than_slots_are_under_way(slots: int) -> None:
    busy: set[int] = set()
    peak = 0

    class Watcher(StubLLM):
        async def complete(self, request: ChatRequest) -> object:  # type: ignore[override]
            nonlocal peak
            busy.add(request.sample)
            peak = max(peak, len(busy))
            await asyncio.sleep(0)
            completion = await super().complete(request)
            busy.discard(request.sample)
            return completion

    team = make_team(graph_pool.chain(2), width=1)
    asyncio.run(run_batch([Job(team, TASK, i) for i in range(9)], Watcher(), slots=slots))
    assert peak == slots


def test_latency_is_the_critical_path() -> None:
    # 0 -> 2 and 1 -> 2; each call of role i lasts as given, whatever the clock says.
    team = make_team(Topology(3, ((0, 2), (1, 2))))
    rollout = run(team, StubLLM())

    def seconds(node: int) -> float:
        record = rollout.nodes[node]
        proposing = max(c.completion.latency_s for c in record.proposals if c.completion)
        assert record.synthesis.completion is not None
        return proposing + record.synthesis.completion.latency_s

    decision = rollout.calls[-1].completion
    assert decision is not None
    expected = max(seconds(0), seconds(1)) + seconds(2) + decision.latency_s
    assert rollout.latency_s == pytest.approx(expected)
    assert rollout.latency_s < sum(c.completion.latency_s for c in rollout.calls if c.completion)


def test_node_grades_only_where_asked_and_only_for_roles_that_answer() -> None:
    code = load_roles("choice").model_copy(
        update={
            "roles": tuple(
                role.model_copy(update={"duty": duty})
                for role, duty in zip(
                    some_roles(3).roles, ("planner", "expert", "checker"), strict=True
                )
            )
        }
    )
    nodes = tuple(Supernode(name, (), "s") for name in code.names)
    team = Team(code, nodes, graph_pool.empty(3), "d")
    wrong = code.names[2]
    llms = StubLLM(answer=lambda header: "C" if header.role == wrong else "B")
    grades = [node.grade for node in run(team, llms, grade_nodes=True).nodes]
    assert grades[0] is None
    assert grades[1] is not None and grades[1].status == "correct"
    assert grades[2] is not None and grades[2].status == "wrong"
    assert all(node.grade is None for node in run(team, StubLLM()).nodes)


def test_parts_that_do_not_fit_are_refused_before_any_call() -> None:
    roles = some_roles(2)
    nodes = tuple(Supernode(name, (), "s") for name in roles.names)
    with pytest.raises(ConfigError, match="3 nodes for the 2 roles"):
        Team(roles, nodes, Topology(3), "d")
    with pytest.raises(ConfigError, match="in this order"):
        Team(roles, nodes[::-1], Topology(2), "d")
    with pytest.raises(ConfigError, match="decision"):
        Team(roles, nodes, Topology(2), SKIP)
    maths = load_roles("maths")
    team = Team(maths, tuple(Supernode(n, (), "s") for n in maths.names), Topology(3), "d")
    llms = StubLLM()
    with pytest.raises(ConfigError, match="kind 'maths'"):
        asyncio.run(run_batch([Job(make_team(Topology(2)), TASK), Job(team, TASK)], llms))
    assert not llms.asked
    for job, slots, fault in ((Job(team, TASK, 1000), 1, "kind"), (Job(team, TASK), 0, "slots")):
        with pytest.raises(ConfigError, match=fault):
            asyncio.run(run_batch([job], llms, slots=slots))
    with pytest.raises(ConfigError, match="sample"):
        asyncio.run(run_team(make_team(Topology(2)), TASK, llms, sample=1000))
