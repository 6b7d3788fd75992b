"""Train a learner on tasks: make rollouts, keep them, take updates (design 9)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hieramas_lib.learning.qmix.learner import QLearner
from hieramas_lib.learning.qmix.observation import Observer
from hieramas_lib.learning.qmix.play import Player, draw_of, greedy
from hieramas_lib.learning.qmix.replay import Episode, Replay
from hieramas_lib.learning.qmix.settings import QMixSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.rounds import Chooser


@dataclass(frozen=True, slots=True)
class Attempt:
    """A rollout to make: the task, its repetition, and who chooses."""

    task: Task
    sample: int
    choose: Chooser


Runner = Callable[[Sequence[Attempt]], Awaitable[Sequence[Rollout]]]
"""Makes rollouts, in the order given."""


@dataclass(frozen=True, slots=True)
class QMixStep:
    """What happened in one group of episodes, means; for learning curves.

    Attributes:
        episodes: Number made up to the end of this group.
        reward: Of the group's episodes, random actions included.
        accuracy: Share of right answers.
        messages: Messages delivered in an episode.
        tokens: Tokens used in an episode.
        epsilon: Share of random actions.
        loss: Mean over the group's updates; NaN if there were none.
    """

    episodes: int
    reward: float
    accuracy: float
    messages: float
    tokens: float
    epsilon: float
    loss: float


@dataclass(frozen=True, slots=True)
class Training:
    """What a training leaves besides the weights: its curve and its episodes, oldest first."""

    history: tuple[QMixStep, ...]
    episodes: tuple[Episode, ...]


async def train_qmix(
    learner: QLearner,
    observer: Observer,
    tasks: Sequence[Task],
    settings: QMixSettings,
    run: Runner,
    seed: int,
    on_step: Callable[[QMixStep], None] = lambda step: None,
) -> Training:
    """Train ``learner`` in place; nothing where there is nothing to choose.

    The tasks are gone through in a new random order each time. What an episode draws depends on
    the seed and its number alone, and updates come between groups of rollouts, so that the result
    does not depend on how many rollouts run at once.
    """
    if not settings.decisions:
        return Training((), ())
    training, history, kept = settings.training, [], []
    replay = Replay(min(training.replay, training.episodes), settings.decisions)
    visits = _visits(len(tasks), training.episodes, seed)
    for start in range(0, training.episodes, training.collect):
        numbers = range(start, min(start + training.collect, training.episodes))
        players, attempts = [], []
        for number in numbers:
            task, draw = tasks[visits[number]], draw_of(seed, f"episode {number}")
            decide = greedy(learner, training.epsilon_at(number), draw)
            players.append(Player(task, observer, decide, settings.mode))
            sample = number // len(tasks) % training.samples
            attempts.append(Attempt(task, sample, players[-1]))
        rollouts = await run(attempts)
        rewards = [settings.reward(rollout) for rollout in rollouts]
        for player, rollout, reward in zip(players, rollouts, rewards, strict=True):
            if rollout.grade.status != "error":  # a call that failed says nothing about the actions
                kept.append(player.episode(reward))
                replay.add(kept[-1])
        losses = _updates(learner, replay, settings)
        epsilon = training.epsilon_at(numbers[-1])
        history.append(_step(numbers[-1] + 1, rollouts, rewards, epsilon, losses))
        on_step(history[-1])
    return Training(tuple(history), tuple(kept))


def _visits(tasks: int, episodes: int, seed: int) -> list[int]:
    """Return which task each episode is about: every task once before any comes again."""
    rng = np.random.default_rng(seed)
    passes = -(-episodes // tasks)
    return [int(i) for _ in range(passes) for i in rng.permutation(tasks)][:episodes]


def _updates(learner: QLearner, replay: Replay, settings: QMixSettings) -> list[float]:
    training = settings.training
    if len(replay) < training.batch:
        return []
    return [
        learner.update(replay.sample(training.batch, learner.generator))
        for _ in range(training.updates)
    ]


def _step(
    episodes: int,
    rollouts: Sequence[Rollout],
    rewards: Sequence[float],
    epsilon: float,
    losses: Sequence[float],
) -> QMixStep:
    usages = [rollout.usage for rollout in rollouts]
    return QMixStep(
        episodes=episodes,
        reward=float(np.mean(rewards)),
        accuracy=float(np.mean([r.grade.correct for r in rollouts])),
        messages=float(np.mean([len(r.delivered_edges) for r in rollouts])),
        tokens=float(np.mean([u.prompt_tokens + u.completion_tokens for u in usages])),
        epsilon=epsilon,
        loss=float(np.mean(losses)) if losses else float("nan"),
    )
