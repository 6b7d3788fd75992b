"""Which graphs were chosen: counted, drawn under titles, compared, put in words."""

import numpy as np
import pytest
import torch

from hieramas_lib.experiments.graph_selection.chosen_graphs import (
    chosen_sentence,
    chosen_table,
    chosen_titles,
    likeness,
    most_chosen,
    ranked_graphs,
)
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

CHAIN, FORK, OTHER = ((0, 1), (1, 2)), ((0, 1), (0, 2)), ((0, 2), (2, 1))
POOL = GraphPool(3, tuple(Topology(3, edges) for edges in (CHAIN, FORK, OTHER)))
PICKED = [2, 0, 2, 1, 2, 0]


def test_the_most_frequent_come_first() -> None:
    assert most_chosen(PICKED, POOL, 2) == [(POOL[2], 3), (POOL[0], 2)]
    assert most_chosen([1, 0], POOL, 5) == [(POOL[0], 1), (POOL[1], 1)]  # equals: lower index


def test_titles_and_table_say_share_density_and_ends() -> None:
    favourites = most_chosen(PICKED, POOL, 3)
    assert next(iter(chosen_titles(favourites, 6).items())) == (
        "1: 3 of 6 questions, density 0.33",
        POOL[2],
    )
    table = chosen_table(favourites, 6, ["a", "b", "c"])
    assert table["share"].tolist() == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert table["graph"].tolist() == [POOL[2].id, POOL[0].id, POOL[1].id]
    assert table["sources"].tolist() == ["a", "a", "a"]
    assert table["sinks"].tolist() == ["b", "c", "b, c"]


def test_likeness_by_hand() -> None:
    """The chain and the fork share one edge of three; so do the fork and the other chain."""
    matrix = likeness(most_chosen([0, 0, 0, 1, 1, 2], POOL, 3))
    assert matrix == pytest.approx(np.array([[3, 1, 0], [1, 3, 1], [0, 1, 3]]) / 3)


def test_words() -> None:
    assert chosen_sentence([1, 1], POOL) == (
        "The classifier chooses 1 of 3 graphs on 2 questions, the favourite on 2."
    )
    assert chosen_sentence([0, 0, 2], POOL) == (
        "The classifier chooses 2 of 3 graphs on 3 questions, the favourite on 2; Jaccard "
        "similarity is 0.00 on average between the 2 most frequent, and 0.22 between any two "
        "graphs of the pool."
    )


def test_a_ranking_has_the_ends_and_fits_a_small_pool() -> None:
    ranked = ranked_graphs(torch.tensor([0.5, -1.0, 2.0]), POOL)
    assert list(ranked) == ["chosen, score 2.00", "runner-up, score 0.50", "third, score -1.00",
                            "last, score -1.00"]  # fmt: skip
    assert list(ranked.values())[:2] == [POOL[2], POOL[0]]
    one = GraphPool(3, POOL.topologies[:1])
    assert set(ranked_graphs(torch.tensor([1.0]), one).values()) == {POOL[0]}
