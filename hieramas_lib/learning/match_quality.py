"""Does the similarity of question and role profile tell whose question it is?

Everything that the policy knows of a question is its match with each role
(:mod:`.features`). So how well a match tells a role's own questions from others is measured before
anything is built on it, as

    d' = (mean over own questions - mean over others) / pooled standard deviation.

At 1, an own question has the higher match of a pair in 76 % of the cases; at 2 in 92 %.
"""

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet

ENOUGH = 1.0
"""A match with a lower d' is a weak reason to keep or prune a role."""


def sensitivity(match: Tensor, own: Tensor) -> list[float]:
    """Return d' of every role, NaN for a role with fewer than 2 own or other questions.

    Args:
        match: Any similarity of questions and roles, ``[tasks, roles]``.
        own: Whether a question is of the role's subjects, the same shape.
    """
    return [_d_prime(match[own[:, r], r], match[~own[:, r], r]) for r in range(match.shape[1])]


def own_questions(settings: WorldSettings, roles: RoleSet, tasks: Sequence[Task]) -> Tensor:
    """Return whether a task is of a role's subjects in a simulated world, ``[tasks, roles]``.

    Only there is it known whose question it is, and learners are not told.
    """
    subjects = [
        settings.roles[name].subjects if name in settings.roles else () for name in roles.names
    ]
    return torch.tensor([[task.subject in of for of in subjects] for task in tasks])


def margin_match(match: Tensor) -> Tensor:
    """Return how far each role is above the best of the others, ``[tasks, roles]``.

    An own question stands out less among roles that resemble it all: a second way to read the same
    similarities, to compare with the default, which is centred on the mean of the roles.
    """
    best = match.topk(2, dim=1).values
    others = torch.where(match == best[:, :1], best[:, 1:], best[:, :1])
    return match - others


def _d_prime(own: Tensor, others: Tensor) -> float:
    if min(len(own), len(others)) < 2:
        return float("nan")
    freedom = len(own) + len(others) - 2
    pooled = float(own.var()) * (len(own) - 1) + float(others.var()) * (len(others) - 1)
    if pooled == 0:
        return float("nan")
    return float(own.mean() - others.mean()) / sqrt(pooled / freedom)
