"""Graph searches find what small cases have, and never lose against where they began."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.graph_search import (
    GraphScore,
    best_full,
    full_in_order,
    grow,
    improve,
    random_graph,
)
from hieramas_lib.teams.topology import Edge, Topology

Worths = dict[Edge, float]


def score_of(worths: Worths) -> GraphScore:
    return lambda graph: sum(worths[edge] for edge in graph.edges)


@st.composite
def edge_worths(draw: st.DrawFn, size: int = 4) -> Worths:
    number = st.integers(-5, 5)
    return {(u, v): float(draw(number)) for u in range(size) for v in range(size) if u != v}


def test_growth_adds_the_best_edge_each_time_and_stops() -> None:
    worths = {(0, 1): 3.0, (1, 0): 1.0, (1, 2): 2.0, (2, 0): 9.0, (0, 2): -1.0, (2, 1): -2.0}
    path = grow(3, score_of(worths))
    # 2 -> 0 is worth most, then 0 -> 1; 1 -> 2 and 1 -> 0 would close cycles, the rest hurts.
    assert [graph.edges for graph in path] == [(), ((2, 0),), ((0, 1), (2, 0))]


def test_growth_without_a_helpful_edge_is_the_empty_graph() -> None:
    assert grow(3, lambda graph: -len(graph.edges)) == (Topology(3),)


def test_growth_ends_at_a_full_graph() -> None:
    assert len(grow(4, lambda graph: len(graph.edges))[-1].edges) == 6


@given(edge_worths())
def test_growth_rises_by_one_edge_a_step(worths: Worths) -> None:
    score = score_of(worths)
    path = grow(4, score)
    assert [len(graph.edges) for graph in path] == list(range(len(path)))
    scores = [score(graph) for graph in path]
    assert all(b > a for a, b in pairwise(scores))


def test_improvement_adds_takes_away_and_turns() -> None:
    score = score_of(
        {(0, 1): -1.0, (1, 0): 2.0, (0, 2): -1.0, (2, 0): -1.0, (1, 2): 1.0, (2, 1): 0.0}
    )
    assert improve(Topology(3, ((0, 1), (0, 2))), score).edges == ((1, 0), (1, 2))


@given(edge_worths(), st.integers(0, 2**16))
def test_improvement_never_loses(worths: Worths, seed: int) -> None:
    score = score_of(worths)
    start = random_graph(4, 3, np.random.default_rng(seed))
    assert score(improve(start, score)) >= score(start)


def test_full_in_order_reads_all_before_it() -> None:
    assert full_in_order((2, 0, 1)).edges == ((0, 1), (2, 0), (2, 1))


@given(edge_worths())
def test_best_order_beats_the_declared_one_and_no_move_of_a_role_beats_it(worths: Worths) -> None:
    score = score_of(worths)
    best = best_full(4, score, starts=3)
    assert len(best.edges) == 6
    assert score(best) >= score(full_in_order((0, 1, 2, 3)))
    order = list(best.order())
    for place in range(4):
        rest = [role for i, role in enumerate(order) if i != place]
        for to in range(4):
            moved = (*rest[:to], order[place], *rest[to:])
            assert score(full_in_order(moved)) <= score(best)


def test_best_order_of_three_is_the_best_of_all() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        worths = {(u, v): float(rng.normal()) for u in range(3) for v in range(3) if u != v}
        score = score_of(worths)
        every = max(score(full_in_order(order)) for order in permutations(range(3)))
        assert score(best_full(3, score, starts=4)) == every


def test_a_role_may_move_forward_in_the_order() -> None:
    # From 0, 1, 2 (worth 3) only 2, 0, 1 (worth 4) is better; all that move a role back are worse.
    worths = {(0, 1): 0.0, (1, 0): -5.0, (0, 2): 0.0, (2, 0): 4.0, (1, 2): 3.0, (2, 1): 0.0}
    assert best_full(3, score_of(worths), starts=1) == full_in_order((2, 0, 1))


def test_a_full_graph_needs_a_start() -> None:
    with pytest.raises(ConfigError, match="starts: at least 1"):
        best_full(3, lambda graph: 0.0, starts=0)


@given(st.integers(1, 6), st.integers(0, 2**16))
def test_random_graphs_have_the_edges_asked_for(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    most = size * (size - 1) // 2
    edges = int(rng.integers(most + 1))
    assert len(random_graph(size, edges, rng).edges) == edges
    with pytest.raises(ConfigError, match=f"edges: 0 to {most} for {size} roles"):
        random_graph(size, most + 1, rng)
