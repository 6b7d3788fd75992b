"""Drawing DAGs edge by edge: the stated probability is the frequency, and there is no cycle."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.learning.edge_sampling import (
    draw_edges,
    draw_order,
    likely_first,
    order_log_prob,
    row_order,
)
from hieramas_lib.teams.topology import find_cycle

DRAWS = 40_000
LOGITS = torch.tensor([[0.0, 1.0, -0.5], [0.3, 0.0, 2.0], [-1.0, 0.8, 0.0]])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("visits", ["row by row", "likely first"])
def test_graphs_are_drawn_as_often_as_their_probability_says(visits: str):
    """All that can be drawn sums to 1; peers take log-probabilities of another distribution."""
    logits = LOGITS.expand(DRAWS, -1, -1)
    order = row_order(DRAWS, 3) if visits == "row by row" else likely_first(logits)
    drawn = draw_edges(logits, order, generator())
    log_prob = drawn.log_prob(logits)
    seen: dict[tuple[bool, ...], int] = Counter(map(tuple, drawn.edges.flatten(1).tolist()))
    said = dict(zip(map(tuple, drawn.edges.flatten(1).tolist()), log_prob.tolist(), strict=True))
    assert len(seen) == 25  # the labelled DAGs of three nodes
    assert sum(torch.tensor(list(said.values())).exp()) == pytest.approx(1.0, abs=1e-4)
    for graph, count in seen.items():
        assert count / DRAWS == pytest.approx(float(torch.tensor(said[graph]).exp()), abs=0.01)


def test_orders_are_drawn_as_often_as_their_probability_says():
    scores = torch.tensor([[1.0, 0.0, -1.0]]).expand(DRAWS, -1)
    order = draw_order(scores, generator())
    said = dict(
        zip(map(tuple, order.tolist()), order_log_prob(scores, order).exp().tolist(), strict=True)
    )
    assert sum(said.values()) == pytest.approx(1.0, abs=1e-5)
    for each, count in Counter(map(tuple, order.tolist())).items():
        assert count / DRAWS == pytest.approx(said[each], abs=0.01)
    assert draw_order(scores[:1], None).tolist() == [[0, 1, 2]]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(0, 10_000), st.booleans())
def test_no_cycle_and_every_pair_is_open_or_refused(roles: int, seed: int, rows: bool):
    logits = 3 * torch.randn(20, roles, roles, generator=generator(seed))
    order = row_order(20, roles) if rows else likely_first(logits)
    drawn = draw_edges(logits, order, generator(seed + 1))
    assert not (drawn.edges & ~drawn.open).any()
    assert not drawn.open.diagonal(dim1=1, dim2=2).any()
    for topology, edges, open_, refused in zip(
        drawn.topologies(), drawn.edges, drawn.open, drawn.refused, strict=True
    ):
        assert len(topology.edges) == int(edges.sum())  # none was lost on the way
        closed = [(u, v) for u, v in (~open_).nonzero().tolist() if u != v]
        assert len(closed) == refused
        for pair in closed:  # refused for a reason: it would close a cycle
            assert find_cycle(roles, (*topology.edges, pair))


def test_of_two_edges_that_exclude_each_other_the_order_decides():
    logits = torch.tensor([[[0.0, 20.0], [30.0, 0.0]]])
    first = draw_edges(logits, row_order(1, 2), generator())
    assert first.edges[0].tolist() == [[False, True], [False, False]]
    assert first.refused.tolist() == [1]
    likelier = draw_edges(logits, likely_first(logits), generator())
    assert likelier.edges[0].tolist() == [[False, False], [True, False]]


def test_without_a_generator_edges_above_one_half_are_taken():
    """0 -> 1 -> 2 stand; 2 -> 0, the least likely of the cycle, is refused."""
    logits = torch.tensor([[[0.0, 3.0, -1.0], [-1.0, 0.0, 2.0], [1.0, -1.0, 0.0]]])
    drawn = draw_edges(logits, likely_first(logits), None)
    assert drawn.topologies()[0].edges == ((0, 1), (1, 2))
    assert not drawn.open[0, 2, 0]
    assert drawn.open[0, 0, 2]


def test_what_was_refused_is_not_taught():
    logits = torch.tensor([[[0.0, 20.0], [1.0, 0.0]]], requires_grad=True)
    drawn = draw_edges(logits, row_order(1, 2), generator())
    drawn.log_prob(logits).sum().backward()
    assert drawn.refused.tolist() == [1]
    assert logits.grad[0, 1, 0] == 0
    assert logits.grad[0, 0, 1] != 0


def test_orders_of_visits_by_hand():
    assert row_order(1, 3).tolist() == [[1, 2, 3, 5, 6, 7]]
    # Logits 2.0 (1 -> 2), 1.0 (0 -> 1), 0.8 (2 -> 1), 0.3 (1 -> 0), -0.5 (0 -> 2), -1.0 (2 -> 0)
    assert likely_first(LOGITS[None]).tolist() == [[5, 1, 7, 3, 2, 6]]
