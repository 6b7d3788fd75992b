"""Searches on scores and worlds whose best team is known."""

import pytest
import toy_world

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.graph_pool import empty, reference_pool
from hieramas_lib.teams.oracle.best_team import score_on
from hieramas_lib.teams.oracle.options import TeamOptions, what_runs, without_role
from hieramas_lib.teams.oracle.search import best_of_all, climb, usual_starts
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology


def trap(team: Team) -> float:
    """Best are two strong roles with an edge; each step there from nothing costs at first."""
    kept = [s for s in team.supernodes if not s.pruned]
    strong = sum(s.synthesizer == "strong" for s in kept)
    proposers = sum(len(s.active_proposers) for s in kept)
    prize = 10.0 if strong == 2 and (0, 1) in team.edges else 0.0
    return prize - len(kept) - proposers


def test_all_teams_are_looked_at_once() -> None:
    options = toy_world.options()
    # A role: pruned, or one of 2 synthesizers with one of 3 proposers. Graphs matter only where
    # both roles are kept: 7 * 7 - 36 teams without, 36 * 3 with.
    teams = list(options.all())
    assert len(options.fillings) == 7
    assert options.count == 7 * 7 * 3
    assert len(teams) == len(set(map(what_runs, teams))) == 13 + 36 * 3


def test_proposers_count_without_their_order() -> None:
    options = TeamOptions(toy_world.roles(), ("a", "b"), 2, (Topology(2),), "a")
    # Of {skip, a, b}, two with repetition: 6 pairs for each of 2 synthesizers, and pruned.
    assert len(options.fillings) == 13


def test_going_through_all_finds_the_optimum_and_climbing_may_not() -> None:
    options = toy_world.options()
    best = best_of_all(options, trap)
    assert best.score == 8.0
    assert [s.synthesizer for s in best.team.supernodes] == ["strong", "strong"]
    assert best.team.edges == ((0, 1),)
    assert best.tried == 121
    low = climb(options, trap, {"alone": options.alone()})
    assert (low.score, low.team.kept) == (0.0, ())
    everyone = options.only({0: "weak", 1: "strong"})
    high = climb(options, trap, {"alone": options.alone(), "everyone": everyone})
    assert (high.score, high.start) == (0.0, "alone")
    aimed = Team(options.roles, everyone.supernodes, toy_world.FORWARD, "weak")
    high = climb(options, trap, {"alone": options.alone(), "aimed": aimed})
    assert (high.score, high.start) == (8.0, "aimed")
    assert high.scores == {"alone": 0.0, "aimed": 8.0}


def test_climbing_changes_the_graph() -> None:
    options = toy_world.options()
    both = options.only({0: "strong", 1: "strong"})
    found = climb(options, lambda team: float((1, 0) in team.edges), {"both": both})
    assert found.team == Team(options.roles, both.supernodes, toy_world.BACK, "weak")


def test_edges_beyond_the_options_only_where_they_are_free() -> None:
    options = TeamOptions(toy_world.roles(), ("strong",), 0, (empty(2),), "strong")
    both = options.only({0: "strong", 1: "strong"})

    def score(team: Team) -> float:
        return float((1, 0) in team.edges)

    assert climb(options, score, {"both": both}).score == 0.0
    free = climb(options, score, {"both": both}, free_edges=True)
    assert free.team.edges == ((1, 0),)


def test_both_searches_find_the_toy_worlds_best_team() -> None:
    # The weak decision needs one right answer to recognise. Cheapest is one call of strong, in
    # the role with the shorter prompt; every further call only costs.
    options = toy_world.options()
    score = score_on(toy_world.questions())
    best = best_of_all(options, score)
    short = Supernode("Short", (SKIP,), "strong")
    assert best.team.supernodes[0] == short and best.team.kept == (0,)
    found = climb(options, score, usual_starts(options, score, toy_world.settings()))
    assert found.team.supernodes == best.team.supernodes
    assert found.score == best.score
    assert found.tried < best.tried


def test_starts_are_the_rules_in_their_best_llm() -> None:
    options = toy_world.options()
    score = score_on(toy_world.questions())
    starts = usual_starts(options, score, toy_world.settings())
    assert [team.kept for team in starts.values()] == [(), (0,), (0, 1), (0, 1)]
    assert starts["all"].supernodes[1].synthesizer == "strong"


def test_the_rule_keeps_the_generalist_and_the_subjects_expert() -> None:
    roles = load_roles("choice")
    options = TeamOptions(roles, ("a",), 1, (empty(8),), "a")
    settings = toy_world.settings()
    for subject, names in (("law", {"Lawyer"}), ("medicine", {"Doctor"}), (None, set[str]())):
        rule = usual_starts(options, lambda team: 0.0, settings, subject)["rule"]
        assert {roles.names[node] for node in rule.kept} == {"Knowledgeable Expert", *names}


def test_pruning_a_role_keeps_the_others() -> None:
    team = toy_world.options().only({0: "strong", 1: "weak"})
    assert without_role(team, 0).kept == (1,)
    assert without_role(team, 0).supernodes[1] == team.supernodes[1]


def test_options_that_cannot_be_are_refused() -> None:
    roles = toy_world.roles()
    with pytest.raises(ConfigError, match="at least one LLM"):
        TeamOptions(roles, (), 1, (empty(2),), "strong")
    with pytest.raises(ConfigError, match="not over the 2 roles"):
        TeamOptions(roles, ("strong",), 1, (empty(3),), "strong")
    many = TeamOptions(
        load_roles("choice"), ("a", "b"), 2, reference_pool(8, 3, seed=0).topologies, "a"
    )
    with pytest.raises(ConfigError, match="too many"):
        best_of_all(many, lambda team: 0.0)
