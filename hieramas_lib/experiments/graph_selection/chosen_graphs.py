"""Which graphs a classifier chooses: the most frequent ones, their likeness, and a ranking."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.pool_statistics import jaccard_matrix
from hieramas_lib.teams.topology import Topology

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


def most_chosen(picked: Iterable[int], graphs: GraphPool, most: int) -> list[tuple[Topology, int]]:
    """Return the graphs chosen most often, at most ``most``, and how often, the first on top.

    Args:
        picked: Index of the chosen graph, one a question.
        graphs: The pool.
        most: How many graphs at most; of equals the one with the lower index comes first.
    """
    counts = sorted(Counter(map(int, picked)).items(), key=lambda entry: (-entry[1], entry[0]))
    return [(graphs[graph], count) for graph, count in counts[:most]]


def chosen_titles(chosen: Sequence[tuple[Topology, int]], asked: int) -> dict[str, Topology]:
    """Return a title for each graph: rank, share of the questions, and density.

    Args:
        chosen: See :func:`most_chosen`.
        asked: Number of questions.
    """
    return {
        f"{rank}: {count} of {asked} questions, density {graph.density:.2f}": graph
        for rank, (graph, count) in enumerate(chosen, start=1)
    }


def chosen_table(
    chosen: Sequence[tuple[Topology, int]], asked: int, roles: Sequence[str]
) -> "pd.DataFrame":
    """Return ``rank, graph, share, edges, density, sources, sinks``, the last two by role.

    Args:
        chosen: See :func:`most_chosen`.
        asked: Number of questions.
        roles: Names of the nodes.
    """
    import pandas as pd

    def named(nodes: Iterable[int]) -> str:
        return ", ".join(roles[node] for node in nodes)

    return pd.DataFrame(
        [
            {
                "rank": rank,
                "graph": graph.id,
                "share": count / asked,
                "edges": len(graph.edges),
                "density": graph.density,
                "sources": named(graph.sources),
                "sinks": named(graph.sinks),
            }
            for rank, (graph, count) in enumerate(chosen, start=1)
        ]
    )


def chosen_sentence(picked: Sequence[int], graphs: GraphPool, most: int = 5) -> str:
    """Say how many graphs are chosen, and whether the favourites are more alike than any two.

    Args:
        picked: Index of the chosen graph, one a question.
        graphs: The pool.
        most: How many favourites are compared.
    """
    favourites = most_chosen(picked, graphs, most)
    said = (
        f"The classifier chooses {len(set(picked))} of {len(graphs)} graphs on {len(picked)} "
        f"questions, the favourite on {favourites[0][1]}"
    )
    if len(favourites) == 1:
        return f"{said}."
    alike, usual = (
        _mean_of_pairs(matrix) for matrix in (likeness(favourites), jaccard_matrix(graphs))
    )
    return (
        f"{said}; Jaccard similarity is {alike:.2f} on average between the {len(favourites)} most "
        f"frequent, and {usual:.2f} between any two graphs of the pool."
    )


def likeness(chosen: Sequence[tuple[Topology, int]]) -> NDArray[np.float64]:
    """Return the Jaccard similarity of the edge sets of all pairs, ``[graphs, graphs]``."""
    return jaccard_matrix(GraphPool(chosen[0][0].size, tuple(graph for graph, _ in chosen)))


def ranked_graphs(scores: "Tensor", graphs: GraphPool) -> dict[str, Topology]:
    """Return the graphs that score highest and the one at the bottom, with their scores in titles.

    Args:
        scores: Of every graph of the pool for one question, ``[graphs]``.
        graphs: The pool; of a small one, fewer are returned.
    """
    order = scores.argsort(descending=True).tolist()
    places = {"chosen": 0, "runner-up": 1, "third": 2, "last": len(order) - 1}
    return {
        f"{name}, score {float(scores[order[place]]):.2f}": graphs[order[place]]
        for name, place in places.items()
        if place < len(order)
    }


def _mean_of_pairs(matrix: NDArray[np.float64]) -> float:
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())
