"""Replay simulated teams on answers instead of texts, some thousand times faster (design 7).

The model is the simulated pool's own (``llms.world``, ``llms.simulated``): the same margins, wrong
answers, reading, blanks and plans. Only the luck of single calls is drawn otherwise: by numpy for
each seat, instead of by hashes of prompts. Costs are expected costs, given who answered what.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Header, Style
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.estimate import Results
from hieramas_lib.teams.prompts import ALONE_ROLE, DECISION_ROLE
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import SKIP
from hieramas_lib.teams.symbolic.answers import AnswerCodes, Codes
from hieramas_lib.teams.symbolic.calls import Abilities, CallReplay, SeatCalls
from hieramas_lib.teams.symbolic.noise import Seat
from hieramas_lib.teams.symbolic.tokens import TokenCounts
from hieramas_lib.teams.team import Team

Floats = NDArray[np.float64]

_SYNTHESIZER: Final = 0
_DECISION, _ALONE = (1000, 0), (1001, 0)
"""Seats outside the roles."""


@dataclass(frozen=True)
class Replay:
    """A team's replies, as codes of shape ``[draws, tasks]``; see ``symbolic.answers``.

    Attributes:
        decision: The final answers.
        nodes: The message of each kept role, by node.
        proposals: What each proposer wrote, by (node, place), places counted from 1.
        cost: Of the whole team, in calls of the reference LLM, shape ``[tasks]``.
    """

    decision: Codes
    nodes: Mapping[int, Codes]
    proposals: Mapping[Seat, Codes]
    cost: Floats

    @property
    def results(self) -> Results:
        """Right or wrong, and cost."""
        return Results((self.decision == 0).astype(np.float64), self.cost[None, :])


class SymbolicTeams:
    """Teams of one role set on a fixed set of questions with a fixed stock of luck.

    Args:
        world: The simulated world. It need not hold ``tasks``: it knows any question by its id.
            (With texts a question is known by its statement, so give no two tasks the same one.)
        pool: The LLMs and their prices, as simulated (``LLMPool.simulated``).
        roles: Role set of all teams.
        tasks: Questions of the role set's kind.
        draws: Repetitions of every question.
        seed: Of the luck of calls; the same for every team, so that teams can be compared.

    Raises:
        ConfigError: no tasks, tasks of another kind, no draws, or an LLM of the pool that the
            world does not know.
    """

    def __init__(
        self, world: World, pool: LLMPool, roles: RoleSet, tasks: Sequence[Task], *,
        draws: int = 8, seed: int = 0,
    ) -> None:  # fmt: skip
        if draws < 1:
            raise ConfigError(f"draws: at least 1, got {draws}")
        self.roles, self.draws, self.seed = roles, draws, seed
        self.codes = AnswerCodes(tasks, world, pool.names)
        if self.codes.kind != roles.kind:
            raise ConfigError(
                f"role set {roles.name!r} is for tasks of kind {roles.kind!r}, "
                f"got {self.codes.kind!r}"
            )
        tokens = TokenCounts(self.codes, roles, world)
        self._abilities = Abilities(world, pool, self.codes, tokens)
        self._calls = CallReplay(self._abilities, draws, seed)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The questions, in the order of all arrays."""
        return self.codes.tasks

    def redrawn(self, seed: int) -> "SymbolicTeams":
        """Return the same questions under other luck; what is persistent is shared."""
        other = copy(self)
        other.seed = seed
        other._calls = CallReplay(self._abilities, self.draws, seed)
        return other

    def with_reading(self, settings: WorldSettings) -> "SymbolicTeams":
        """Return the same questions under the same luck, to readers of another kind.

        Nothing that lasts is drawn or counted again, as it would be in a new world.

        Raises:
            ConfigError: ``settings`` differ in more than their ``reading`` and ``checker``.
        """
        other = copy(self)
        other._abilities = copy(self._abilities)
        other._abilities.world = self._abilities.world.with_reading(settings)
        other._calls = CallReplay(other._abilities, self.draws, self.seed)
        return other

    def on(self, tasks: Sequence[Task]) -> "SymbolicTeams":
        """Return the same world with other questions."""
        known = self._abilities
        return SymbolicTeams(
            known.world, known.pool, self.roles, tasks, draws=self.draws, seed=self.seed
        )

    def results(self, team: Team) -> Results:
        """Return how ``team`` did in every repetition of every question."""
        return self.replay(team).results

    def alone(self, llm: str, style: Style = "step by step") -> Results:
        """Return how ``llm`` does without a team."""
        header = Header(ALONE_ROLE, "alone", style)
        calls = self._calls.call(llm, header, _ALONE)
        return self._replay(calls, {}, {}).results

    def replay(self, team: Team, held: Mapping[int, Codes] | None = None) -> Replay:
        """Replay ``team`` in full.

        Args:
            team: Who works how with whom.
            held: Messages of kept nodes that are given instead of replayed, at no cost, by
                node; codes of shape ``[draws, tasks]`` or ``[tasks]``.

        Raises:
            ConfigError: the team has other roles, or an LLM that the world does not know.
        """
        if team.roles is not self.roles and team.roles != self.roles:
            raise ConfigError(f"the team's roles are {team.roles.name!r}, not {self.roles.name!r}")
        nodes: dict[int, SeatCalls] = {}
        proposals: dict[Seat, SeatCalls] = {}
        kept = set(team.kept)
        for node in team.topology.order():
            if node in kept and held is not None and node in held:
                nodes[node] = self._held(node, held[node])
            elif node in kept:
                read = [
                    nodes[source] for source in team.topology.predecessors(node) if source in kept
                ]
                made = self._propose(team, node, read)
                proposals |= made
                nodes[node] = self._synthesize(team, node, read, list(made.values()))
        return self._replay(self._decide(team, nodes), nodes, proposals)

    def _propose(
        self, team: Team, node: int, messages: Sequence[SeatCalls]
    ) -> dict[Seat, SeatCalls]:
        supernode = team.supernodes[node]
        header = Header(supernode.role, "proposer")
        return {
            (node, place): self._calls.call(llm, header, (node, place), messages)
            for place, llm in enumerate(supernode.proposers, start=1)
            if llm != SKIP
        }

    def _synthesize(
        self, team: Team, node: int, messages: Sequence[SeatCalls], proposals: Sequence[SeatCalls]
    ) -> SeatCalls:
        supernode, seat = team.supernodes[node], (node, _SYNTHESIZER)
        header = Header(supernode.role, "synthesizer")
        return self._calls.call(supernode.synthesizer, header, seat, messages, proposals)

    def _decide(self, team: Team, nodes: Mapping[int, SeatCalls]) -> SeatCalls:
        messages = [nodes[node] for node in team.informants]
        header = Header(DECISION_ROLE, "decision")
        return self._calls.call(team.decision, header, _DECISION, messages)

    def _held(self, node: int, replies: Codes) -> SeatCalls:
        header = Header(self.roles.names[node], "synthesizer")
        shape = (self.draws, len(self.tasks))
        seat = (node, _SYNTHESIZER)
        return self._calls.held(header, seat, np.broadcast_to(replies, shape).reshape(-1).copy())

    def _replay(
        self, last: SeatCalls, nodes: Mapping[int, SeatCalls], proposals: Mapping[Seat, SeatCalls]
    ) -> Replay:
        shape = (self.draws, len(self.tasks))
        costs = [calls.cost for calls in (*nodes.values(), *proposals.values(), last)]
        return Replay(
            decision=last.replies.reshape(shape),
            nodes={node: calls.replies.reshape(shape) for node, calls in sorted(nodes.items())},
            proposals={seat: calls.replies.reshape(shape) for seat, calls in proposals.items()},
            cost=np.add.reduce(costs),
        )
