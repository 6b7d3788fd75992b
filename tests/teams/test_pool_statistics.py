"""Statistics of graph pools against counts by hand, known sequences, and one-by-one results."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from team_stubs import topologies

from hieramas_lib.teams.dag_sampling import all_dags
from hieramas_lib.teams.graph_pool import GraphPool, chain, full, reference_pool, star, uniform_pool
from hieramas_lib.teams.pool_statistics import (
    PoolStatistics,
    Spread,
    densities,
    end_shares,
    jaccard_matrix,
    shapes,
)
from hieramas_lib.teams.topology import Topology, jaccard


def renamed(topology: Topology, order: tuple[int, ...]) -> Topology:
    return Topology(topology.size, tuple((order[u], order[v]) for u, v in topology.edges))


def test_three_roles_have_four_connected_shapes() -> None:
    # Chain (6 namings), fork (3), join (3), all three pairs (6).
    groups = shapes(all_dags(3))
    assert sorted(len(group) for group in groups) == [3, 3, 6, 6]
    assert sum(len(group) for group in groups) == 18


def test_counts_of_shapes_are_the_known_sequence() -> None:
    # OEIS A003087, all shapes of DAGs, and A101228, the connected ones.
    assert [len(shapes(all_dags(n, connected=False))) for n in range(1, 5)] == [1, 2, 6, 31]
    assert [len(shapes(all_dags(n))) for n in range(1, 5)] == [1, 1, 4, 24]


@settings(max_examples=60, deadline=None)
@given(topologies(2, 6), st.randoms(use_true_random=False))
def test_a_renaming_keeps_the_shape_and_a_lost_edge_does_not(
    topology: Topology, random: object
) -> None:
    order = list(range(topology.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert len(shapes([topology, renamed(topology, tuple(order))])) == 1
    if topology.edges:
        assert len(shapes([topology, Topology(topology.size, topology.edges[1:])])) == 2


@settings(max_examples=40, deadline=None)
@given(topologies(4, 4), topologies(4, 4))
def test_shapes_agree_with_trying_every_renaming(a: Topology, b: Topology) -> None:
    same = any(renamed(a, order) == b for order in permutations(range(4)))
    assert len(shapes([a, b])) == (1 if same else 2)


def test_equal_degrees_of_all_neighbours_do_not_make_an_equal_shape() -> None:
    a = Topology(6, ((0, 2), (0, 5), (2, 4), (3, 1), (3, 4), (4, 1), (5, 2), (5, 3)))
    b = Topology(6, ((0, 1), (0, 2), (1, 3), (1, 5), (2, 5), (3, 2), (3, 4), (5, 4)))
    assert not any(renamed(a, order) == b for order in permutations(range(6)))
    assert len(shapes([a, b])) == 2


def test_matrices_agree_with_one_by_one() -> None:
    pool = GraphPool(5, (Topology(5), *uniform_pool(5, 20, seed=3)))
    one_by_one = [[jaccard(a, b) for b in pool] for a in pool]
    assert jaccard_matrix(pool) == pytest.approx(np.array(one_by_one))
    assert jaccard_matrix(pool)[0, 0] == 1.0
    assert densities(pool).tolist() == [graph.density for graph in pool]


def test_ends_by_hand() -> None:
    # a -> b -> c, and c -> a -> b with c -> b: a begins once, c begins once and ends once.
    pool = GraphPool(3, (chain(3), Topology(3, ((2, 0), (0, 1), (2, 1)))))
    sources, sinks = end_shares(pool)
    assert sources.tolist() == [0.5, 0.0, 0.5]
    assert sinks.tolist() == [0.0, 0.5, 0.5]


def test_generators_favour_no_role() -> None:
    for make in (reference_pool, uniform_pool):
        sources, sinks = end_shares(make(6, 600, seed=1))
        # 600 graphs: the standard error of a share is at most 0.02.
        assert np.ptp(sources) < 0.1
        assert np.ptp(sinks) < 0.1


def test_statistics_by_hand() -> None:
    found = PoolStatistics.of(GraphPool(3, (chain(3), star(3), full(3))))
    assert (found.graphs, found.shapes) == (3, 3)
    assert found.edges == Spread(2, pytest.approx(7 / 3), 3)
    assert found.density == Spread(pytest.approx(1 / 3), pytest.approx(7 / 18), 0.5)
    assert found.sources == Spread(1, 1.0, 1)
    assert found.sinks == Spread(1, pytest.approx(4 / 3), 2)
    assert found.depth == Spread(2, pytest.approx(8 / 3), 3)
    # Chain and star share one edge of three, each shares two of three with the full graph.
    assert found.jaccard == Spread(pytest.approx(1 / 3), pytest.approx(5 / 9), pytest.approx(2 / 3))


def test_a_pool_of_one_has_no_pairs() -> None:
    assert np.isnan(PoolStatistics.of(GraphPool(3, (chain(3),))).jaccard.mean)


@given(topologies(largest=7))
def test_depth_is_the_longest_path(topology: Topology) -> None:
    power, depth = np.eye(topology.size, dtype=bool), 1
    step = topology.adjacency()
    while (power := (power.astype(int) @ step.astype(int)) > 0).any():
        depth += 1
    assert topology.depth == depth
