"""What a role contributes to the final answer, by counterfactual (design 8).

Comparing one run with and without a role tells nothing about the sign of its credit: where the
two differ, the difference has the sign of the outcome itself. What counts is the expectation over
everything that might have been different but the role's own answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.oracle.estimate import Estimate
from hieramas_lib.teams.oracle.options import with_supernode, without_role
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.symbolic.answers import Codes
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team

DrawTeam = Callable[[np.random.Generator], Team]


@dataclass(frozen=True)
class Contribution:
    """Expected change of the final answer when a role with a given answer is there, by task.

    Attributes:
        mean: Probability of a right final answer with the role minus that without it,
            shape ``[tasks]``.
        standard_error: Of ``mean``, shape ``[tasks]``.
    """

    mean: NDArray[np.float64]
    standard_error: NDArray[np.float64]

    def clear(self, least: float = 0.02) -> NDArray[np.bool_]:
        """Return where the contribution is large enough for its sign to mean something."""
        return np.abs(self.mean) > least


def expected_contribution(
    questions: SymbolicTeams, node: int, replies: Codes, draw_team: DrawTeam, *,
    redraws: int = 64, seed: int = 0,
) -> Contribution:  # fmt: skip
    """Hold a role's answers and redraw the rest: teammates, topology and luck.

    Each redrawn team is replayed twice under the same luck: with the role giving ``replies``,
    and with the role pruned.

    Args:
        questions: The tasks; their ``draws`` repetitions are made for each redraw.
        node: The role.
        replies: Its answer to each task as a code, shape ``[tasks]``, e.g. from
            :attr:`Replay.nodes`.
        draw_team: Draws teammates and topology, e.g. ``TeamOptions.random`` or a policy.
        redraws: How many teams to draw, at least 2.
        seed: Of teams and luck.

    Raises:
        ConfigError: fewer than 2 redraws.
    """
    if redraws < 2:
        raise ConfigError(f"redraws: at least 2, got {redraws}")
    rng = np.random.default_rng(seed)
    changes = []
    for luck in rng.integers(2**32, size=redraws):
        redrawn = questions.redrawn(int(luck))
        team = _present(draw_team(rng), node)
        there = redrawn.replay(team, held={node: replies}).results.right
        gone = redrawn.replay(without_role(team, node)).results.right
        changes.append((there - gone).mean(axis=0))
    change = np.array(changes)
    return Contribution(change.mean(axis=0), change.std(axis=0, ddof=1) / sqrt(redraws))


def team_contribution(team: Team, node: int, questions: SymbolicTeams) -> Estimate:
    """Return the utility of ``team`` minus that without the role, cost included.

    Raises:
        ConfigError: the role is pruned already.
    """
    if node not in team.kept:
        raise ConfigError(f"role {team.roles.names[node]!r} is pruned: it contributes nothing")
    return questions.results(team).minus(questions.results(without_role(team, node))).estimate()


def _present(team: Team, node: int) -> Team:
    """Return ``team`` with the role kept; who fills it is of no matter, as its answer is held."""
    if node in team.kept:
        return team
    return with_supernode(team, node, Supernode(team.roles.names[node], (), team.decision))
