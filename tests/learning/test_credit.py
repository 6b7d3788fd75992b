"""Advantages of two roles in four rollouts, worked out by hand."""

import numpy as np
import pytest

from hieramas_lib.learning.credit import advantages, leave_one_out, node_advantages
from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.roles import Role, RoleSet
from hieramas_lib.teams.rollout import CallRecord, NodeRecord, Rollout

ROLES = RoleSet(
    name="two",
    kind="choice",
    proposer="",
    synthesizer="",
    decision="",
    answer_format="",
    roles=(
        Role(name="Planner", duty="planner", profile="", instruction=""),
        Role(name="Solver", duty="solver", profile="", instruction=""),
    ),
)


def node(role: str, status: str | None) -> NodeRecord:
    call = CallRecord(role, "synthesizer", "m", error="not needed")
    return NodeRecord(role, (), call, Grade(status) if status else None)  # type: ignore[arg-type]


def rollout(final: str, solver: str | None) -> Rollout:
    """A rollout in which the planner acted, and the solver too unless ``solver`` is None."""
    nodes = [node("Planner", None)] + ([node("Solver", solver)] if solver else [])
    return Rollout("t", "", Grade(final), (), tuple(nodes))  # type: ignore[arg-type]


ROLLOUTS = [
    rollout("correct", "wrong"),
    rollout("wrong", "correct"),
    rollout("correct", None),
    rollout("correct", "correct"),
]
FINAL = [1.0, -1.0, 0.0, 0.0]  # two questions, two rollouts each
NODE = [-2 / 3, 1 / 3, 0.0, 1 / 3]  # mean over the three graded nodes is 2/3


def test_leave_one_out():
    assert leave_one_out(np.array([1.0, 0.0, 1.0, 1.0]), 2).tolist() == FINAL
    assert leave_one_out(np.array([1.0, 0.0, 0.5]), 3).tolist() == [0.75, -0.75, 0.0]
    assert leave_one_out(np.array([1.0, 0.0]), 1).tolist() == [0.0, 0.0]


def test_node_advantage_only_where_the_role_acted():
    assert node_advantages(ROLLOUTS, ROLES)[:, 1] == pytest.approx(NODE)
    assert (node_advantages(ROLLOUTS, ROLES)[:, 0] == 0).all()


def test_our_errors_are_not_held_against_a_role():
    with_error = [*ROLLOUTS[:3], rollout("correct", "error")]
    assert node_advantages(with_error, ROLES)[:, 1] == pytest.approx([-0.5, 0.5, 0.0, 0.0])


def test_an_outage_of_the_decision_is_nobodys_fault():
    """Reference code: an exception counts as wrong, and trains the policy."""
    nan = float("nan")
    got = leave_one_out(np.array([1.0, nan, 1.0, 0.0]), 4)
    assert got == pytest.approx([0.5, 0.0, 0.5, -1.0])
    assert leave_one_out(np.array([1.0, nan]), 2).tolist() == [0.0, 0.0]
    outage = [rollout("correct", None), rollout("error", None)]
    assert not advantages(outage, 2, ROLES, "final_only", 0.5).any()


def test_multi_level_mixes_for_roles_that_answer():
    got = advantages(ROLLOUTS, 2, ROLES, "multi_level", alpha=0.5)
    assert got[:, 0] == pytest.approx(FINAL)
    assert got[:, 1] == pytest.approx([(a + b) / 2 for a, b in zip(NODE, FINAL, strict=True)])


def test_wrong_node_in_a_right_run():
    """The paper's first example: only multi-level credit can tell the node from the run."""
    assert advantages(ROLLOUTS, 2, ROLES, "final_only", 0.5)[0, 1] > 0
    assert advantages(ROLLOUTS, 2, ROLES, "node_only", 0.5)[0, 1] < 0


def test_empty_and_unparsed_nodes_count_as_not_right():
    rollouts = [rollout("wrong", "empty"), rollout("wrong", "correct")]
    assert node_advantages(rollouts, ROLES)[:, 1] == pytest.approx([-0.5, 0.5])
