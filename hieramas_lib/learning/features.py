"""What the learners see of a task: its text vector, the roles', and how well the two match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.encoder import Encoder, Vectors
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a batch of tasks.

    Attributes:
        query: Text vectors of the questions, without options, ``[tasks, dim]``.
        role: Text vectors of the role profiles, ``[roles, dim]``.
        match: Standardised similarity of task and role, ``[tasks, roles]``.
    """

    query: Tensor
    role: Tensor
    match: Tensor


class Featurizer:
    """Computes :class:`Features`, with a scale fixed on the training tasks.

    The cosine of a task and a role profile is centred per role, then per task, and divided by
    the standard deviation over the training tasks: a profile that resembles every question, and
    a question that resembles every profile, say nothing about which role fits which question.
    """

    def __init__(self, encoder: Encoder, roles: RoleSet, train: Sequence[Task]) -> None:
        """Fix the scale on ``train``.

        Raises:
            ConfigError: the encoder cannot embed one of the texts.
        """
        self._encoder = encoder
        self._role = encoder.encode([role.profile for role in roles.roles])
        cosine = self._queries(train) @ self._role.T
        self._mean = cosine.mean(axis=0)
        self._scale = float(_centred(cosine - self._mean).std()) or 1.0

    @classmethod
    def restored(cls, encoder: Encoder, state: Mapping[str, Tensor]) -> "Featurizer":
        """Return one with the scale and role vectors of another, given by its :meth:`state`."""
        featurizer = cls.__new__(cls)
        featurizer._encoder = encoder
        featurizer._role = state["role"].numpy()
        featurizer._mean = state["mean"].numpy()
        featurizer._scale = float(state["scale"])
        return featurizer

    def state(self) -> dict[str, Tensor]:
        """Return the role vectors ``[roles, dim]``, and the scale: mean ``[roles]`` and spread."""
        return {
            "role": torch.from_numpy(self._role),
            "mean": torch.from_numpy(self._mean),
            "scale": torch.tensor(self._scale, dtype=torch.float64),
        }

    def __call__(self, tasks: Sequence[Task]) -> Features:
        """Return the features of ``tasks``."""
        query = self._queries(tasks)
        match = _centred(query @ self._role.T - self._mean) / self._scale
        return Features(
            query=torch.from_numpy(query),
            role=torch.from_numpy(self._role),
            match=torch.from_numpy(match.astype(np.float32)),
        )

    def _queries(self, tasks: Sequence[Task]) -> Vectors:
        return self._encoder.encode([task.prompt for task in tasks])


def _centred(match: Vectors) -> Vectors:
    """Subtract from each row its mean: how much better a role fits than the others."""
    centred: Vectors = match - match.mean(axis=1, keepdims=True)
    return centred
