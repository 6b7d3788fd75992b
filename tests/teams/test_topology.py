"""Topologies: canonical form, ids, order, cycles."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from team_stubs import topologies

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.dag_sampling import all_dags
from hieramas_lib.teams.topology import Topology, find_cycle, jaccard

DIAMOND = Topology(4, ((0, 1), (0, 2), (1, 3), (2, 3)))


def test_hand_checked_diamond() -> None:
    assert DIAMOND.sources == (0,)
    assert DIAMOND.sinks == (3,)
    assert DIAMOND.predecessors(3) == (1, 2)
    assert DIAMOND.successors(0) == (1, 2)
    assert DIAMOND.order() == (0, 1, 2, 3)
    assert DIAMOND.density == pytest.approx(4 / 12)
    assert DIAMOND.connected
    expected = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert DIAMOND.adjacency().tolist() == np.array(expected, dtype=bool).tolist()


def test_id_is_the_off_diagonal_bits() -> None:
    # Pairs of 3 nodes: (0,1) (0,2) (1,0) (1,2) (2,0) (2,1); bits 0 and 3 give 0b001001 = 0x9.
    assert Topology(3, ((0, 1), (1, 2))).id == "3-09"
    assert Topology(8).id == "8-" + "0" * 14


def test_edges_are_canonical() -> None:
    shuffled = Topology(4, ((2, 3), (0, 2), (1, 3), (0, 1), (0, 1)))
    assert shuffled == DIAMOND
    assert hash(shuffled) == hash(DIAMOND)


def test_all_small_dags_have_distinct_ids() -> None:
    dags = all_dags(4, connected=False)
    assert len({dag.id for dag in dags}) == 543
    assert all(Topology.from_id(dag.id) == dag for dag in dags)


@given(topologies(largest=8))
def test_id_round_trip_and_order(topology: Topology) -> None:
    assert Topology.from_id(topology.id) == topology
    place = {node: i for i, node in enumerate(topology.order())}
    assert sorted(place) == list(range(topology.size))
    assert all(place[u] < place[v] for u, v in topology.edges)
    assert topology.adjacency().sum() == len(topology.edges)


@given(topologies(largest=8), st.sets(st.integers(0, 7)))
def test_without_removes_every_edge_of_pruned_nodes(topology: Topology, pruned: set[int]) -> None:
    left = topology.without(pruned)
    assert left.size == topology.size
    assert set(left.edges) == {e for e in topology.edges if not set(e) & pruned}


@given(topologies(4, 4), topologies(4, 4))
def test_jaccard_is_symmetric_and_one_only_for_equals(a: Topology, b: Topology) -> None:
    assert 0.0 <= jaccard(a, b) == jaccard(b, a) <= 1.0
    assert (jaccard(a, b) == 1.0) == (a == b)


@given(topologies(largest=7))
def test_degrees_tell_sources_sinks_and_density(topology: Topology) -> None:
    matrix, size = topology.adjacency(), topology.size
    assert topology.sources == tuple(i for i in range(size) if not matrix[:, i].any())
    assert topology.sinks == tuple(i for i in range(size) if not matrix[i].any())
    assert all(topology.predecessors(i) == tuple(np.flatnonzero(matrix[:, i])) for i in range(size))
    assert topology.sources and topology.sinks
    assert 0.0 <= topology.density <= 0.5


def test_jaccard_by_hand() -> None:
    assert jaccard(Topology(3, ((0, 1), (1, 2))), Topology(3, ((0, 1), (0, 2)))) == 1 / 3
    assert jaccard(Topology(3), Topology(3)) == 1.0
    with pytest.raises(ConfigError, match="3 and 4 nodes"):
        jaccard(Topology(3), Topology(4))


def test_cycle_is_spelled_out() -> None:
    with pytest.raises(ConfigError, match="0 -> 2 -> 1 -> 0"):
        Topology(4, ((0, 2), (2, 1), (1, 0), (0, 3)))
    with pytest.raises(ConfigError, match="1 -> 1"):
        Topology(2, ((1, 1),))


def test_cycle_is_spelled_out_in_role_names() -> None:
    names = ("Critic", "Doctor", "Lawyer")
    with pytest.raises(ConfigError, match="Doctor -> Lawyer -> Doctor"):
        Topology.from_names(
            names, [("Critic", "Doctor"), ("Doctor", "Lawyer"), ("Lawyer", "Doctor")]
        )
    with pytest.raises(ConfigError, match="no role Judge"):
        Topology.from_names(names, [("Judge", "Doctor")])
    assert Topology.from_names(names, [("Doctor", "Critic")]).edges == ((1, 0),)


@given(st.integers(1, 6), st.data())
def test_a_cycle_is_found_exactly_when_there_is_one(size: int, data: st.DataObject) -> None:
    node = st.integers(0, size - 1)
    edges = data.draw(st.sets(st.tuples(node, node), max_size=12))
    matrix = np.zeros((size, size))
    for u, v in edges:
        matrix[u, v] = 1
    walks = np.linalg.matrix_power(np.eye(size) + matrix, size) @ matrix
    cycle = find_cycle(size, edges)
    assert bool(cycle) == bool(np.trace(walks) > 0)
    assert all(pair in edges for pair in pairwise(cycle))
    assert not cycle or cycle[0] == cycle[-1]


@pytest.mark.parametrize("wrong", ["", "3", "3-zz", "x-00", "3-9", "3-ff", "3-05a", "0-0", "3-05"])
def test_wrong_ids_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        Topology.from_id(wrong)


def test_nodes_outside_are_refused() -> None:
    with pytest.raises(ConfigError, match="nodes are 0 to 2"):
        Topology(3, ((0, 3),))
