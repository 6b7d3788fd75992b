"""Who reads whom: a directed acyclic graph over the roles of a team."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError

Edge = tuple[int, int]
"""``(u, v)``: the message of node ``u`` is read by node ``v``."""


@dataclass(frozen=True)
class Topology:
    """A DAG whose nodes are the roles of a role set, in declared order.

    Edges are kept sorted and distinct, so equal graphs are equal objects with equal ids.

    Attributes:
        size: Number of nodes, at least 1.
        edges: Pairs ``(u, v)`` of node indices; ``u``'s message is read by ``v``.

    Raises:
        ConfigError: a node does not exist, or there is a cycle; the message spells it out.
    """

    size: int
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(sorted({(int(u), int(v)) for u, v in self.edges})))
        if self.size < 1:
            raise ConfigError(f"a topology has at least 1 node, got size {self.size}")
        for u, v in self.edges:
            if not (0 <= u < self.size and 0 <= v < self.size):
                raise ConfigError(f"edge {u} -> {v}: the nodes are 0 to {self.size - 1}")
        cycle = find_cycle(self.size, self.edges)
        if cycle:
            raise ConfigError(_cycle_message([str(node) for node in cycle]))

    @classmethod
    def from_names(cls, names: Sequence[str], edges: Iterable[tuple[str, str]]) -> "Topology":
        """Build a topology from role names, e.g. ``(("Critic", "Doctor"),)``.

        Raises:
            ConfigError: unknown name or cycle, spelled in role names.
        """
        index = {name: i for i, name in enumerate(names)}
        pairs = tuple(edges)
        unknown = sorted({name for pair in pairs for name in pair} - set(index))
        if unknown:
            raise ConfigError(f"no role {', '.join(unknown)}; the roles are {', '.join(names)}")
        numbered = tuple((index[u], index[v]) for u, v in pairs)
        cycle = find_cycle(len(names), numbered)
        if cycle:
            raise ConfigError(_cycle_message([names[node] for node in cycle]))
        return cls(len(names), numbered)

    @classmethod
    def from_id(cls, identifier: str) -> "Topology":
        """Read a topology back from its :attr:`id`.

        Raises:
            ConfigError: this is not the id of a DAG.
        """
        head, _, digits = identifier.partition("-")
        try:
            size, bits = int(head), int(digits, 16)
        except ValueError:
            raise ConfigError(f"{identifier!r} is not a topology id such as '3-18'") from None
        pairs = _pairs(size)
        topology = cls(size, tuple(pair for i, pair in enumerate(pairs) if bits >> i & 1))
        if topology.id != identifier:
            raise ConfigError(f"{identifier!r} is not a topology id; did you mean {topology.id!r}?")
        return topology

    @cached_property
    def id(self) -> str:
        """Canonical name: size, then the off-diagonal adjacency bits as hexadecimal digits.

        Bit i (least significant first) stands for the i-th pair in the order (0,1), (0,2), ...,
        (1,0), (1,2), ...; ids and topologies correspond one to one.
        """
        present = set(self.edges)
        bits = sum(1 << i for i, pair in enumerate(_pairs(self.size)) if pair in present)
        width = max(1, -(-self.size * (self.size - 1) // 4))
        return f"{self.size}-{bits:0{width}x}"

    @cached_property
    def _parents(self) -> tuple[tuple[int, ...], ...]:
        return _grouped(self.size, ((v, u) for u, v in self.edges))

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        return _grouped(self.size, self.edges)

    def predecessors(self, node: int) -> tuple[int, ...]:
        """Nodes whose messages ``node`` reads, ascending."""
        return self._parents[node]

    def successors(self, node: int) -> tuple[int, ...]:
        """Nodes that read ``node``'s message, ascending."""
        return self._children[node]

    @property
    def sources(self) -> tuple[int, ...]:
        """Nodes that read nobody."""
        return tuple(node for node in range(self.size) if not self._parents[node])

    @property
    def sinks(self) -> tuple[int, ...]:
        """Nodes that nobody reads."""
        return tuple(node for node in range(self.size) if not self._children[node])

    def order(self) -> tuple[int, ...]:
        """Return the nodes such that all predecessors come first; ties go to the lower index."""
        return self._order

    @cached_property
    def _order(self) -> tuple[int, ...]:
        done: list[int] = []
        waiting = [len(parents) for parents in self._parents]
        while len(done) < self.size:
            node = next(i for i, missing in enumerate(waiting) if missing == 0)
            waiting[node] = -1
            done.append(node)
            for child in self._children[node]:
                waiting[child] -= 1
        return tuple(done)

    @property
    def depth(self) -> int:
        """Nodes on the longest chain of readers."""
        longest = [1] * self.size
        for node in self.order():
            longest[node] += max((longest[u] for u in self._parents[node]), default=0)
        return max(longest)

    @property
    def density(self) -> float:
        """Edges / n(n-1), the scale of the paper's figure 3: a full DAG has 0.5."""
        return len(self.edges) / max(1, self.size * (self.size - 1))

    @property
    def connected(self) -> bool:
        """Whether the graph hangs together when directions are ignored."""
        seen, stack = {0}, [0]
        while stack:
            node = stack.pop()
            for other in (*self._parents[node], *self._children[node]):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return len(seen) == self.size

    def adjacency(self) -> NDArray[np.bool_]:
        """Return the matrix A of shape (size, size), with A[u, v] true where v reads u."""
        matrix = np.zeros((self.size, self.size), dtype=np.bool_)
        for u, v in self.edges:
            matrix[u, v] = True
        return matrix

    def without(self, pruned: Collection[int]) -> "Topology":
        """Return the graph without any edge of ``pruned`` nodes; the nodes keep their indices."""
        kept = tuple((u, v) for u, v in self.edges if u not in pruned and v not in pruned)
        return self if len(kept) == len(self.edges) else Topology(self.size, kept)


def jaccard(a: Topology, b: Topology) -> float:
    """Similarity of two edge sets, shared / all edges; two edgeless graphs are alike (1.0)."""
    if a.size != b.size:
        raise ConfigError(f"cannot compare topologies of {a.size} and {b.size} nodes")
    first, second = set(a.edges), set(b.edges)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def find_cycle(size: int, edges: Iterable[Edge]) -> tuple[int, ...]:
    """Return the nodes of one directed cycle, first node repeated at the end, or ``()``."""
    children = _grouped(size, edges)
    finished: set[int] = set()
    for start in range(size):
        path: list[int] = []
        branches = [iter((start,))]
        while branches:
            node = next(branches[-1], None)
            if node is None:
                branches.pop()
                if path:
                    finished.add(path.pop())
            elif node in path:
                return (*path[path.index(node) :], node)
            elif node not in finished:
                path.append(node)
                branches.append(iter(children[node]))
    return ()


def _cycle_message(names: list[str]) -> str:
    return f"the topology has a cycle: {' -> '.join(names)}; take one of these edges away"


def _pairs(size: int) -> list[Edge]:
    return [(u, v) for u in range(size) for v in range(size) if u != v]


def _grouped(size: int, pairs: Iterable[Edge]) -> tuple[tuple[int, ...], ...]:
    groups: list[list[int]] = [[] for _ in range(size)]
    for key, value in pairs:
        groups[key].append(value)
    return tuple(tuple(group) for group in groups)
