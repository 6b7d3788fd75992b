"""Graphs for a given team: changed edge by edge, or the densest in its best order.

All searches are greedy, so what they find is a lower bound of the best there is. They flatter a
graph on the questions that they looked at: judge it on others.
"""

from collections.abc import Callable, Sequence

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.topology import Edge, Topology, find_cycle

GraphScore = Callable[[Topology], float]
"""Worth of a team with this graph; it has to judge all graphs under the same luck."""


def grow(size: int, score: GraphScore) -> tuple[Topology, ...]:
    """Start without edges and add the edge that helps most, until none helps.

    Returns:
        Every graph on the way, from the empty one to the last; each has one edge more.
    """
    path = [Topology(size)]
    while options := _one_edge_more(path[-1]):
        best = max(options, key=score)
        if score(best) <= score(path[-1]):
            break
        path.append(best)
    return tuple(path)


def improve(graph: Topology, score: GraphScore) -> Topology:
    """Add, take away or turn round the one edge that helps most, until no change helps."""
    while changes := [*_one_edge_more(graph), *_one_edge_less(graph), *_one_edge_turned(graph)]:
        best = max(changes, key=score)
        if score(best) <= score(graph):
            break
        graph = best
    return graph


def best_full(size: int, score: GraphScore, *, starts: int = 3, seed: int = 0) -> Topology:
    """Return the full DAG in the order that scores best.

    One role at a time is moved to the place in the order where it does most good, until no move
    helps: from the declared order, and from ``starts - 1`` random ones.

    Raises:
        ConfigError: ``starts`` below 1.
    """
    if starts < 1:
        raise ConfigError(f"starts: at least 1, got {starts}")
    rng = np.random.default_rng(seed)
    orders = [tuple(range(size))]
    orders += [tuple(map(int, rng.permutation(size))) for _ in range(starts - 1)]
    ends = [_best_order(order, score) for order in orders]
    return max(map(full_in_order, ends), key=score)


def full_in_order(order: Sequence[int]) -> Topology:
    """Return the graph in which each role reads all that come before it in ``order``."""
    edges = tuple((u, v) for place, v in enumerate(order) for u in order[:place])
    return Topology(len(order), edges)


def random_graph(size: int, edges: int, rng: np.random.Generator) -> Topology:
    """Draw an order of the roles, and ``edges`` of the pairs that it allows.

    Raises:
        ConfigError: more edges than n(n-1)/2, or fewer than none.
    """
    pairs = full_in_order(tuple(map(int, rng.permutation(size)))).edges
    if not 0 <= edges <= len(pairs):
        raise ConfigError(f"edges: 0 to {len(pairs)} for {size} roles, got {edges}")
    return Topology(size, tuple(pairs[i] for i in rng.permutation(len(pairs))[:edges]))


def _one_edge_more(graph: Topology) -> list[Topology]:
    there: set[Edge] = set(graph.edges)
    pairs = [(u, v) for u in range(graph.size) for v in range(graph.size) if u != v]
    return _without_cycles(graph.size, [(*graph.edges, p) for p in pairs if p not in there])


def _one_edge_less(graph: Topology) -> list[Topology]:
    return [Topology(graph.size, _but(graph, edge)) for edge in graph.edges]


def _one_edge_turned(graph: Topology) -> list[Topology]:
    turned = [(*_but(graph, (u, v)), (v, u)) for u, v in graph.edges]
    return _without_cycles(graph.size, turned)


def _but(graph: Topology, edge: Edge) -> tuple[Edge, ...]:
    return tuple(other for other in graph.edges if other != edge)


def _without_cycles(size: int, edge_sets: Sequence[tuple[Edge, ...]]) -> list[Topology]:
    return [Topology(size, edges) for edges in edge_sets if not find_cycle(size, edges)]


def _best_order(order: tuple[int, ...], score: GraphScore) -> tuple[int, ...]:
    while len(order) > 1:
        best = max(_moved(order), key=lambda other: score(full_in_order(other)))
        if score(full_in_order(best)) <= score(full_in_order(order)):
            break
        order = best
    return order


def _moved(order: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the orders in which one role stands at another place."""
    found = []
    for place, role in enumerate(order):
        rest = (*order[:place], *order[place + 1 :])
        found += [(*rest[:to], role, *rest[to:]) for to in range(len(order)) if to != place]
    return found
