"""Two agents, two actions, one table of payoffs: what a mixer can and can't represent."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hieramas_lib.learning.qmix.mixers import new_mixer
from hieramas_lib.learning.qmix.settings import MixerForm, NetworkSettings


@dataclass(frozen=True, slots=True)
class MixedTable:
    """What a mixer makes of a table of payoffs.

    Attributes:
        values: The team's value of each pair of actions, ``[first agent's, second agent's]``.
        greedy: The pair in which each agent takes its own best action.
        error: Largest distance between a value and its payoff.
    """

    values: NDArray[np.float64]
    greedy: tuple[int, int]
    error: float


def fit_table(
    payoffs: ArrayLike, form: MixerForm, *, seed: int = 0, steps: int = 600
) -> MixedTable:
    """Fit the values of two agents' actions, and a mixer, to all payoffs at once.

    This is what a learner would end with if it saw every pair of actions equally often.
    """
    goal = torch.as_tensor(np.asarray(payoffs, dtype=np.float32))
    own = torch.zeros(2, len(goal), requires_grad=True)
    mixer = new_mixer(2, 1, NetworkSettings(mixer=form, mixing=16), seed=seed)
    weights = [own, *mixer.parameters()]
    optimizer = torch.optim.Adam(weights, lr=0.03)
    state = torch.ones(len(goal), len(goal), 1)
    for _ in range(steps):
        optimizer.zero_grad()
        values = mixer(_pairs(own), state)
        (values - goal[..., None]).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        found = mixer(_pairs(own), state).mean(dim=-1).numpy().astype(np.float64)
    first, second = own.argmax(dim=1).tolist()
    return MixedTable(found, (first, second), float(np.abs(found - goal.numpy()).max()))


def _pairs(own: torch.Tensor) -> torch.Tensor:
    """Return the two agents' values of each pair of actions, ``[actions, actions, 2]``."""
    first, second = torch.broadcast_tensors(own[0][:, None], own[1][None, :])
    return torch.stack([first, second], dim=-1)
