"""The best constant joint action, estimated from the episodes that a learner has seen."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from hieramas_lib.learning.qmix.actions import Action
from hieramas_lib.learning.qmix.replay import Episode

PRIOR_EPISODES = 8.0
"""Episodes that an action's, or a joint action's, own mean is shrunk by."""


def best_constant(episodes: Sequence[Episode]) -> tuple[int, ...]:
    """Return the joint action that, taken before every round, should earn most.

    An estimate, from few episodes a joint action: a ridge regression of the reward on how often
    each agent took each action; plus, for a joint action that was taken throughout an episode,
    the mean of what the regression misses there, shrunk towards 0. The first of equals wins.

    Raises:
        ValueError: there are no episodes, or nothing was chosen in them.
    """
    if not episodes or not episodes[0].actions:
        raise ValueError("no choices to learn from")
    size, count = len(episodes[0].actions[0]), len(Action)
    joints = np.array([episode.actions for episode in episodes])  # [episodes, steps, agents]
    rewards = np.array([episode.reward for episode in episodes])
    taken = np.eye(count)[joints].mean(axis=1).reshape(len(episodes), size * count)
    centre = taken.mean(axis=0)
    design, mean = taken - centre, rewards.mean()
    ridge = PRIOR_EPISODES * np.eye(size * count)
    effects = np.linalg.solve(design.T @ design + ridge, design.T @ (rewards - mean))
    missed = rewards - mean - design @ effects
    of_joint: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for episode, error in zip(episodes, missed, strict=True):
        if len(set(episode.actions)) == 1:
            of_joint[episode.actions[0]].append(float(error))
    table = effects.reshape(size, count)
    of_joint.setdefault(tuple(int(a) for a in table.argmax(axis=1)), [])

    def worth(joint: tuple[int, ...]) -> float:
        errors = of_joint[joint]
        own = sum(errors) / (len(errors) + PRIOR_EPISODES)
        return float(sum(table[agent, action] for agent, action in enumerate(joint))) + own

    return max(sorted(of_joint), key=worth)
