"""Expected utility, its errors, the best team, and the text path."""

import asyncio
from dataclasses import replace
from math import isnan, sqrt

import numpy as np
import pytest
import toy_world
from symbolic_cases import POOL, random_team, service, settings, some_tasks
from team_stubs import StubLLM

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.world import World
from hieramas_lib.teams.oracle.anchors import Anchors, find_anchors
from hieramas_lib.teams.oracle.best_team import (
    best_by_subject,
    best_team,
    expected_utility,
    utility_difference,
)
from hieramas_lib.teams.oracle.estimate import Estimate, Results, join
from hieramas_lib.teams.oracle.options import with_supernode
from hieramas_lib.teams.oracle.questions import by_subject, halves, more_questions
from hieramas_lib.teams.oracle.texts import text_results
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.symbolic.replay import SymbolicTeams


def test_an_estimate_by_hand() -> None:
    # Two questions, two draws: utilities 1 - 0.02, 0 - 0.02 and 1 - 0.04 twice.
    results = Results(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[2.0, 4.0]]))
    estimate = results.estimate()
    assert estimate.mean == pytest.approx((0.98 - 0.02 + 0.96 + 0.96) / 4)
    assert (estimate.accuracy, estimate.cost) == (0.75, 3.0)
    # The first question varies by 0.5 (variance, n - 1), the second does not.
    assert estimate.standard_error == pytest.approx(sqrt(0.5 / 2) / 2)
    assert estimate.question_error == pytest.approx((0.96 - 0.48) / sqrt(2) / sqrt(2))


def test_errors_that_cannot_be_known_are_nan_and_failed_calls_count_for_nobody() -> None:
    single = Results(np.array([[1.0]]), np.array([[0.0]])).estimate()
    assert isnan(single.standard_error) and isnan(single.question_error)
    failed = Results(np.array([[1.0, np.nan], [1.0, 0.0]]), np.ones((2, 2))).estimate()
    assert (failed.accuracy, failed.cost) == (1.0, 1.0)
    with pytest.raises(ConfigError, match="every question has a call that failed"):
        Results(np.array([[np.nan]]), np.ones((1, 1))).estimate()


def test_results_are_joined_and_subtracted_question_by_question() -> None:
    left = Results(np.array([[1.0], [0.0]]), np.array([[2.0]]))
    right = Results(np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones((2, 2)))
    both = join([left, right])
    assert both.right.tolist() == [[1, 1, 0], [0, 1, 0]]
    assert both.cost.tolist() == [[2, 1, 1], [2, 1, 1]]
    change = both.minus(both)
    assert not change.right.any() and not change.cost.any()
    with pytest.raises(ConfigError, match="cannot be compared"):
        left.minus(right)


def test_equal_luck_makes_differences_sure() -> None:
    roles, tasks = load_roles("choice"), some_tasks("choice", 100)
    world = World((), settings(call_noise=1.5), POOL, 0)
    questions = SymbolicTeams(world, POOL, roles, tasks, draws=20)
    team = random_team(roles, np.random.default_rng(0), skip=0.5)
    node = team.kept[0]
    other = with_supernode(team, node, Supernode(roles.names[node], (SKIP,), "llama-3.1-8b"))
    shared = utility_difference(team, other, questions)
    first, second = expected_utility(team, questions), expected_utility(other, questions)
    assert shared.mean == pytest.approx(first.mean - second.mean)
    apart = sqrt(first.standard_error**2 + second.standard_error**2)
    assert 0 < shared.standard_error < 0.7 * apart
    # With other luck for the second team the difference is as unsure as that.
    strange = questions.results(team).minus(questions.redrawn(1).results(other)).estimate()
    assert strange.standard_error == pytest.approx(apart, rel=0.1)


def test_standard_error_is_the_spread_over_repeated_estimates() -> None:
    questions = SymbolicTeams(
        World((), settings(call_noise=1.5), POOL, 0), POOL, load_roles("choice"),
        some_tasks("choice", 40), draws=4,
    )  # fmt: skip
    team = random_team(load_roles("choice"), np.random.default_rng(1), skip=0.6)
    estimates = [expected_utility(team, questions.redrawn(seed)) for seed in range(200)]
    spread = np.std([estimate.mean for estimate in estimates])
    assert np.mean([e.standard_error for e in estimates]) == pytest.approx(spread, rel=0.2)


def test_the_text_path_gives_the_same_utility() -> None:
    roles, tasks = load_roles("choice"), some_tasks("choice", 15)
    knobs = settings()
    team = random_team(roles, np.random.default_rng(5), skip=0.6)
    asked = asyncio.run(text_results(team, tasks, service(tasks, knobs), POOL, samples=2))
    replayed = SymbolicTeams(World((), knobs, POOL, 0), POOL, roles, tasks, draws=1)
    assert asked.right.shape == asked.cost.shape == (2, 15)
    assert np.array_equal(asked.right[:1], replayed.results(team).right)
    assert np.array_equal(asked.right[0], asked.right[1])
    assert asked.estimate().cost == pytest.approx(expected_utility(team, replayed).cost, rel=0.25)


