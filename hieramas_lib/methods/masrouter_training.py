"""MASRouter's training: plans are drawn, run and paid for, and followed by one gradient step."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hieramas_lib.learning.credit import leave_one_out
from hieramas_lib.learning.masrouter_cascade import Cascade, Choices, cascade_loss
from hieramas_lib.methods.graph_learner import correctness
from hieramas_lib.methods.masrouter_settings import Baseline, MASRouterSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout

Runner = Callable[[Choices, Sequence[Task], Sequence[int]], Awaitable[list[Rollout]]]
"""Runs what was chosen for each task; the numbers tell repetitions of a task apart."""


@dataclass(frozen=True, slots=True)
class RouterStep:
    """What one batch of training looked like.

    Attributes:
        rollouts: Made so far, this batch included.
        accuracy, reward, cost: Means over the batch's rollouts; cost in reference calls.
        agents: Mean number of agents that acted.
        types: Share of questions whose type the network knew.
        loss: The three terms: types, policy, autoencoders.
    """

    rollouts: int
    accuracy: float
    reward: float
    cost: float
    agents: float
    types: float
    loss: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Questions:
    """What is trained on: tasks, their text vectors ``[tasks, dim]``, and their types."""

    tasks: Sequence[Task]
    vectors: Tensor
    types: Tensor


class CascadeTraining:
    """Trains a cascade in place.

    Args:
        cascade: The network.
        questions: What it is trained on.
        settings: How.
        run: Makes the rollouts.
        reward: What a rollout is worth.
        cost: Its cost in reference calls, for the history.
        seed: Of the order of questions, the latent noise and the draws.
    """

    def __init__(
        self,
        cascade: Cascade,
        questions: Questions,
        settings: MASRouterSettings,
        run: Runner,
        reward: Callable[[Rollout], float],
        cost: Callable[[Rollout], float],
        seed: int,
    ) -> None:
        self.history: list[RouterStep] = []
        self._cascade, self._questions, self._settings = cascade, questions, settings
        self._run, self._reward, self._cost = run, reward, cost
        self._optimizer = torch.optim.Adam(cascade.parameters(), lr=settings.learning_rate)
        self._noise = torch.Generator().manual_seed(seed)
        self._draws = torch.Generator().manual_seed(crc32(f"draws {seed}".encode()))
        self._rng = np.random.default_rng(seed)

    async def passes(self, on_step: Callable[[RouterStep], None]) -> None:
        """Go through the questions as often as the settings say, in a new order each time."""
        size = self._settings.batch
        for turn in range(self._settings.passes):
            order = self._rng.permutation(len(self._questions.tasks))
            for begin in range(0, len(order), size):
                self.history.append(await self._step(order[begin : begin + size].tolist(), turn))
                on_step(self.history[-1])

    async def _step(self, rows: Sequence[int], turn: int) -> RouterStep:
        """Draw plans for a batch of questions, run them, and take one gradient step."""
        settings, questions = self._settings, self._questions
        repeated = [row for row in rows for _ in range(settings.group)]
        tasks, types = [questions.tasks[row] for row in repeated], questions.types[repeated]
        query = questions.vectors[repeated]
        decisions = self._cascade(query, noise=self._noise, draws=self._draws)
        samples = [turn * settings.group + g for _ in rows for g in range(settings.group)]
        rollouts = await self._run(decisions.choices, tasks, samples)
        reward = np.array([self._reward(rollout) for rollout in rollouts])
        judged = np.where(np.isnan(correctness(rollouts)), np.nan, reward)
        advantage = torch.from_numpy(advantages(judged, settings.group, settings.baseline)).float()
        loss = cascade_loss(decisions, types, advantage, settings.vae_weight)
        self._optimizer.zero_grad()
        loss.total.backward()
        self._optimizer.step()
        return RouterStep(
            rollouts=(self.history[-1].rollouts if self.history else 0) + len(rollouts),
            accuracy=float(np.mean([rollout.grade.correct for rollout in rollouts])),
            reward=float(reward.mean()),
            cost=float(np.mean([self._cost(rollout) for rollout in rollouts])),
            agents=float(self._cascade.acting(decisions.choices).float().mean()),
            types=float((decisions.type_logits.argmax(-1) == types).float().mean()),
            loss=(loss.types.item(), loss.policy.item(), loss.vae.item()),
        )


def advantages(reward: NDArray[np.float64], group: int, baseline: Baseline) -> NDArray[np.float64]:
    """Return the rewards less their baseline; rows of a question, ``group`` each, are adjacent.

    Baseline ``question``: the mean of the question's other rollouts, which leaves the
    expected gradient as it is. NaN marks an error of ours, which teaches nothing: it gets 0.
    """
    if baseline == "none":
        return np.nan_to_num(reward, nan=0.0)
    return leave_one_out(reward, group)
