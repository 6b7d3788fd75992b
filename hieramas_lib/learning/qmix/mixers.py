"""From the agents' values to the team's: QMIX, VDN and independent learners.

Each mixer takes the values of the chosen actions, ``[..., agents]``, and a state, ``[..., state]``,
and returns what is compared with the reward, ``[..., heads]``: one number for the team, or one for
each agent that learns by itself.
"""

from torch import Tensor, nn

from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.learning.qmix.settings import NetworkSettings


class QMixer(nn.Module):
    """A network that is monotone in every agent's value (Rashid et al. 2018).

    Q_tot = ELU(q |W1(s)| + b1(s)) |w2(s)| + b2(s). Weights come from the state through two-layer
    hypernetworks and are made positive by an absolute value, so that dQ_tot / dq_i >= 0: the
    actions that are best for the agents one by one are then best for the team.
    """

    @own_draws()
    def __init__(self, agents: int, state: int, settings: NetworkSettings, *, seed: int) -> None:
        """Make a mixer for so many agents and numbers of the state."""
        super().__init__()
        width = settings.mixing

        def hypernetwork(outputs: int) -> nn.Sequential:
            return nn.Sequential(nn.Linear(state, width), nn.ReLU(), nn.Linear(width, outputs))

        self.weights_in, self.weights_out = hypernetwork(agents * width), hypernetwork(width)
        self.bias_in, self.bias_out = nn.Linear(state, width), hypernetwork(1)
        initialise(self, seed)

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Return the team's value, ``[..., 1]``."""
        weights = self.weights_in(state).abs().unflatten(-1, (values.shape[-1], -1))
        hidden = (values.unsqueeze(-2) @ weights).squeeze(-2) + self.bias_in(state)
        mixed = nn.functional.elu(hidden) * self.weights_out(state).abs()
        total: Tensor = mixed.sum(dim=-1, keepdim=True) + self.bias_out(state)
        return total


class SumMixer(nn.Module):
    """Value decomposition by a sum (VDN, Sunehag et al. 2018); the state is not looked at."""

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Return the team's value, ``[..., 1]``."""
        return values.sum(dim=-1, keepdim=True)


class NoMixer(nn.Module):
    """Independent learners: each agent's value is held against the team's reward by itself."""

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Return the values as they are, ``[..., agents]``."""
        return values


def new_mixer(agents: int, state: int, settings: NetworkSettings, *, seed: int) -> nn.Module:
    """Return an untrained mixer of the form that the settings name."""
    if settings.mixer == "qmix":
        return QMixer(agents, state, settings, seed=seed)
    return SumMixer() if settings.mixer == "vdn" else NoMixer()
