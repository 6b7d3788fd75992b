"""The best team: by going through all, or by climbing where they are too many (design 7).

What climbing finds is a lower bound: another start may end higher. Any set of questions that
was searched on flatters the team that was found, so it is judged on others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.teams.oracle.options import TeamOptions, what_runs, with_supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology, find_cycle

Score = Callable[[Team], float]
"""Expected utility of a team, by whatever means."""

MOST_TEAMS = 200_000
"""Options beyond this number are not gone through one by one."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best team of a search.

    Attributes:
        team: The team.
        score: Its score on what was searched on.
        start: Name of the start that led to it; ``"all"`` if every team was looked at.
        tried: How many teams were scored, over all starts.
        scores: Where each start ended.
    """

    team: Team
    score: float
    start: str
    tried: int
    scores: Mapping[str, float]


def best_of_all(options: TeamOptions, score: Score) -> Found:
    """Score every team; the first of equally good ones is returned.

    Raises:
        ConfigError: there are more than :data:`MOST_TEAMS`.
    """
    if options.count > MOST_TEAMS:
        raise ConfigError(
            f"options: {options.count:,} teams are too many to go through; use climb, or fewer "
            "LLMs, positions or graphs"
        )
    scores = [(score(team), team) for team in options.all()]
    value, team = max(scores, key=lambda pair: pair[0])
    return Found(team, value, "all", len(scores), {"all": value})


def climb(
    options: TeamOptions, score: Score, starts: Mapping[str, Team], *, free_edges: bool = False
) -> Found:
    """Improve every start, one coordinate at a time, until no move helps.

    Coordinates are the roles (all positions of one at once, pruned included), the graph (any of
    the options') and, with ``free_edges``, single edges. The best move on a coordinate is made
    if it is better than staying.

    Args:
        options: What may stand where.
        score: What to maximise. Small differences count, so it has to judge all teams under the
            same luck.
        starts: Where to begin, by name; see :func:`usual_starts`.
        free_edges: Whether graphs beyond the options' may come about, edge by edge.
    """
    known: dict[tuple[object, ...], float] = {}

    def look_up(team: Team) -> float:
        key = what_runs(team)
        if key not in known:
            known[key] = score(team)
        return known[key]

    ends = {name: _climb(options, look_up, team, free_edges) for name, team in starts.items()}
    scores = {name: look_up(team) for name, team in ends.items()}
    start = max(scores, key=scores.__getitem__)
    return Found(ends[start], scores[start], start, len(known), scores)


def usual_starts(
    options: TeamOptions, score: Score, settings: WorldSettings, subject: str | None = None
) -> dict[str, Team]:
    """Return starts worth climbing from, each with the LLM that suits it best throughout.

    ``alone``: the decision alone. ``one``: the best single role. ``rule``: roles that answer
    anything, and those whose own subject is ``subject``. ``all``: every role, no proposers.
    """
    solvers = [i for i, role in enumerate(options.roles.roles) if role.duty == "solver"]
    experts = [
        i for i, name in enumerate(options.roles.names)
        if name in settings.roles and subject in settings.roles[name].subjects
    ]  # fmt: skip
    everybody = range(len(options.roles.roles))
    kept = {
        "one": [[node] for node in everybody],
        "rule": [sorted({*solvers, *experts})],
        "all": [list(everybody)],
    }
    starts = {"alone": options.alone()}
    for name, choices in kept.items():
        teams = [
            options.only(dict.fromkeys(nodes, llm)) for nodes in choices for llm in options.llms
        ]
        starts[name] = max(teams, key=score)
    return starts


def _climb(options: TeamOptions, score: Score, team: Team, free_edges: bool) -> Team:
    coordinates = [_fillings(options, node) for node in range(len(options.roles.roles))]
    coordinates.append(lambda team: (replace(team, topology=g) for g in options.graphs))
    if free_edges:
        coordinates.append(_edge_moves)
    unchanged = 0
    while unchanged < len(coordinates):
        for moves in coordinates:
            best = max(moves(team), key=score, default=team)
            if score(best) > score(team):
                team, unchanged = best, 0
            else:
                unchanged += 1
            if unchanged == len(coordinates):
                break
    return team


def _fillings(options: TeamOptions, node: int) -> Callable[[Team], Iterator[Team]]:
    def moves(team: Team) -> Iterator[Team]:
        for filling in options.fillings:
            yield with_supernode(team, node, options.supernode(node, filling))

    return moves


def _edge_moves(team: Team) -> Iterator[Team]:
    """Take away each edge, add each that closes no cycle."""
    size, edges = team.topology.size, set(team.topology.edges)
    for u in range(size):
        for v in range(size):
            changed = tuple(edges ^ {(u, v)})
            if u != v and not find_cycle(size, changed):
                yield replace(team, topology=Topology(size, changed))
