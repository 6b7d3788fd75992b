"""A team: roles, who fills them, who reads whom, and who decides."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.topology import Edge, Topology

Reads = Literal["all", "sinks"]
"""Whether a decision reads all kept roles, or only those that nobody reads."""


@dataclass(frozen=True)
class Team:
    """Everything that is chosen for a task; plain data, run by the executor.

    Attributes:
        roles: The role set; its order numbers the nodes of ``topology``.
        supernodes: One for each role, in the same order.
        topology: Who reads whom, pruned roles included; see :attr:`edges` for what runs.
        decision: LLM that gives the final answer.
        reads: What the decision reads.

    Raises:
        ConfigError: supernodes, topology and roles do not fit together.
    """

    roles: RoleSet
    supernodes: tuple[Supernode, ...]
    topology: Topology
    decision: str
    reads: Reads = "all"

    def __post_init__(self) -> None:
        declared = self.roles.names
        given = tuple(supernode.role for supernode in self.supernodes)
        if given != declared:
            raise ConfigError(
                f"supernodes: expected the roles {', '.join(declared)} in this order, "
                f"got {', '.join(given) or 'none'}"
            )
        if self.topology.size != len(declared):
            raise ConfigError(
                f"topology: {self.topology.size} nodes for the {len(declared)} roles of "
                f"{self.roles.name!r}"
            )
        if self.decision == SKIP:
            raise ConfigError("decision: the final answer needs an LLM, not 'skip'")
        if self.reads not in get_args(Reads):
            raise ConfigError(f"reads: 'all' or 'sinks', got {self.reads!r}")

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Indices of the roles that act."""
        return tuple(i for i, supernode in enumerate(self.supernodes) if not supernode.pruned)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Edges between kept roles: a pruned role takes all its edges with it."""
        kept = set(self.kept)
        return tuple((u, v) for u, v in self.topology.edges if u in kept and v in kept)

    @cached_property
    def informants(self) -> tuple[int, ...]:
        """Kept roles whose messages the decision is to read."""
        if self.reads == "all":
            return self.kept
        read = {u for u, _ in self.edges}
        return tuple(node for node in self.kept if node not in read)
