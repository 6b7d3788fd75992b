"""The space of teams that a policy and a graph classifier choose among, and what runs them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.teams.execution import Job
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Reads, Team

Runner = Callable[[Sequence[Job]], Awaitable[Sequence[Rollout]]]
"""Makes a batch of rollouts; stage 1 needs grades of the nodes too."""


@dataclass(frozen=True, slots=True)
class TeamSpace:
    """What is fixed about a team before LLMs and graph are chosen."""

    roles: RoleSet
    actions: ActionSpace
    graphs: GraphPool
    decision: str
    reads: Reads = "all"

    def team(self, actions: Tensor, graph: int) -> Team:
        """Build the team of ``actions`` (``[roles, positions]``) on the pool's ``graph``."""
        supernodes = self.actions.supernodes(self.roles.names, actions)
        topology = self.graphs[graph]
        return Team(self.roles, supernodes, topology, self.decision, self.reads)
