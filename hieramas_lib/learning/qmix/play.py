"""Choosers: who talks to whom in one rollout, decided by a policy, at random, or once and for all.

Training and evaluation make rollouts in the same way: :class:`Player` decides anew before each
round, from what was said so far, and keeps what it saw and did. They differ in the share of random
actions only.
"""

from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np

from hieramas_lib.learning.qmix.actions import LABELS, Action, Mode, graph_of
from hieramas_lib.learning.qmix.learner import Memory, QLearner
from hieramas_lib.learning.qmix.observation import Observation, Observer
from hieramas_lib.learning.qmix.replay import Episode
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rounds import Choice, Chooser, Progress

Decide = Callable[[Observation], Sequence[int]]
"""Returns a joint action, one number an agent."""


class Player:
    """Chooses for one rollout, and remembers what it saw and did.

    Args:
        task: The question of the rollout.
        observer: What is seen of it.
        decide: Says what to do.
        mode: What becomes of the joint action.
    """

    def __init__(self, task: Task, observer: Observer, decide: Decide, mode: Mode) -> None:
        self._task, self._observer, self._decide, self._mode = task, observer, decide, mode
        self._seen: list[Observation] = []
        self._actions: list[tuple[int, ...]] = []

    def __call__(self, progress: Progress) -> Choice:
        """Choose the edges of the round that is about to begin."""
        seen = self._observer(self._task, progress)
        joint = tuple(int(action) for action in self._decide(seen))
        self._seen.append(seen)
        self._actions.append(joint)
        return choice_of(joint, self._mode)

    def episode(self, reward: float) -> Episode:
        """Return what was seen and done, with what it earned."""
        return Episode(tuple(self._seen), tuple(self._actions), reward)


def choice_of(joint: Sequence[int], mode: Mode) -> Choice:
    """Return the choice that a joint action stands for."""
    graph = graph_of(joint, mode)
    actions = tuple(LABELS[action] for action in joint)
    return Choice(graph.edges, (*graph.refused, *graph.late), actions)


def greedy(learner: QLearner, epsilon: float = 0.0, draw: int = 0) -> Decide:
    """Return the policy of a learner for one rollout.

    Each agent takes its action of the highest value, the first of equal ones; with probability
    ``epsilon``, any. ``draw`` is the seed of that.
    """
    memory, rng = Memory(), np.random.default_rng(draw)

    def decide(seen: Observation) -> list[int]:
        best = learner.values(seen, memory).argmax(dim=-1).tolist()
        if not epsilon:
            return best
        explore = rng.random(len(best)) < epsilon
        drawn = rng.integers(len(Action), size=len(best))
        return [int(d) if e else b for b, d, e in zip(best, drawn, explore, strict=True)]

    return decide


def constant_chooser(joint: Sequence[int], mode: Mode) -> Chooser:
    """Return the chooser that takes one joint action before every round."""
    choice = choice_of(joint, mode)
    return lambda progress: choice


def random_chooser(agents: int, mode: Mode, draw: int) -> Chooser:
    """Return the chooser that draws every action uniformly; ``draw`` is its seed."""
    rng = np.random.default_rng(draw)
    return lambda progress: choice_of(rng.integers(len(Action), size=agents).tolist(), mode)


def draw_of(seed: int, what: str) -> int:
    """Return the seed of the draws that belong to ``what``, whatever else is drawn."""
    return crc32(f"{seed} {what}".encode())
