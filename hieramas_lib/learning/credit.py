"""Credit: how much of a rollout's outcome each role is given."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout

CreditMode = Literal["multi_level", "final_only", "node_only"]
Matrix = NDArray[np.float64]


def advantages(
    rollouts: Sequence[Rollout], group: int, roles: RoleSet, mode: CreditMode, alpha: float
) -> Matrix:
    """Return the advantage of every role in every rollout, ``[rollouts, roles]``.

    ``rollouts`` holds ``group`` consecutive rollouts of each question.

    advantage = alpha · (node right - mean where the role was graded)
    + (1 - alpha) · (final right - mean of the question's other rollouts),

    in units of accuracy; cost is not in here, since its expectation is known exactly. The
    node term is 0 for a role that was pruned. Roles that give no answer are credited by the
    final outcome alone; ``final_only`` sets alpha to 0 for all, ``node_only`` to 1 for those
    that answer.
    """
    weight = {"multi_level": alpha, "final_only": 0.0, "node_only": 1.0}[mode]
    per_role = np.array([weight if role.answers else 0.0 for role in roles.roles])
    final = leave_one_out(np.array([r.grade.correct for r in rollouts], dtype=float), group)
    return per_role * node_advantages(rollouts, roles) + (1 - per_role) * final[:, None]


def leave_one_out(values: Matrix, group: int) -> Matrix:
    """Subtract from each value the mean of the others of its group; 0 for groups of one."""
    if group == 1:
        return np.zeros_like(values)
    grouped = values.reshape(-1, group)
    others = (grouped.sum(axis=1, keepdims=True) - grouped) / (group - 1)
    return (grouped - others).reshape(-1)


def node_advantages(rollouts: Sequence[Rollout], roles: RoleSet) -> Matrix:
    """Return node right (0 or 1) minus the role's mean, where it was graded; elsewhere 0.

    Nodes without a verdict (call failed, grader trouble) are left out: an error of ours says
    nothing about the role.
    """
    right = np.full((len(rollouts), len(roles.roles)), np.nan)
    column = {name: i for i, name in enumerate(roles.names)}
    for row, rollout in enumerate(rollouts):
        for node in rollout.nodes:
            if node.grade is not None and node.grade.status != "error":
                right[row, column[node.role]] = node.grade.correct
    graded = ~np.isnan(right)
    counts = np.maximum(graded.sum(axis=0), 1)
    mean = np.where(graded, right, 0.0).sum(axis=0) / counts
    return np.where(graded, right - mean, 0.0)
