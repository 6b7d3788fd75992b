"""Ways to choose a graph that give every edge a worth, on graphs of three roles."""

import pytest
import torch

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.learning.selectors import (
    EdgeScores,
    adjacency,
    densest,
    regress_edges,
    reinforce_edges,
)
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

NAN = float("nan")
POOL = GraphPool(
    3,
    (
        Topology(3),
        Topology(3, ((0, 1),)),
        Topology(3, ((1, 2),)),
        Topology(3, ((0, 1), (1, 2))),
    ),
)


def features(tasks: int) -> Features:
    generator = torch.Generator().manual_seed(0)
    match = torch.randn(tasks, 3, generator=generator)
    return Features(torch.zeros(tasks, 2), torch.zeros(3, 2), match)


def labels(utility: torch.Tensor) -> GraphLabels:
    """All four graphs were run on every question."""
    return GraphLabels(torch.arange(4).expand(len(utility), 4), utility, utility > 0.5)


def test_densest_is_the_first_of_most_edges():
    assert densest(POOL) == 3
    assert densest(GraphPool(3, POOL.topologies[:3])) == 1


def test_scores_by_hand():
    """Edge 0 -> 1 is worth 1, plus the read role's match, plus ten times the reader's."""
    zero = torch.zeros(3, 3)
    one, ten = zero.clone(), zero.clone()
    one[0, 1], ten[0, 1] = 1.0, 10.0
    seen = Features(torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[0.5, 0.25, 0.0]]))
    scores = EdgeScores(one, one, ten)(seen, adjacency(POOL))
    assert scores.tolist() == [[0.0, 4.0, 0.0, 4.0]]


def test_regression_finds_what_edges_are_worth():
    """Questions differ in level by much more than graphs do, which must not matter."""
    level = torch.linspace(-5, 5, 40)[:, None]
    found = regress_edges(
        labels(level + torch.tensor([0.0, 0.3, -0.1, 0.2])), features(40), POOL, similarity=False
    )
    assert found.weight[0, 1] == pytest.approx(0.3, abs=0.01)
    assert found.weight[1, 2] == pytest.approx(-0.1, abs=0.01)
    assert found.from_source.abs().sum() == found.from_reader.abs().sum() == 0


def test_regression_finds_that_an_edge_is_worth_more_where_its_reader_fits():
    seen = features(200)
    worth = seen.match[:, 1]  # of edge 0 -> 1, by the match of its reader
    utility = torch.stack([0 * worth, worth, 0 * worth, worth], dim=1)
    found = regress_edges(labels(utility), seen, POOL, similarity=True)
    assert found.from_reader[0, 1] == pytest.approx(1.0, abs=0.02)
    scores = found(seen, adjacency(POOL))
    # What the edge 1 -> 2 has to do with it is not identified beyond its own terms: close to 0.
    assert (scores[:, 1] - scores[:, 0]).sub(worth).abs().max() < 0.1


def test_a_graph_without_a_verdict_teaches_nothing():
    """The missing utility is that of the best graph; taken for 0 it would turn the order round."""
    utility = torch.tensor([5.0, 5.1, 5.0, 5.1]).repeat(30, 1)
    utility[:, 3] = NAN
    for found in (
        regress_edges(labels(utility), features(30), POOL, similarity=False),
        reinforce_edges(labels(utility), features(len(utility)), POOL),
    ):
        assert found.weight[0, 1] > 0
        assert found.weight[0, 1] > found.weight[1, 2]


def test_reinforce_learns_which_graph_is_best():
    utility = torch.tensor([0.1, 0.9, 0.0, 0.2]).repeat(20, 1)
    scores = reinforce_edges(labels(utility), features(20), POOL)(features(1), adjacency(POOL))
    assert scores.argmax() == 1


def test_reinforce_with_similarity_chooses_by_the_question():
    """Edge 0 -> 1 helps where role 1 matches and harms elsewhere: no fixed graph is best."""
    sign = torch.tensor([1.0, -1.0]).repeat(20)
    seen = Features(
        torch.zeros(40, 2), torch.zeros(3, 2), torch.stack([0 * sign, sign, 0 * sign], 1)
    )
    utility = 0.5 + 0.4 * sign[:, None] * torch.tensor([0.0, 1.0, 0.0, 1.0])
    scores = reinforce_edges(labels(utility), seen, POOL, similarity=True)(seen, adjacency(POOL))
    best = utility.gather(1, scores.argmax(dim=1, keepdim=True))
    assert torch.equal(best[:, 0], utility.amax(dim=1))
    blind = reinforce_edges(labels(utility), seen, POOL)(seen, adjacency(POOL))
    assert len(blind.argmax(dim=1).unique()) == 1


def test_reinforce_starts_along_the_sampled_gradient():
    """One step of Adam moves each logit by the rate, in the direction of advantage and edge.

    Of two graphs, the one with edge 0 -> 1 is better; 1 -> 2 is in neither.
    """
    two = GraphPool(3, (Topology(3), Topology(3, ((0, 1),))))
    known = GraphLabels(
        torch.tensor([[0, 1]]), torch.tensor([[0.2, 0.6]]), torch.ones(1, 2, dtype=torch.bool)
    )
    found = reinforce_edges(known, features(len(known.utility)), two, steps=1)
    assert found.weight[0, 1].item() == pytest.approx(0.05, abs=1e-4)
    assert found.weight.abs().sum().item() == pytest.approx(0.05, abs=1e-4)
