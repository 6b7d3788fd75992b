"""A role's contribution where it can be worked out by hand, and where only by redrawing."""

import numpy as np
import pytest
import toy_world
from symbolic_cases import POOL, settings, some_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.world import World
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.oracle.contribution import expected_contribution, team_contribution
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.symbolic.replay import SymbolicTeams

RIGHT, WRONG = np.zeros(6, np.int8), np.ones(6, np.int8)


@pytest.mark.parametrize(
    ("decision", "replies", "contribution"),
    [
        ("weak", RIGHT, 1.0),  # wrong alone, recognises the right answer
        ("weak", WRONG, 0.0),  # wrong with and without
        ("strong", RIGHT, 0.0),  # right with and without
        ("strong", WRONG, -1.0),  # right alone, believes the wrong answer
    ],
)
def test_one_role_and_a_decision(decision: str, replies: np.ndarray, contribution: float) -> None:
    options = toy_world.options(decision)
    found = expected_contribution(
        toy_world.questions(), 0, replies, lambda rng: options.only({0: "strong"}), redraws=3
    )
    assert found.mean.tolist() == [contribution] * 6
    assert found.standard_error.tolist() == [0.0] * 6
    assert found.clear().tolist() == [contribution != 0.0] * 6


def test_teammates_are_redrawn() -> None:
    # The second role is strong in half of the draws; then the first one's answer changes nothing.
    options = toy_world.options("weak")

    def draw(rng: np.random.Generator) -> object:
        return options.only({0: "weak", 1: "strong" if rng.random() < 0.5 else "weak"})

    found = expected_contribution(toy_world.questions(), 0, RIGHT, draw, redraws=400)  # type: ignore[arg-type]
    assert found.mean == pytest.approx([0.5] * 6, abs=4 * 0.025)
    assert found.standard_error == pytest.approx([0.025] * 6, rel=0.05)


def test_a_role_that_a_drawn_team_prunes_is_put_back() -> None:
    options = toy_world.options("weak")
    found = expected_contribution(
        toy_world.questions(), 1, RIGHT, lambda rng: options.alone(), redraws=2
    )
    assert found.mean.tolist() == [1.0] * 6


def test_right_answers_help_and_wrong_ones_harm_in_random_teams() -> None:
    roles = load_roles("choice")
    options = TeamOptions(
        roles, POOL.names, 2, reference_pool(8, 20, seed=0).topologies, "gemma-3-27b"
    )
    tasks = some_tasks("choice", 60)
    world = World((), settings(call_noise=0.35), POOL, 0)
    questions = SymbolicTeams(world, POOL, roles, tasks, draws=1)
    right, wrong = (
        expected_contribution(questions, 0, np.full(60, code, np.int8), options.random)
        for code in (0, 1)
    )
    assert right.mean.mean() > 0.005 > -0.005 > wrong.mean.mean()
    assert (right.mean - wrong.mean >= -3 * (right.standard_error + wrong.standard_error)).all()


def test_utility_with_minus_without() -> None:
    questions, options = toy_world.questions(), toy_world.options("weak")
    team = options.only({0: "strong", 1: "weak"})
    gain = team_contribution(team, 0, questions)
    assert (gain.accuracy, gain.standard_error) == (1.0, 0.0)
    assert gain.mean == pytest.approx(1.0 - 0.01 * gain.cost)
    # One call of the dear LLM, and a message more to read for the decision.
    assert 0.5 < gain.cost < 0.6
    burden = team_contribution(team, 1, questions)
    assert burden.accuracy == 0.0 and -0.002 < burden.mean < 0.0


def test_what_makes_no_sense_is_refused() -> None:
    questions, options = toy_world.questions(), toy_world.options("weak")
    with pytest.raises(ConfigError, match="'Long' is pruned"):
        team_contribution(options.only({0: "strong"}), 1, questions)
    with pytest.raises(ConfigError, match="at least 2"):
        expected_contribution(questions, 0, RIGHT, options.random, redraws=1)
