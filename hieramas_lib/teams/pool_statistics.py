"""What a graph pool looks like: density, likeness, shapes, and who begins and ends."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, mean and largest of a number that each graph of a pool has."""

    low: float
    mean: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Summarise ``values``, at least one; NaN where there is none."""
        numbers = list(values) or [float("nan")]
        return cls(min(numbers), float(np.mean(numbers)), max(numbers))


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """A graph pool in numbers.

    Attributes:
        graphs: How many there are, K.
        shapes: How many are left if roles may be renamed: graphs of one shape differ only in
            which role sits where.
        edges: Edges of a graph.
        density: Edges / n(n-1); a full DAG has 0.5.
        sources: Roles of a graph that read nobody.
        sinks: Roles of a graph that nobody reads.
        depth: Supernodes on the longest chain, which sets the time that a rollout takes.
        jaccard: Likeness of two graphs of the pool; NaN for a pool of one.
    """

    graphs: int
    shapes: int
    edges: Spread
    density: Spread
    sources: Spread
    sinks: Spread
    depth: Spread
    jaccard: Spread

    @classmethod
    def of(cls, pool: GraphPool) -> "PoolStatistics":
        """Measure ``pool``."""
        pairs = jaccard_matrix(pool)[np.tril_indices(len(pool), -1)]
        return cls(
            graphs=len(pool),
            shapes=len(shapes(pool)),
            edges=Spread.of(len(graph.edges) for graph in pool),
            density=Spread.of(densities(pool).tolist()),
            sources=Spread.of(len(graph.sources) for graph in pool),
            sinks=Spread.of(len(graph.sinks) for graph in pool),
            depth=Spread.of(graph.depth for graph in pool),
            jaccard=Spread.of(pairs.tolist()),
        )


def densities(pool: GraphPool) -> Floats:
    """Return the density of each graph, shape ``[K]``."""
    return np.array([graph.density for graph in pool])


def jaccard_matrix(pool: GraphPool) -> Floats:
    """Return the likeness of all pairs, shape ``[K, K]``: :func:`~.topology.jaccard` of each."""
    edges = np.array([graph.adjacency().ravel() for graph in pool], dtype=np.float64)
    shared = edges @ edges.T
    counts = edges.sum(axis=1)
    union = counts[:, None] + counts[None, :] - shared
    return np.where(union > 0, shared / np.maximum(union, 1.0), 1.0)


def end_shares(pool: GraphPool) -> tuple[Floats, Floats]:
    """Return the share of the graphs in which each role is a source, and a sink, ``[roles]``.

    A generator that favours no role gives all roles about the same shares.
    """
    adjacency = np.array([graph.adjacency() for graph in pool])
    return (~adjacency.any(axis=1)).mean(axis=0), (~adjacency.any(axis=2)).mean(axis=0)


def shapes(graphs: Iterable[Topology]) -> tuple[tuple[Topology, ...], ...]:
    """Group ``graphs`` by shape, those that are equal up to a renaming of the roles.

    Groups come in the order of their first graph.
    """
    import networkx as nx

    # Equal shapes have equal profiles, and others seldom: few pairs need the full test.
    groups: dict[str, list[tuple[nx.DiGraph, list[Topology]]]] = {}
    found: list[list[Topology]] = []
    for topology in graphs:
        graph = nx.DiGraph()
        graph.add_nodes_from(range(topology.size))
        graph.add_edges_from(topology.edges)
        alike = groups.setdefault(repr(_profile(topology)), [])
        for known, members in alike:
            if nx.is_isomorphic(known, graph):
                members.append(topology)
                break
        else:
            found.append([topology])
            alike.append((graph, found[-1]))
    return tuple(tuple(members) for members in found)


def _profile(topology: Topology) -> tuple[object, ...]:
    """Return the degrees of all nodes with those of their neighbours, whatever the names."""
    nodes = range(topology.size)
    degrees = [(len(topology.predecessors(v)), len(topology.successors(v))) for v in nodes]
    return tuple(
        sorted(
            (
                degrees[v],
                sorted(degrees[u] for u in topology.predecessors(v)),
                sorted(degrees[w] for w in topology.successors(v)),
            )
            for v in nodes
        )
    )
