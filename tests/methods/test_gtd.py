"""GTD: what is recorded, what the two networks learn, and which candidate runs."""

from dataclasses import replace

import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.learning.role_graphs import SHAPES, matrix, shaped
from hieramas_lib.methods.gtd import GTD, GTDSettings
from hieramas_lib.methods.gtd_network import GraphRuns, GTDNetwork
from hieramas_lib.methods.run import run
from hieramas_lib.teams.topology import Topology

LLM = "qwen3-8b"


def bench_of() -> Benchmark:
    return open_benchmark(
        "knowledge", difficulty="hard", seed=0, graphs=12, width=2, decision="gemma-3-27b"
    )


def method(bench: Benchmark, **settings) -> GTD:
    how = GTDSettings(LLM, **{"epochs": 2, "candidates": 30, **settings})
    return GTD(bench.space, bench.llms, bench.encoder, how, 0)


def toy_runs(count: int, roles: int = 3, dim: int = 8) -> GraphRuns:
    generator = torch.Generator().manual_seed(0)
    graphs = [Topology(roles), Topology(roles, ((0, 1),)), Topology(roles, ((1, 0), (2, 0)))]
    return GraphRuns(
        query=torch.randn(count, dim, generator=generator),
        graph=torch.stack([matrix(graphs[i % 3]) for i in range(count)]),
        right=torch.tensor([float(i % 3 == 1) for i in range(count)]),
        cost=torch.tensor([1.0 + i % 3 for i in range(count)]),
    )


def toy_network(roles: int = 3, dim: int = 8) -> GTDNetwork:
    vectors = torch.randn(roles, dim, generator=torch.Generator().manual_seed(1))
    return GTDNetwork(vectors, seed=0)


def test_recorded_graphs_are_those_that_ran():
    """The published records hold edges that the executor left out."""
    bench = bench_of()
    learner = method(bench)
    learner.start()
    kept = []
    inner = learner.run

    async def watched(teams, attempts):
        rollouts = await inner(teams, attempts)
        kept.extend(rollouts)
        return rollouts

    learner.run = watched
    runs = run(learner.collect(bench.train[:5]))
    names = bench.space.roles.names
    assert len(runs.right) == len(kept) == 5 * 6
    for graph, right, cost, rollout in zip(runs.graph, runs.right, runs.cost, kept, strict=True):
        edges = {(names[u], names[v]) for u, v in graph.nonzero().tolist()}
        assert edges == set(rollout.requested_edges)
        if all(call.readable for call in rollout.calls):
            assert edges == set(rollout.delivered_edges)
        assert right == float(rollout.grade.correct)
        assert cost.item() == pytest.approx(rollout.usage.cost_usd / bench.reference_cost)
    fixed = [matrix(shaped(shape, 8)) for shape in SHAPES]
    for first in range(0, 30, 6):
        assert all(torch.equal(a, b) for a, b in zip(runs.graph[first:], fixed, strict=False))


def test_every_loss_term_has_a_gradient_on_all_that_it_is_about():
    network = toy_network()
    parts = {
        "right": ("role.", "question.", "attention.", "outcome."),
        "cost": ("role.", "question.", "attention.", "outcome."),
        "edges": ("edge.",),
    }
    for term, about in parts.items():
        network.zero_grad()
        network.losses(toy_runs(12))[term].backward()
        for name, parameter in network.named_parameters():
            moved = parameter.grad is not None and parameter.grad.abs().sum() > 0
            assert moved == name.startswith(about), (term, name)


def test_right_graphs_alone_teach_the_edge_model():
    """Only the graph with 0 -> 1 was right, so its edge and no other becomes probable."""
    network, runs = toy_network(), toy_runs(30)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        network.losses(runs)["edges"].backward()
        optimizer.step()
    probable = network.edge_logits(runs.query).sigmoid().mean(dim=0).detach()
    assert probable[0, 1] > 0.9
    others = [(1, 0), (2, 0), (0, 2), (1, 2), (2, 1)]
    assert max(float(probable[pair]) for pair in others) < 0.1


def test_the_proxy_learns_which_graph_is_right_and_what_it_costs():
    network, runs = toy_network(), toy_runs(30)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(120):
        optimizer.zero_grad()
        terms = network.losses(runs)
        (terms["right"] + terms["cost"]).backward()
        optimizer.step()
    right, cost = network.proxy(runs.query, runs.graph)
    assert (right.sigmoid() - runs.right).abs().max() < 0.2
    assert (cost - runs.cost).abs().max() < 0.3


def test_the_proxy_sees_directions():
    network, query = toy_network(), torch.ones(1, 8)
    forwards, backwards = (matrix(Topology(3, (edge,)))[None] for edge in ((0, 1), (1, 0)))
    assert network.proxy(query, forwards)[0] != network.proxy(query, backwards)[0]


def test_half_of_the_heads_look_at_what_a_role_reads_and_half_at_who_reads_it():
    heads = ~toy_network()._blocked(matrix(Topology(3, ((0, 1),)))[None])
    reads, read_by = torch.eye(3, dtype=torch.bool), torch.eye(3, dtype=torch.bool)
    reads[1, 0] = read_by[0, 1] = True  # the row looks at the column
    assert torch.equal(heads, torch.stack([reads, reads, read_by, read_by]))


def test_the_candidate_that_the_proxy_thinks_most_of_runs():
    """A proxy that likes few edges, at equal cost; then one for which cost decides."""
    bench = bench_of()
    learner = method(bench)
    learner.start()
    task = bench.test[0]
    counts = learner.candidates(task).sum(dim=(1, 2))
    assert counts.min() < counts.max()
    learner.network.proxy = lambda q, g: (-g.sum(dim=(1, 2)), torch.zeros(len(g)))
    assert len(learner.team(task).topology.edges) == counts.min()
    learner.network.proxy = lambda q, g: (torch.zeros(len(g)), -g.sum(dim=(1, 2)))
    assert len(learner.team(task).topology.edges) == counts.max()


def test_candidates_are_distinct_and_depend_on_seed_and_question_alone():
    bench = bench_of()
    learner = method(bench)
    learner.start()
    task = bench.test[0]
    candidates = learner.candidates(task)
    assert len(candidates.unique(dim=0)) == len(candidates) <= 30
    assert torch.equal(candidates, learner.candidates(task))
    other = learner.candidates(replace(task, id="another"))
    assert candidates.shape != other.shape or not torch.equal(candidates, other)


def test_training_moves_every_weight():
    bench = bench_of()
    learner = method(bench)
    before = {name: p.clone() for name, p in learner.untrained().named_parameters()}
    run(learner.fit(bench.train[:8]))
    for name, parameter in learner.network.named_parameters():
        assert (parameter != before[name]).any(), name


def test_a_small_pool_is_run_whole():
    """Three roles have 18 connected DAGs; asking for more random graphs runs all, each once."""
    bench = open_benchmark("maths", seed=0, graphs=100, width=1, decision="gemma-3-27b")
    learner = method(bench, random_graphs=50)
    learner.start()
    runs = run(learner.collect(bench.train[:2]))
    assert len(runs.right) == 2 * 18
    assert len(runs.graph[:18].unique(dim=0)) == 18


def test_settings_name_the_field_that_is_wrong():
    for fields, message in (
        ({"candidates": 0}, "candidates: at least 1"),
        ({"epochs": 0}, "epochs: at least 1"),
        ({"random_graphs": -1}, "random_graphs: at least 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            GTDSettings(LLM, **fields)
