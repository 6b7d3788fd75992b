"""The six communication actions, and the graph that a joint action stands for (Agent Q-Mix).

Each agent takes one action a round. Targets are fixed by the agents' order, modulo N:

======================  =====================================================
``solo_process``        no edge
``broadcast_all``       i -> j for every other j
``selective_query``     i -> i + 1
``aggregate_refine``    j -> i for every other j
``execute_verify``      i -> i + 1, and nothing for the last agent
``debate_check``        i -> i + floor(N / 2), and back
======================  =====================================================

An edge u -> v means that v reads what u wrote. An action changes edges and nothing else: no prompt,
and no code is run. Two modes say which of the requested edges exist:

- ``synchronous`` (default): all of them, as a round reads the texts of the round before;
- ``reference``: the published mapping. A round reads texts of the same round, so the graph must
  have no cycle. Edges are inserted one at a time, agents and targets in order; u -> v is refused if
  v already reaches u, so the earlier agent wins. The way back of a debate is exempt from that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.topology import Edge

Mode = Literal["synchronous", "reference"]
"""Whether a round reads the texts of the round before, or those of the same round."""


class Action(IntEnum):
    """What an agent can do with its edges in a round; the numbers are those of the paper's code."""

    SOLO_PROCESS = 0
    BROADCAST_ALL = 1
    SELECTIVE_QUERY = 2
    AGGREGATE_REFINE = 3
    EXECUTE_VERIFY = 4
    DEBATE_CHECK = 5

    @property
    def label(self) -> str:
        """Name in records and figures, such as ``"solo"``."""
        return self.name.split("_")[0].lower()


LABELS = tuple(action.label for action in Action)
"""Names of the actions, in the order of their numbers."""


@dataclass(frozen=True, slots=True)
class RoundGraph:
    """Who reads whom in a round.

    Attributes:
        size: Number of agents, N.
        edges: Edges that are delivered, sorted and distinct.
        refused: Requested, but dropped by the conflict rule; in the order of the requests.
        late: Let in by the rule, but against the order in which agents speak: the reader of such
            an edge has spoken before its source has, so that nothing is delivered.
    """

    size: int
    edges: tuple[Edge, ...]
    refused: tuple[Edge, ...] = ()
    late: tuple[Edge, ...] = ()

    @property
    def requested(self) -> tuple[Edge, ...]:
        """Every distinct edge that was asked for, sorted."""
        return tuple(sorted({*self.edges, *self.refused, *self.late}))


def requests(agent: int, action: Action, size: int) -> tuple[Edge, ...]:
    """Return the edges that ``agent`` of ``size`` asks for, in the order of their insertion.

    No action asks for an edge from an agent to itself, so that one agent alone has none.
    """
    others = [j for j in range(size) if j != agent]
    following, across = (agent + 1) % size, (agent + size // 2) % size
    edges: list[Edge] = {
        Action.SOLO_PROCESS: [],
        Action.BROADCAST_ALL: [(agent, j) for j in others],
        Action.SELECTIVE_QUERY: [(agent, following)],
        Action.AGGREGATE_REFINE: [(j, agent) for j in others],
        Action.EXECUTE_VERIFY: [(agent, agent + 1)] if agent + 1 < size else [],
        Action.DEBATE_CHECK: [(agent, across), (across, agent)],
    }[action]
    return tuple((u, v) for u, v in edges if u != v)


def graph_of(joint: Sequence[int], mode: Mode = "synchronous") -> RoundGraph:
    """Return the graph of a joint action: one action an agent, in the agents' order.

    Raises:
        ConfigError: ``joint`` is empty or holds no action's number, or ``mode`` is unknown.
    """
    actions = _actions(joint)
    if mode not in get_args(Mode):
        raise ConfigError(f"mode: {mode!r} is not one of {', '.join(get_args(Mode))}")
    if mode == "reference":
        return _reference_graph(actions)
    asked = [e for i, action in enumerate(actions) for e in requests(i, action, len(actions))]
    return RoundGraph(len(actions), tuple(sorted(set(asked))))


def _actions(joint: Sequence[int]) -> list[Action]:
    known = {int(action) for action in Action}
    if not joint or any(number not in known for number in joint):
        raise ConfigError(f"joint action {tuple(joint)}: one number from 0 to 5 for each agent")
    return [Action(number) for number in joint]


def _reference_graph(actions: Sequence[Action]) -> RoundGraph:
    size = len(actions)
    kept: set[Edge] = set()
    refused: list[Edge] = []
    for agent, action in enumerate(actions):
        accepted = True
        for number, edge in enumerate(requests(agent, action, size)):
            way_back = action == Action.DEBATE_CHECK and number == 1
            if edge in kept:
                continue
            accepted = accepted if way_back else not _reaches(kept, edge[1], edge[0])
            if accepted:
                kept.add(edge)
            else:
                refused.append(edge)
    place = {agent: number for number, agent in enumerate(_speaking_order(size, kept))}
    late = tuple(sorted(e for e in kept if place[e[0]] > place[e[1]]))
    dropped = tuple(dict.fromkeys(e for e in refused if e not in kept))
    return RoundGraph(size, tuple(sorted(kept - set(late))), dropped, late)


def _reaches(edges: set[Edge], start: int, goal: int) -> bool:
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        for u, v in edges:
            if u == node and v not in seen:
                seen.add(v)
                stack.append(v)
    return False


def _speaking_order(size: int, edges: set[Edge]) -> Iterator[int]:
    """Yield the agents such that what they read comes first, as far as that can be.

    Of two that debate, the one with the lower index speaks first. A longer cycle, which the
    exemption of debates can close from N = 4 on, is opened at its lowest index.
    """
    left = set(range(size))
    while left:
        waits = {v: {u for u in left if (u, v) in edges} for v in sorted(left)}
        free = [v for v, sources in waits.items() if not sources]
        debating = [v for v, sources in waits.items() if all((v, u) in edges for u in sources)]
        agent = (free or debating or sorted(left))[0]
        left.remove(agent)
        yield agent
