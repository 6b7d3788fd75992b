"""Credit: how much of a rollout's outcome each role is given."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout

AdvantageMode = Literal["multi_level", "final_only", "node_only"]
CreditMode = Literal["multi_level", "final_only", "node_only", "reference"]
"""``reference`` is the published update as a whole, see :mod:`.reference_update`."""

Matrix = NDArray[np.float64]


def advantages(
    rollouts: Sequence[Rollout], group: int, roles: RoleSet, mode: AdvantageMode, alpha: float
) -> Matrix:
    """Return the advantage of every role in every rollout, ``[rollouts, roles]``.

    ``rollouts`` holds ``group`` consecutive rollouts of each question.

    advantage = alpha · (node right - mean where the role was graded)
    + (1 - alpha) · (final right - mean of the question's other rollouts),

    in units of accuracy; cost is not in here, since its expectation is known exactly. The
    node term is 0 for a role that was pruned. Roles that give no answer are credited by the
    final outcome alone; ``final_only`` sets alpha to 0 for all, ``node_only`` to 1 for those
    that answer. Rollouts without a verdict (call failed, grader trouble) give no credit.
    """
    weight = {"multi_level": alpha, "final_only": 0.0, "node_only": 1.0}[mode]
    per_role = np.array([weight if role.answers else 0.0 for role in roles.roles])
    final = leave_one_out(np.array([_right(r.grade) for r in rollouts]), group)
    return per_role * node_advantages(rollouts, roles) + (1 - per_role) * final[:, None]


def leave_one_out(values: Matrix, group: int) -> Matrix:
    """Subtract from each value the mean of the others of its group.

    NaN marks what has no verdict: it gets 0 and is left out of the others' mean. A value
    without others gets 0.
    """
    grouped = values.reshape(-1, group)
    known = ~np.isnan(grouped)
    filled = np.where(known, grouped, 0.0)
    others = known.sum(axis=1, keepdims=True) - 1
    mean = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    return np.where(known & (others > 0), filled - mean, 0.0).reshape(-1)


def node_advantages(rollouts: Sequence[Rollout], roles: RoleSet) -> Matrix:
    """Return node right (0 or 1) minus the role's mean, where it was graded; elsewhere 0.

    Nodes without a verdict (call failed, grader trouble) are left out: an error of ours says
    nothing about the role.
    """
    right = np.full((len(rollouts), len(roles.roles)), np.nan)
    column = {name: i for i, name in enumerate(roles.names)}
    for row, rollout in enumerate(rollouts):
        for node in rollout.nodes:
            if node.grade is not None:
                right[row, column[node.role]] = _right(node.grade)
    graded = ~np.isnan(right)
    counts = np.maximum(graded.sum(axis=0), 1)
    mean = np.where(graded, right, 0.0).sum(axis=0) / counts
    return np.where(graded, right - mean, 0.0)


def _right(grade: Grade) -> float:
    """Return 1 or 0; NaN after an error of ours, which says nothing about the team."""
    return float("nan") if grade.status == "error" else float(grade.correct)
