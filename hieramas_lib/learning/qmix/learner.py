"""The learner: temporal differences on the team's value, with a target network that moves.

For step t of an episode of T choices, with q the values of the chosen actions and s the state,

    y_t = r_t + gamma · Q_target(s_{t+1}, best actions at t+1)   for t < T,     y_T = r_T,

and the loss is the mean of (Q_tot(s_t, q_t) - y_t)^2 over the steps that episodes have, the last
one included: it is the one that sees the reward. Both networks are unrolled from the first step.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from hieramas_lib.learning.qmix.mixers import new_mixer
from hieramas_lib.learning.qmix.networks import AgentNetwork
from hieramas_lib.learning.qmix.observation import Observation, mixer_state, network_input
from hieramas_lib.learning.qmix.replay import Batch
from hieramas_lib.learning.qmix.settings import NetworkSettings, TrainingSettings
from hieramas_lib.learning.training_state import part


class Memory:
    """What the agents remember within one rollout."""

    state: Tensor | None = None


class QLearner:
    """Agents' network and mixer, their targets, and how they are trained.

    Attributes:
        network, mixer: What is learned.
        target_network, target_mixer: What it is compared with; copies of some updates ago.
        updates: Number of updates made.

    Args:
        agents: Number of agents.
        sizes: How many numbers are seen of a task, and of an agent.
        network: Form and sizes of the networks.
        training: How they are trained.
        seed: Of the starting weights and the draws from the replay.
    """

    def __init__(
        self,
        agents: int,
        sizes: tuple[int, int],
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        seed: int,
    ) -> None:
        task, own = sizes

        def make() -> tuple[AgentNetwork, nn.Module]:
            state = task + agents * own + 1
            mixer = new_mixer(agents, state, network, seed=seed + 1)
            return AgentNetwork(task + own, network, seed=seed), mixer

        self.training, self.updates = training, 0
        self.network, self.mixer = make()
        self.target_network, self.target_mixer = make()
        for module in (self.target_network, self.target_mixer):
            module.requires_grad_(False)
            module.eval()
        self.generator = torch.Generator().manual_seed(seed)
        self._weights = [*self.network.parameters(), *self.mixer.parameters()]
        # Fused: one kernel for all weights takes a fifth of the time of one for each.
        self._optimizer = torch.optim.Adam(self._weights, lr=training.learning_rate, fused=True)

    def values(self, seen: Observation, memory: Memory) -> Tensor:
        """Return the values ``[agents, actions]`` of what can be done now, and remember.

        In eval mode, so that the same situation has the same values.
        """
        self.network.eval()
        with torch.no_grad():
            if memory.state is None:
                memory.state = self.network.start(1, seen.agents.shape[0])
            x = network_input(seen.task, seen.agents)[None]
            values, memory.state = self.network.step(x, seen.adjacency[None], memory.state)
        return values[0]

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean squared temporal difference over the steps of ``batch``."""
        task = batch.task[:, None].expand(-1, batch.mask.shape[1], -1)
        x = network_input(task, batch.agents)
        state = mixer_state(task, batch.agents, batch.adjacency)
        values = self.network(x, batch.adjacency)
        total = self.mixer(_chosen(values, batch.actions), state)
        with torch.no_grad():
            later = self.target_network(x, batch.adjacency)
            best = (values if self.training.double else later).argmax(dim=-1)
            following = self.target_mixer(_chosen(later, best), state)[:, 1:]
            goal = batch.rewards[..., None].expand_as(total).clone()
            goal[:, :-1] += self.training.gamma * following * batch.mask[:, 1:, None]
        error = (total - goal) * batch.mask[..., None]
        return error.square().sum() / (batch.mask.sum() * total.shape[-1])

    def update(self, batch: Batch) -> float:
        """Take one gradient step, move the target if it is time, and return the loss."""
        self.network.train()
        for group in self._optimizer.param_groups:
            group["lr"] = self.training.rate_at(self.updates)
        self._optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self._weights, self.training.max_grad_norm)
        self._optimizer.step()
        self.updates += 1
        if self.updates % self.training.target_period == 0:
            self.move_target()
        return loss.item()

    def move_target(self) -> None:
        """Copy the weights to the target."""
        self.target_network.load_state_dict(self.network.state_dict())
        self.target_mixer.load_state_dict(self.mixer.state_dict())

    def tensors(self) -> dict[str, Tensor]:
        """Return all weights, by name."""
        parts = {"network": self.network, "mixer": self.mixer}
        return {f"{p}.{key}": w for p, m in parts.items() for key, w in m.state_dict().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over weights that :meth:`tensors` returned; the target takes them, too."""
        self.network.load_state_dict(part(tensors, "network"))
        self.mixer.load_state_dict(part(tensors, "mixer"))
        self.move_target()


def _chosen(values: Tensor, actions: Tensor) -> Tensor:
    """Return the values ``[..., agents]`` of ``actions`` among ``[..., agents, actions]``."""
    return values.gather(-1, actions[..., None]).squeeze(-1)
