"""Utility and the paper's rewards, with the figures of the paper's first example."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.learning.rewards import PaperReward, effective_reward
from hieramas_lib.llms.chat import Completion
from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.utility import mean_utility, utility

REWARD = PaperReward()


def rollout(correct: bool, cost: float) -> Rollout:
    completion = Completion("", "stop", 1, 1, cost, 0.0, False, "")
    call = CallRecord("Solver", "alone", "m", completion)
    return Rollout("t", "", Grade("correct" if correct else "wrong"), (call,))


def test_utility_by_hand():
    assert utility(rollout(True, 0.006), reference_cost=0.002) == pytest.approx(1 - 0.03)
    assert utility(rollout(False, 0.006), reference_cost=0.002) == pytest.approx(-0.03)


def test_utility_is_linear_in_cost():
    cheap_and_dear = [rollout(True, 0.0), rollout(True, 0.004)]
    assert mean_utility(cheap_and_dear, 0.002) == pytest.approx(
        utility(rollout(True, 0.002), 0.002)
    )


def test_reward_saturates_where_stated():
    assert REWARD(True, 0.0) == 1.0
    assert REWARD(True, math.log(2) / 0.37) == pytest.approx(0.5)
    assert REWARD(True, 100.0) == 0.5
    assert REWARD(False, 0.0) == -1.0
    assert REWARD(False, 100.0) == -2.5


@given(st.floats(0, 50), st.floats(0, 50))
def test_a_wrong_node_in_a_right_run_is_not_rewarded(node_cost: float, run_cost: float):
    mixed = effective_reward(REWARD(False, node_cost), REWARD(True, run_cost), alpha=0.5)
    assert mixed <= 0
    assert effective_reward(REWARD(False, node_cost), REWARD(True, run_cost), alpha=0.0) > 0


@given(st.floats(0, 50), st.floats(0, 50))
def test_right_node_beats_skipped_beats_wrong(node_cost: float, run_cost: float):
    final = REWARD(True, run_cost)
    right = effective_reward(REWARD(True, node_cost), final, 0.5)
    skipped = effective_reward(0.0, final, 0.5)
    wrong = effective_reward(REWARD(False, node_cost), final, 0.5)
    assert right >= skipped > wrong
