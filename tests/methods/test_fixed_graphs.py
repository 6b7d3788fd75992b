"""Plain agents on graphs that nobody learns."""

from collections import Counter
from dataclasses import replace

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.methods.fixed_graphs import (
    FixedGraph,
    FixedGraphSettings,
    RandomGraph,
    RandomGraphSettings,
    plain_team,
    random_graphs,
)
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.run import run
from hieramas_lib.teams.supernode import SKIP

LLM = "qwen3-8b"
NAMES = {"full": "Full-Graph", "chain": "Chain", "star": "Star"}


def bench_of(benchmark: str = "knowledge") -> Benchmark:
    return open_benchmark(
        benchmark, difficulty="hard", seed=0, graphs=12, width=2, decision="gemma-3-27b"
    )


def fixed(bench: Benchmark, shape: str) -> FixedGraph:
    return FixedGraph(bench.space, bench.llms, FixedGraphSettings(LLM, shape))


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_every_benchmark_offline(benchmark: str):
    """Calls: one a role and one decision; edges asked for are edges that were run."""
    bench = bench_of(benchmark)
    roles = len(bench.space.roles.roles)
    edges = {"full": roles * (roles - 1) // 2, "chain": roles - 1, "star": roles - 1}
    methods: list[Method] = [fixed(bench, shape) for shape in NAMES]
    methods += random_graphs(bench.space, bench.llms, LLM, seed=0)
    for method in methods:
        run(method.fit(bench.train, ()))
        for rollout in run(answer_all(method, bench.test[:4])):
            assert rollout.requested_edges == rollout.delivered_edges
            assert rollout.usage.calls == roles + 1
            assert [call.llm for call in rollout.calls] == [LLM] * roles + ["gemma-3-27b"]
            if isinstance(method, FixedGraph):
                assert method.name == NAMES[method.settings.shape]
                assert len(rollout.requested_edges) == edges[method.settings.shape]
            else:
                assert rollout.topology_id in bench.space.graphs.ids


def test_full_is_the_complete_dag_in_declared_order():
    bench = bench_of()
    (rollout,) = run(answer_all(fixed(bench, "full"), bench.test[:1]))
    names = bench.space.roles.names
    expected = {(u, v) for i, u in enumerate(names) for v in names[i + 1 :]}
    assert set(rollout.requested_edges) == expected


def test_agents_are_plain():
    bench = bench_of()
    team = plain_team(bench.space, LLM, bench.space.graphs[0])
    for agent in team.supernodes:
        assert (agent.proposers, agent.synthesizer) == ((SKIP, SKIP), LLM)
    assert (team.decision, team.reads) == (bench.space.decision, bench.space.reads)


def test_random_graphs_are_uniform_over_the_pool_and_differ_by_draw_and_seed():
    bench = bench_of()
    questions = [replace(bench.test[0], id=f"q{i}") for i in range(2400)]
    drawn = {}
    for seed, draw in ((0, 0), (0, 1), (1, 0)):
        method = RandomGraph(bench.space, bench.llms, RandomGraphSettings(LLM, draw), seed)
        drawn[seed, draw] = [method.team(q).topology.id for q in questions]
        again = [method.team(q).topology.id for q in reversed(questions)]
        assert again[::-1] == drawn[seed, draw]  # not by the order of the questions
    counts = Counter(drawn[0, 0])
    assert set(counts) == set(bench.space.graphs.ids)
    # 200 expected, standard deviation 13.5: five of them
    assert all(abs(count - 200) < 68 for count in counts.values())
    for one, other in (((0, 0), (0, 1)), ((0, 0), (1, 0))):
        same = sum(a == b for a, b in zip(drawn[one], drawn[other], strict=True))
        assert same / len(questions) == pytest.approx(1 / 12, abs=0.03)


def test_two_runs_are_identical():
    outcomes = []
    for slots in (1, 64):
        bench = bench_of()
        method = RandomGraph(bench.space, bench.llms, RandomGraphSettings(LLM), 3)
        rollouts = run(answer_all(method, bench.test[:8], slots=slots))
        outcomes.append([r.to_json() for r in rollouts])
    assert outcomes[0] == outcomes[1]


def test_what_cannot_be_is_refused_by_name():
    bench = bench_of()
    with pytest.raises(ConfigError, match="shape: 'ring'"):
        FixedGraphSettings(LLM, "ring")
    with pytest.raises(ConfigError, match="draw: 0 or more"):
        RandomGraphSettings(LLM, -1)
    with pytest.raises(ConfigError, match="llm: 'nobody' is not in the pool"):
        FixedGraph(bench.space, bench.llms, FixedGraphSettings("nobody"))
    with pytest.raises(ConfigError, match="draws: at least 3"):
        random_graphs(bench.space, bench.llms, LLM, 0, draws=2)