def test_failed_decisions_are_left_out_and_missing_prices_stop_before_any_call() -> None:
    roles = load_roles("choice")
    team = random_team(roles, np.random.default_rng(5), skip=0.6)
    tasks = some_tasks("choice", 2)
    lost = StubLLM(
        fails=lambda header, request: (
            header.position == "decision" and tasks[0].prompt in request.messages[1].content
        )
    )
    results = asyncio.run(text_results(team, tasks, lost, POOL, samples=1))
    assert np.isnan(results.right[0]).tolist() == [True, False]
    free = [spec.model_copy(update={"price": None}) for spec in POOL.llms[1:]]
    pool = POOL.model_copy(update={"llms": (POOL.llms[0], *free)})
    stub = StubLLM()
    with pytest.raises(ConfigError, match="a price"):
        asyncio.run(text_results(team, tasks, stub, pool))
    assert stub.asked == []


def test_more_questions_are_other_questions_of_the_same_kind() -> None:
    tasks = some_tasks("choice", 28)
    more = more_questions(tasks, 2)
    assert len({task.id for task in [*tasks, *more]}) == 84
    assert len({task.statement for task in [*tasks, *more]}) == 84
    world = World((), settings(), POOL, 0)
    everything = SymbolicTeams(world, POOL, load_roles("choice"), [*tasks, *more], draws=1)
    right = everything.alone("llama-3.1-8b").right.reshape(3, 28)
    assert not np.array_equal(right[0], right[1])


def test_halves_share_no_question_and_no_subject_leans_to_one() -> None:
    tasks = more_questions(some_tasks("choice", 28), 3)
    first, second = halves(tasks, 0)
    assert sorted(t.id for t in [*first, *second]) == sorted(t.id for t in tasks)
    for subject, theirs in by_subject(tasks).items():
        count = sum(task.subject == subject for task in first)
        assert abs(2 * count - len(theirs)) <= 1
    assert halves(tasks, 0) == (first, second) != halves(tasks, 1)


def test_the_best_team_of_the_toy_world_is_found_and_judged_elsewhere() -> None:
    search, judge = halves(toy_world.tasks(12), 0)
    judge = [replace(task, prompt=f"Think, then say: {task.prompt}") for task in judge]
    best = best_team(
        toy_world.options(), toy_world.questions(search), toy_world.questions(judge),
        toy_world.settings(),
    )  # fmt: skip
    kept = [best.team.supernodes[node] for node in best.team.kept]
    assert kept == [Supernode("Short", (SKIP,), "strong")]
    assert best.judged.accuracy == best.searched.accuracy == 1.0
    assert best.judged.cost > best.searched.cost
    # One call of the unit's LLM and one of a tenth, with prompts much shorter than usual.
    assert 0.5 < best.judged.cost < 0.7
    assert best.judged.mean == pytest.approx(1.0 - 0.01 * best.judged.cost)


def test_one_team_for_every_subject() -> None:
    questions = toy_world.questions(toy_world.tasks(8))
    options = toy_world.options()
    teams, overall = best_by_subject(
        options, questions, questions, toy_world.settings(), options.alone()
    )
    assert set(teams) == {"field 0", "field 1"}
    assert overall.mean == pytest.approx(np.mean([best.judged.mean for best in teams.values()]))
    half = questions.on([task for task in questions.tasks if task.subject == "field 0"])
    for search, judge in ((questions, half), (half, questions)):
        with pytest.raises(ConfigError, match="field 1 cannot both be searched on and judged on"):
            best_by_subject(options, search, judge, toy_world.settings(), options.alone())


def test_anchors_of_the_toy_world() -> None:
    questions = toy_world.questions()
    anchors = find_anchors(toy_world.options(), questions, teams=400)
    assert (anchors.strongest, anchors.strongest_alone.accuracy) == ("strong", 1.0)
    assert anchors.decision_alone.accuracy == 0.0
    assert anchors.decision_alone.cost < 0.11
    # Without edges a role is right in 3 of 9 fillings: strong alone, and either one with a strong
    # proposer. It is wrong in 3 (strong believes a weak proposer) and pruned in 3. The decision
    # needs one right message: 1 - (2/3)^2 = 5/9.
    # With an edge, a kept reader is right if the source is (1/3), wrong if the source is wrong
    # (1/3), and as without edges if the source is pruned: 1/3 + 1/3 * 1/3 = 4/9.
    expected = (5 / 9 + 4 / 9 + 4 / 9) / 3
    assert abs(anchors.random.accuracy - expected) < 4 * anchors.random.standard_error < 0.15


def test_shares_of_the_way_to_the_best_team() -> None:
    def at(mean: float) -> Estimate:
        return Estimate(mean, 0.0, mean, 0.0, 0.0)

    anchors = Anchors(at(0.5), at(0.7), "strong", at(0.8))
    assert anchors.shares(0.8, best=0.9) == pytest.approx((0.75, 0.5))
    random, alone = anchors.shares(0.6, best=0.6)
    assert random == pytest.approx(1.0) and isnan(alone)


def test_a_mistaken_decision_can_be_better_off_alone() -> None:
    # A strong decision is right alone; whoever is weak in its team can only mislead it or cost.
    options = toy_world.options("strong")
    questions = toy_world.questions()
    alone = expected_utility(options.alone(), questions)
    misled = expected_utility(options.only({0: "weak"}), questions)
    assert (alone.accuracy, misled.accuracy) == (1.0, 0.0)
    best = best_team(options, questions, questions, toy_world.settings())
    assert best.team.kept == ()
    assert replace(best.team, topology=options.graphs[0]) == options.alone()
