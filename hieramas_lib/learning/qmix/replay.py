"""Whole episodes, kept for learning; shorter ones are padded and masked."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hieramas_lib.learning.qmix.observation import Observation


@dataclass(frozen=True, slots=True)
class Episode:
    """One rollout as the learner sees it.

    Attributes:
        seen: What was seen before each choice.
        actions: The joint action of each choice, by agent.
        reward: Paid once, after the last choice.
    """

    seen: tuple[Observation, ...]
    actions: tuple[tuple[int, ...], ...]
    reward: float


@dataclass(frozen=True, slots=True)
class Batch:
    """Episodes side by side.

    Attributes:
        task: ``[episodes, task]``.
        agents: ``[episodes, steps, agents, own]``.
        adjacency: ``[episodes, steps, agents, agents]``.
        actions: ``[episodes, steps, agents]``.
        rewards: ``[episodes, steps]``, not 0 at an episode's last step only.
        mask: ``[episodes, steps]``, 1 where an episode has a step.
    """

    task: Tensor
    agents: Tensor
    adjacency: Tensor
    actions: Tensor
    rewards: Tensor
    mask: Tensor

    @classmethod
    def of(cls, episodes: list[Episode]) -> "Batch":
        """Put episodes side by side, padded to the longest."""
        steps = max(len(episode.actions) for episode in episodes)
        first = episodes[0].seen[0]
        size, own = first.agents.shape
        batch = cls.empty(len(episodes), steps, size, first.task.shape[0], own)
        for row, episode in enumerate(episodes):
            batch.write(row, episode)
        return batch

    @classmethod
    def empty(cls, episodes: int, steps: int, size: int, task: int, own: int) -> "Batch":
        """Return room for so many episodes."""
        return cls(
            task=torch.zeros(episodes, task),
            agents=torch.zeros(episodes, steps, size, own),
            adjacency=torch.zeros(episodes, steps, size, size),
            actions=torch.zeros(episodes, steps, size, dtype=torch.long),
            rewards=torch.zeros(episodes, steps),
            mask=torch.zeros(episodes, steps),
        )

    def write(self, row: int, episode: Episode) -> None:
        """Put ``episode`` in a row, in place of what was there."""
        steps = len(episode.actions)
        for part in (self.agents, self.adjacency, self.actions, self.rewards, self.mask):
            part[row] = 0
        self.task[row] = episode.seen[0].task
        self.agents[row, :steps] = torch.stack([seen.agents for seen in episode.seen])
        self.adjacency[row, :steps] = torch.stack([seen.adjacency for seen in episode.seen])
        self.actions[row, :steps] = torch.tensor(episode.actions)
        self.rewards[row, steps - 1] = episode.reward
        self.mask[row, :steps] = 1.0

    def rows(self, rows: Tensor) -> "Batch":
        """Return some of the episodes."""
        parts = (self.task, self.agents, self.adjacency, self.actions, self.rewards, self.mask)
        return Batch(*(part[rows] for part in parts))


class Replay:
    """The latest episodes, at most ``capacity``, each of at most ``steps`` choices."""

    def __init__(self, capacity: int, steps: int) -> None:
        self._capacity, self._steps = capacity, steps
        self._room: Batch | None = None
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, self._capacity)

    def add(self, episode: Episode) -> None:
        """Keep ``episode``; the oldest goes where there is no room."""
        if self._room is None:
            first = episode.seen[0]
            size, own = first.agents.shape
            self._room = Batch.empty(self._capacity, self._steps, size, first.task.shape[0], own)
        self._room.write(self._added % self._capacity, episode)
        self._added += 1

    def sample(self, count: int, generator: torch.Generator) -> Batch:
        """Draw ``count`` different episodes; there must be as many."""
        if self._room is None or len(self) < count:
            raise ValueError(f"{count} episodes asked for, {len(self)} are there")
        return self._room.rows(torch.randperm(len(self), generator=generator)[:count])
