"""The teams that an oracle may choose among."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Reads, Team
from hieramas_lib.teams.topology import Topology


@dataclass(frozen=True)
class TeamOptions:
    """What may stand where.

    Attributes:
        roles: The role set.
        llms: LLMs for every position; SKIP comes in addition.
        width: Proposer positions of a role.
        graphs: Topologies over the roles.
        decision: LLM that gives the final answer.
        reads: What the decision reads.

    Raises:
        ConfigError: no LLMs, no graphs, or a graph of another size.
    """

    roles: RoleSet
    llms: tuple[str, ...]
    width: int
    graphs: tuple[Topology, ...]
    decision: str
    reads: Reads = "all"

    def __post_init__(self) -> None:
        if not self.llms or not self.graphs or self.width < 0:
            raise ConfigError("options: at least one LLM, one graph and a width of 0 or more")
        for graph in self.graphs:
            if graph.size != len(self.roles.roles):
                raise ConfigError(
                    f"graph {graph.id} is not over the {len(self.roles.roles)} roles of "
                    f"{self.roles.name!r}"
                )

    @cached_property
    def fillings(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Proposers and synthesizer of a role in every way, pruned first.

        Proposers do not see each other, so their order does not count.
        """
        actions = (SKIP, *self.llms)
        proposals = tuple(combinations_with_replacement(actions, self.width))
        kept = tuple((proposers, llm) for llm in self.llms for proposers in proposals)
        return (((SKIP,) * self.width, SKIP), *kept)

    @property
    def count(self) -> int:
        """Number of teams, those included that run the same once roles are pruned."""
        return prod([len(self.fillings)] * len(self.roles.roles)) * len(self.graphs)

    def supernode(self, node: int, filling: tuple[tuple[str, ...], str]) -> Supernode:
        """Fill the role of ``node``."""
        return Supernode(self.roles.names[node], *filling)

    def team(self, supernodes: tuple[Supernode, ...], graph: Topology) -> Team:
        """Make a team of these options."""
        return Team(self.roles, supernodes, graph, self.decision, self.reads)

    def alone(self) -> Team:
        """Return the team that leaves everything to the decision."""
        return self.only({})

    def only(self, kept: dict[int, str]) -> Team:
        """Return the team of the roles ``kept``, each one LLM without proposers, on any graph."""
        nodes = (
            self.supernode(node, ((SKIP,) * self.width, kept.get(node, SKIP)))
            for node in range(len(self.roles.roles))
        )
        return self.team(tuple(nodes), self.graphs[0])

    def random(self, rng: np.random.Generator) -> Team:
        """Draw every position, SKIP being as likely as any LLM, and the graph."""
        actions = (*self.llms, SKIP)
        nodes = []
        for node in range(len(self.roles.roles)):
            *proposers, last = (actions[rng.integers(len(actions))] for _ in range(self.width + 1))
            nodes.append(self.supernode(node, (tuple(proposers), last)))
        return self.team(tuple(nodes), self.graphs[rng.integers(len(self.graphs))])

    def all(self) -> Iterator[Team]:
        """Go through all teams; of those that run the same, only the first."""
        seen = set()
        for fillings in product(self.fillings, repeat=len(self.roles.roles)):
            nodes = tuple(self.supernode(node, filling) for node, filling in enumerate(fillings))
            for graph in self.graphs:
                team = self.team(nodes, graph)
                if (key := what_runs(team)) not in seen:
                    seen.add(key)
                    yield team


def what_runs(team: Team) -> tuple[object, ...]:
    """Return what tells ``team`` apart from others of its options: fillings and live edges."""
    return (team.supernodes, team.edges)


def with_supernode(team: Team, node: int, supernode: Supernode) -> Team:
    """Return ``team`` with another filling of one role."""
    nodes = (*team.supernodes[:node], supernode, *team.supernodes[node + 1 :])
    return replace(team, supernodes=nodes)


def without_role(team: Team, node: int) -> Team:
    """Return ``team`` with one role pruned."""
    old = team.supernodes[node]
    return with_supernode(team, node, replace(old, synthesizer=SKIP))
