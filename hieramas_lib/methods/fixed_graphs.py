"""Plain agents of one LLM on a graph that nobody learns: the baselines of the graph papers.

Every role acts, with one call of the same LLM; the decision LLM and what it reads are the space's.

    Full-Graph    the complete DAG over the roles in declared order, n(n-1)/2 edges
    Chain         each role reads the one before it
    Star          every role reads the first one
    Random-Graph  for each question one graph, drawn uniformly from the pool of the space

The published "full" sets all edges in both directions and executes the half that the order of
the node list allows, which is this complete DAG; here it is what is asked for, too. The random
graph comes from the same pool that a selector chooses from, so that the comparison holds the pool
fixed; average it over several draws, see :func:`random_graphs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.role_graphs import SHAPES, Shape, shaped
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

DRAWS: Final = 3
"""Draws of the random graph to average over, at least."""

_NAMES: Final = {"full": "Full-Graph", "chain": "Chain", "star": "Star"}


def plain_team(space: TeamSpace, llm: str, topology: Topology) -> Team:
    """Return the team in which every role is one call of ``llm``, on ``topology``.

    Raises:
        ConfigError: ``llm`` is not among the LLMs of the space.
    """
    if llm not in space.actions.llms:
        raise ConfigError(
            f"llm: {llm!r} is not in the pool; it has {', '.join(space.actions.llms)}"
        )
    nobody = (SKIP,) * space.actions.width
    agents = tuple(Supernode(role, nobody, llm) for role in space.roles.names)
    return Team(space.roles, agents, topology, space.decision, space.reads)


@dataclass(frozen=True, slots=True)
class FixedGraphSettings:
    """Which LLM all agents are, and the shape of their graph.

    Raises:
        ConfigError: the shape is unknown.
    """

    llm: str
    shape: Shape = "full"

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ConfigError(f"shape: {self.shape!r} is not one of {', '.join(SHAPES)}")


class FixedGraph:
    """Full-Graph, Chain or Star: one and the same graph for every question."""

    def __init__(self, space: TeamSpace, llms: LLMService, settings: FixedGraphSettings) -> None:
        """Fix the team.

        Raises:
            ConfigError: the LLM is not in the pool.
        """
        self.space, self.llms, self.settings = space, llms, settings
        topology = shaped(settings.shape, len(space.roles.roles))
        self._team = plain_team(space, settings.llm, topology)

    @property
    def name(self) -> str:
        """Name shown in tables."""
        return _NAMES[self.settings.shape]

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Do nothing: the graph is given."""

    def team(self, task: Task) -> Team:
        """Return the team, the same for every ``task``."""
        return self._team

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        return await run_team(self._team, task, self.llms)


@dataclass(frozen=True, slots=True)
class RandomGraphSettings:
    """Which LLM all agents are, and which of several draws of the graphs this is.

    Raises:
        ConfigError: ``draw`` is negative.
    """

    llm: str
    draw: int = 0

    def __post_init__(self) -> None:
        if self.draw < 0:
            raise ConfigError(f"draw: 0 or more, got {self.draw}")


class RandomGraph:
    """Random-Graph: for every question a graph of the pool, each with the same probability.

    It depends on seed, draw and question alone, not on the order of the questions.
    """

    name = "Random-Graph"

    def __init__(
        self, space: TeamSpace, llms: LLMService, settings: RandomGraphSettings, seed: int
    ) -> None:
        """Fix agents and draws.

        Raises:
            ConfigError: the LLM is not in the pool.
        """
        self.space, self.llms, self.settings, self.seed = space, llms, settings, seed
        self._teams = [plain_team(space, settings.llm, topology) for topology in space.graphs]

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Do nothing: graphs are drawn, not learned."""

    def team(self, task: Task) -> Team:
        """Return the team on the graph drawn for ``task``."""
        draw = crc32(f"{self.seed} {self.settings.draw} {task.id}".encode())
        return self._teams[int(np.random.default_rng(draw).integers(len(self._teams)))]

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        return await run_team(self.team(task), task, self.llms)


def random_graphs(
    space: TeamSpace, llms: LLMService, llm: str, seed: int, draws: int = DRAWS
) -> tuple[RandomGraph, ...]:
    """Return Random-Graph once for each draw; what is reported is the mean over them.

    Raises:
        ConfigError: fewer than three draws.
    """
    if draws < DRAWS:
        raise ConfigError(f"draws: at least {DRAWS}, as one draw may be lucky; got {draws}")
    settings = [RandomGraphSettings(llm, draw) for draw in range(draws)]
    return tuple(RandomGraph(space, llms, each, seed) for each in settings)
