"""Drawing, counting and listing labelled DAGs."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.topology import Edge, Topology, find_cycle

LARGEST_LISTED = 5
"""There are 29,281 DAGs of 5 nodes and 3,781,503 of 6."""


def reference_dag(size: int, density: tuple[float, float], rng: np.random.Generator) -> Topology:
    """Draw a DAG as the paper's code does.

    1. a random order of the nodes; 2. each but the first reads one earlier node, so that the
    graph hangs together; 3. further forward pairs up to int(U(low, high) · n(n-1)/2) edges.
    """
    order = [int(node) for node in rng.permutation(size)]
    pairs = [(order[i], order[j]) for j in range(size) for i in range(j)]
    edges = {(order[int(rng.integers(j))], order[j]) for j in range(1, size)}
    target = int(rng.uniform(*density) * len(pairs))
    rest = [pair for pair in pairs if pair not in edges]
    extra = max(0, target - len(edges))
    edges.update(rest[int(i)] for i in rng.choice(len(rest), extra, replace=False))
    return Topology(size, tuple(edges))


def uniform_connected_dag(size: int, rng: np.random.Generator) -> Topology:
    """Draw one of the weakly connected labelled DAGs, each with the same probability."""
    while True:
        topology = _uniform_dag(size, rng)
        if topology.connected:
            return topology


def _uniform_dag(size: int, rng: np.random.Generator) -> Topology:
    """Draw layer by layer (Kuipers and Moffa 2015): sources, sources of the rest, and so on.

    Each node of a layer reads at least one node of the layer before, and any of the earlier ones.
    """
    nodes = [int(node) for node in rng.permutation(size)]
    width = _draw(range(1, size + 1), [_count(size, k) for k in range(1, size + 1)], rng)
    layers = [nodes[:width]]
    rest = nodes[width:]
    while rest:
        options = range(1, len(rest) + 1)
        following = _draw(options, [_ways(len(rest), width, s) for s in options], rng)
        layers.append(rest[:following])
        rest, width = rest[following:], following
    edges: list[Edge] = []
    for depth in range(1, len(layers)):
        earlier = [node for layer in layers[: depth - 1] for node in layer]
        for reader in layers[depth]:
            read = [*_some(layers[depth - 1], rng), *_subset(earlier, rng)]
            edges.extend((source, reader) for source in read)
    return Topology(size, tuple(edges))


@lru_cache(maxsize=4096)
def _count(size: int, sources: int) -> int:
    """Number of labelled DAGs of ``size`` nodes of which exactly ``sources`` read nobody."""
    if sources == size:
        return 1
    rest = size - sources
    return comb(size, sources) * sum(_ways(rest, sources, s) for s in range(1, rest + 1))


def _ways(rest: int, width: int, following: int) -> int:
    """DAGs on ``rest`` nodes with ``following`` sources, times ties to the ``width`` before."""
    some = (1 << width) - 1
    ties = int(some**following) << width * (rest - following)
    return ties * _count(rest, following)


def count_dags(size: int) -> int:
    """Return the number of labelled DAGs (1, 3, 25, 543, 29281, ...)."""
    return sum(_count(size, sources) for sources in range(1, size + 1))


@lru_cache(maxsize=64)
def count_connected_dags(size: int) -> int:
    """Return the number of weakly connected labelled DAGs (1, 2, 18, 446, 26430, ...)."""
    apart = sum(
        comb(size - 1, part - 1) * count_connected_dags(part) * count_dags(size - part)
        for part in range(1, size)
    )
    return count_dags(size) - apart


def all_dags(size: int, *, connected: bool = True) -> tuple[Topology, ...]:
    """List all DAGs, fewest edges first; by default the weakly connected ones only.

    Raises:
        ConfigError: more nodes than can be listed (5).
    """
    if size > LARGEST_LISTED:
        raise ConfigError(
            f"DAGs of {size} nodes are too many to list ({count_dags(size):,}); "
            f"up to {LARGEST_LISTED} nodes can be"
        )
    pairs = list(combinations(range(size), 2))
    dags = []
    for directions in product((0, 1, 2), repeat=len(pairs)):
        edges = [
            pair if direction == 1 else (pair[1], pair[0])
            for pair, direction in zip(pairs, directions, strict=True)
            if direction
        ]
        if not find_cycle(size, edges):
            dags.append(Topology(size, tuple(edges)))
    chosen = [dag for dag in dags if dag.connected or not connected]
    return tuple(sorted(chosen, key=lambda dag: (len(dag.edges), dag.id)))


def _draw(options: Sequence[int], weights: Sequence[int], rng: np.random.Generator) -> int:
    # Weights are exact integers beyond 64 bits; their shares are safe as floats.
    total = sum(weights)
    return int(rng.choice(options, p=[weight / total for weight in weights]))


def _subset(nodes: Sequence[int], rng: np.random.Generator) -> list[int]:
    return [
        node for node, chosen in zip(nodes, rng.integers(2, size=len(nodes)), strict=True) if chosen
    ]


def _some(nodes: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Draw a subset that is not empty, each with the same probability."""
    while True:
        chosen = _subset(nodes, rng)
        if chosen:
            return chosen
