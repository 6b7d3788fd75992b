"""The network behind each agent's values: graph network, memory, head; one for all agents.

Dense and batched: agents are rows of a tensor, graphs are matrices ``A[u, v]``, 1 where v read u.
What the graph network passes on goes from u to v, as the texts do (the published one passes it back
from reader to source, and so shows an agent what its readers know).
"""

import torch
from torch import Tensor, nn

from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.learning.qmix.actions import Action
from hieramas_lib.learning.qmix.settings import NetworkSettings


class Dropout(nn.Module):
    """Dropout that draws from a generator of its own, not from the global one."""

    def __init__(self, share: float, seed: int) -> None:
        """Drop ``share`` of the numbers while training, none in eval mode."""
        super().__init__()
        self.share = share
        self._generator = torch.Generator().manual_seed(seed)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x``, of the same shape."""
        if not self.training or not self.share:
            return x
        kept = torch.rand(x.shape, generator=self._generator) >= self.share
        return x * kept / (1.0 - self.share)


class GraphEncoder(nn.Module):
    """Messages along edges: each agent takes up the mean of what those whom it read know.

    h' = GRU(mean over in-neighbours u of ReLU(W h[u]), h), then dropout and layer norm; weights of
    each layer are its own. An agent that read nobody takes up zeros.
    """

    def __init__(self, inputs: int, settings: NetworkSettings, seed: int) -> None:
        """Make an encoder for ``inputs`` numbers an agent."""
        super().__init__()
        hidden, layers = settings.hidden, range(settings.layers)
        self.embed = nn.Linear(inputs, hidden)
        self.messages = nn.ModuleList([nn.Linear(hidden, hidden) for _ in layers])
        self.updates = nn.ModuleList([nn.GRUCell(hidden, hidden) for _ in layers])
        self.norms = nn.ModuleList([nn.LayerNorm(hidden) for _ in layers])
        self.dropout = Dropout(settings.dropout, seed)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Return ``[graphs, agents, hidden]`` of ``[graphs, agents, inputs]``.

        ``adjacency`` is ``[graphs, agents, agents]``.
        """
        incoming = adjacency.transpose(1, 2)
        incoming = incoming / incoming.sum(dim=-1, keepdim=True).clamp(min=1.0)
        state = self.embed(x).relu()
        for message, update, norm in zip(self.messages, self.updates, self.norms, strict=True):
            heard = incoming @ message(state).relu()
            new = update(heard.flatten(0, 1), state.flatten(0, 1)).view_as(state)
            state = norm(self.dropout(new))
        return state


class AgentNetwork(nn.Module):
    """Values of the six actions of every agent, from what is seen now and remembered."""

    @own_draws()
    def __init__(self, inputs: int, settings: NetworkSettings, *, seed: int) -> None:
        """Make a network for ``inputs`` numbers an agent."""
        super().__init__()
        hidden = settings.hidden
        self.encoder = GraphEncoder(inputs, settings, seed)
        self.memory = nn.GRUCell(hidden, hidden)
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, len(Action))
        )
        initialise(self, seed)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)

    def start(self, graphs: int, agents: int) -> Tensor:
        """Return the memory before the first choice, ``[graphs · agents, hidden]``: zeros."""
        return torch.zeros(graphs * agents, self.memory.hidden_size)

    def step(self, x: Tensor, adjacency: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return values ``[graphs, agents, actions]`` and the memory after one choice."""
        memory = self.memory(self.encoder(x, adjacency).flatten(0, 1), memory)
        values: Tensor = self.head(memory)
        return values.view(*x.shape[:2], -1), memory

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Return values ``[episodes, steps, agents, actions]`` of whole episodes.

        ``x`` is ``[episodes, steps, agents, inputs]``; memory runs from step to step.
        """
        episodes, steps, agents, _ = x.shape
        seen = self.encoder(x.flatten(0, 1), adjacency.flatten(0, 1)).view(*x.shape[:3], -1)
        memory, remembered = self.start(episodes, agents), []
        for step in range(steps):
            memory = self.memory(seen[:, step].flatten(0, 1), memory)
            remembered.append(memory.view(episodes, agents, -1))
        values: Tensor = self.head(torch.stack(remembered, dim=1))
        return values
