"""The finite pool of candidate graphs, and how to fill it (the paper's G of size K).

One pool is drawn once, saved, and shared by both stages and by all tasks, so that "how often
is graph x chosen" has a meaning.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.dag_sampling import (
    all_dags,
    count_connected_dags,
    reference_dag,
    uniform_connected_dag,
)
from hieramas_lib.teams.topology import Edge, Topology

TRIES_PER_GRAPH = 10
"""Draws per wanted graph before a generator counts as exhausted, as in the reference code."""


@dataclass(frozen=True)
class GraphPool:
    """Distinct topologies over the same roles.

    Attributes:
        size: Nodes of every graph.
        topologies: The graphs; their position is the class index of the graph classifier.
        note: Anything a reader of results must know about how the pool came about.

    Raises:
        ConfigError: no graphs, a graph of another size, or a graph that is there twice.
    """

    size: int
    topologies: tuple[Topology, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if not self.topologies:
            raise ConfigError("a graph pool needs at least one topology")
        for topology in self.topologies:
            if topology.size != self.size:
                raise ConfigError(f"topology {topology.id} is not of size {self.size}")
        if len(self._positions) != len(self.topologies):
            raise ConfigError("a graph pool holds each topology once, got duplicates")

    def __len__(self) -> int:
        return len(self.topologies)

    def __iter__(self) -> Iterator[Topology]:
        return iter(self.topologies)

    def __getitem__(self, position: int) -> Topology:
        return self.topologies[position]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {topology.id: i for i, topology in enumerate(self.topologies)}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the graphs, in order."""
        return tuple(self._positions)

    def position(self, identifier: str) -> int:
        """Return where the graph with this id stands in the pool.

        Raises:
            ConfigError: it is not in the pool.
        """
        try:
            return self._positions[identifier]
        except KeyError:
            raise ConfigError(f"topology {identifier!r} is not in this pool") from None

    def save(self, path: Path) -> None:
        """Write the pool as JSON, one graph a line."""
        graphs = ",\n".join(
            json.dumps({"id": topology.id, "edges": topology.edges}) for topology in self.topologies
        )
        note = json.dumps(self.note, ensure_ascii=False)
        text = f'{{\n"size": {self.size},\n"note": {note},\n"graphs": [\n{graphs}\n]\n}}\n'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "GraphPool":
        """Read a pool that :meth:`save` wrote.

        Raises:
            ConfigError: the file is missing or malformed, or an id does not fit its edges.
        """
        try:
            stored = _PoolFile.model_validate_json(path.read_text(encoding="utf-8"))
            graphs = tuple(_read_graph(stored, number) for number in range(len(stored.graphs)))
            return cls(stored.size, graphs, stored.note)
        except OSError as error:
            raise ConfigError(f"graph pool {path}: cannot be read: {error.strerror}") from None
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()
            )
            raise ConfigError(f"graph pool {path}: {faults}") from None
        except ConfigError as error:
            raise ConfigError(f"graph pool {path}: {error}") from None


class _StoredGraph(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    edges: tuple[Edge, ...]


class _PoolFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    size: int
    note: str = ""
    graphs: tuple[_StoredGraph, ...]


def _read_graph(stored: _PoolFile, number: int) -> Topology:
    """Read one graph; an error names its place in the file."""
    graph = stored.graphs[number]
    try:
        topology = Topology(stored.size, graph.edges)
    except ConfigError as error:
        raise ConfigError(f"graphs.{number}.edges: {error}") from None
    if graph.id != topology.id:
        raise ConfigError(f"graphs.{number}.id: {graph.id!r}, and the edges are {topology.id!r}'s")
    return topology


def reference_pool(
    size: int, count: int, density: tuple[float, float] = (0.3, 0.7), *, seed: int
) -> GraphPool:
    """Fill a pool with the reference generator: random order, spanning tree, extra edges.

    Its graphs all have exactly one source. ``density`` is the generator's own: the share of
    the n(n-1)/2 pairs that an order allows, twice :attr:`Topology.density`.

    Where no more than ``count`` weakly connected DAGs exist, the pool is all of them. Where
    the generator reaches fewer than ``count``, the rest is drawn uniformly. ``note`` tells.

    Raises:
        ConfigError: ``count`` below 1, or ``density`` not within 0 to 1.
    """
    low, high = density
    if not 0 <= low <= high <= 1:
        raise ConfigError(f"density: 0 <= low <= high <= 1, got {density}")
    return _fill(size, count, seed, lambda rng: reference_dag(size, density, rng), "reference")


def uniform_pool(size: int, count: int, *, seed: int) -> GraphPool:
    """Fill a pool with weakly connected DAGs, all labelled ones being equally likely.

    Where no more than ``count`` exist, the pool is all of them, and ``note`` says so.

    Raises:
        ConfigError: ``count`` below 1.
    """
    return _fill(size, count, seed, lambda rng: uniform_connected_dag(size, rng), "uniform")


def _fill(
    size: int,
    count: int,
    seed: int,
    draw: Callable[[np.random.Generator], Topology],
    name: str,
) -> GraphPool:
    if count < 1:
        raise ConfigError(f"count: at least 1 graph, got {count}")
    existing = count_connected_dags(size)
    if existing <= count:
        return _everything(size, count, existing)
    rng = np.random.default_rng(seed)
    found: dict[Topology, None] = {}
    for _ in range(TRIES_PER_GRAPH * count):
        found.setdefault(draw(rng))
        if len(found) == count:
            break
    reached = len(found)
    while len(found) < count:
        found.setdefault(uniform_connected_dag(size, rng))
    note = ""
    if reached < count:
        note = (
            f"the {name} generator gave {reached} distinct graphs of {size} nodes in "
            f"{TRIES_PER_GRAPH * count} draws; the other {count - reached} are drawn uniformly "
            "from the weakly connected DAGs"
        )
    return GraphPool(size, tuple(found), note)


def _everything(size: int, count: int, existing: int) -> GraphPool:
    note = ""
    if existing < count:
        note = (
            f"{count} graphs were asked for, but only {existing} weakly connected DAGs of {size} "
            "nodes exist; the pool is all of them"
        )
    return GraphPool(size, all_dags(size), note)


def empty(size: int) -> Topology:
    """Nobody reads anybody."""
    return Topology(size)


def chain(size: int) -> Topology:
    """Each role reads the one before it."""
    return Topology(size, tuple((i, i + 1) for i in range(size - 1)))


def star(size: int) -> Topology:
    """Everybody reads the first role, and nobody else."""
    return Topology(size, tuple((0, i) for i in range(1, size)))


def full(size: int) -> Topology:
    """Each role reads all before it: the densest DAG in declared order."""
    return Topology(size, tuple((u, v) for v in range(size) for u in range(v)))


def layered(size: int, layers: int = 2) -> Topology:
    """Roles in consecutive layers of about equal size; each layer reads all of the one before.

    Raises:
        ConfigError: fewer than 1 or more than ``size`` layers.
    """
    if not 1 <= layers <= size:
        raise ConfigError(f"layers: 1 to {size}, got {layers}")
    layer = [node * layers // size for node in range(size)]
    pairs = ((u, v) for u in range(size) for v in range(size))
    return Topology(size, tuple((u, v) for u, v in pairs if layer[v] == layer[u] + 1))
