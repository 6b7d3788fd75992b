"""The oracle of the simulated pool: what a team is worth, and the best one there is (design 7).

Regret of a learned policy is measured against it. On pools of real LLMs use
:func:`hieramas_lib.teams.oracle.texts.text_results` to evaluate, and the searches of
``oracle.search`` with a score of your own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.teams.oracle.estimate import Estimate, join
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.questions import by_subject
from hieramas_lib.teams.oracle.search import Found, Score, climb, usual_starts
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team


@dataclass(frozen=True, slots=True)
class BestTeam:
    """The best team of a search, judged on questions that it was not chosen by.

    Attributes:
        found: The search.
        searched: Utility on the questions of the search: too good, as it was chosen for it.
        judged: Utility on other questions: a lower bound of what the best team has.
    """

    found: Found
    searched: Estimate
    judged: Estimate

    @property
    def team(self) -> Team:
        """The team."""
        return self.found.team


def expected_utility(team: Team, questions: SymbolicTeams) -> Estimate:
    """Return the expected utility of ``team`` on ``questions``."""
    return questions.results(team).estimate()


def utility_difference(team: Team, other: Team, questions: SymbolicTeams) -> Estimate:
    """Return the expected utility of ``team`` minus that of ``other``, under equal luck.

    Its standard error is that of the difference: what both owe to luck cancels out.
    """
    return questions.results(team).minus(questions.results(other)).estimate()


def score_on(questions: SymbolicTeams) -> Score:
    """Return what a search maximises: mean utility on ``questions``."""
    return lambda team: float(questions.results(team).utility.mean())


def best_team(
    options: TeamOptions,
    search: SymbolicTeams,
    judge: SymbolicTeams,
    settings: WorldSettings,
    *,
    starts: Mapping[str, Team] | None = None,
    free_edges: bool = False,
) -> BestTeam:
    """Search a team on some questions and judge it on others.

    Args:
        options: What may stand where.
        search: Questions to search on.
        judge: Other questions, see ``oracle.questions.halves``.
        settings: Of the world: whose subjects are whose, for the starts.
        starts: Teams to climb from, by name; None for :func:`usual_starts`.
        free_edges: See :func:`climb`.
    """
    score = score_on(search)
    starts = usual_starts(options, score, settings) if starts is None else starts
    found = climb(options, score, starts, free_edges=free_edges)
    return BestTeam(
        found, expected_utility(found.team, search), expected_utility(found.team, judge)
    )


def best_by_subject(
    options: TeamOptions,
    search: SymbolicTeams,
    judge: SymbolicTeams,
    settings: WorldSettings,
    constant: Team,
) -> tuple[dict[str, BestTeam], Estimate]:
    """Search one team for every subject, from ``constant`` and from the subject's own rule.

    The constant team is the best one for all subjects together, see :func:`best_team`; the rule
    keeps roles that answer anything and the subject's experts, see :func:`usual_starts`.

    Returns:
        The teams by subject, and their utility over all of ``judge``'s questions.

    Raises:
        ConfigError: a subject has questions to search on only, or to judge on only.
    """
    searches, judges = by_subject(search.tasks), by_subject(judge.tasks)
    if odd := sorted(searches.keys() ^ judges.keys()):
        raise ConfigError(f"subjects: {', '.join(odd)} cannot both be searched on and judged on")
    teams = {}
    results = []
    for subject, tasks in searches.items():
        ours, theirs = search.on(tasks), judge.on(judges[subject])
        rule = usual_starts(options, score_on(ours), settings, subject)["rule"]
        starts = {"constant": constant, "rule": rule}
        teams[subject] = best_team(options, ours, theirs, settings, starts=starts)
        results.append(theirs.results(teams[subject].team))
    return teams, join(results).estimate()
