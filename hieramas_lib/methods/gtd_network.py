"""Networks of GTD: the proxy that rates a graph for a question, and the edge model."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hieramas_lib.learning.initialisation import initialise, own_draws

HEADS = 4
"""Attention heads of the proxy: half look at what a role reads, half at who reads it."""


@dataclass(frozen=True, slots=True)
class GraphRuns:
    """What phase 1 recorded, one row a run.

    Attributes:
        query: Text vector of the question, ``[runs, dim]``.
        graph: The graph that was run, 1 where the column reads the row, ``[runs, roles, roles]``.
        right: Whether the answer was right, 0 or 1, ``[runs]``.
        cost: In reference calls, ``[runs]``.
    """

    query: Tensor
    graph: Tensor
    right: Tensor
    cost: Tensor

    def select(self, rows: Tensor) -> "GraphRuns":
        """Return some of the runs."""
        return GraphRuns(self.query[rows], self.graph[rows], self.right[rows], self.cost[rows])


class GTDNetwork(nn.Module):
    """Proxy and edge model."""

    roles: Tensor

    @own_draws()
    def __init__(self, roles: Tensor, *, seed: int, hidden: int = 32) -> None:
        """Make the networks for role vectors ``[roles, dim]``."""
        super().__init__()
        self.register_buffer("roles", roles)
        dim = roles.shape[1]
        self.role = nn.Linear(dim, hidden)
        self.question = nn.Linear(dim, hidden)
        self.attention = nn.ModuleList(
            [nn.MultiheadAttention(hidden, HEADS, batch_first=True) for _ in range(2)]
        )
        self.outcome = nn.Sequential(
            nn.Linear(hidden, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, 2)
        )
        self.edge = nn.Sequential(nn.Linear(3 * dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        initialise(self, seed)

    def proxy(self, queries: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logit of a right answer and the cost of ``graphs`` for ``queries``, ``[n]``.

        The shapes are ``[n, dim]`` and ``[n, roles, roles]``.
        """
        state = self.role(self._centred) + self.question(self._scaled(queries))[:, None]
        blocked = self._blocked(graphs)
        for attention in self.attention:
            seen, _ = attention(state, state, state, attn_mask=blocked, need_weights=False)
            state = (state + seen).relu()
        right, cost = self.outcome(state.mean(dim=1)).unbind(-1)
        return right, cost

    def edge_logits(self, queries: Tensor) -> Tensor:
        """Return the edge model's logits for ``queries``, ``[n, roles, roles]``."""
        count = len(self.roles)
        shape = (len(queries), count, count, -1)
        pairs = torch.cat(
            [
                self._centred[:, None].expand(*shape),
                self._centred[None].expand(*shape),
                self._scaled(queries)[:, None, None].expand(*shape),
            ],
            dim=-1,
        )
        logits: Tensor = self.edge(pairs).squeeze(-1)
        return logits

    @property
    def _centred(self) -> Tensor:
        return self._scaled(self.roles - self.roles.mean(dim=0))

    def _scaled(self, vectors: Tensor) -> Tensor:
        """Bring the numbers of unit vectors to the size of 1."""
        return vectors * vectors.shape[-1] ** 0.5

    def _blocked(self, graphs: Tensor) -> Tensor:
        """Return where no attention goes, ``[n · heads, roles, roles]``, the row looking."""
        itself = torch.eye(graphs.shape[1], dtype=torch.bool)
        reads, read_by = graphs.transpose(1, 2).bool() | itself, graphs.bool() | itself
        heads = [*[reads] * (HEADS // 2), *[read_by] * (HEADS // 2)]
        return ~torch.stack(heads, dim=1).flatten(0, 1)

    def losses(self, runs: GraphRuns) -> dict[str, Tensor]:
        """Return the loss terms of some runs: of the proxy's two outputs, and of the edge model."""
        right, cost = self.proxy(runs.query, runs.graph)
        logits, pairs = self.edge_logits(runs.query), ~torch.eye(len(self.roles), dtype=torch.bool)
        by_run = F.binary_cross_entropy_with_logits(
            logits[:, pairs], runs.graph[:, pairs], reduction="none"
        ).mean(dim=1)
        return {
            "right": F.binary_cross_entropy_with_logits(right, runs.right),
            "cost": F.mse_loss(cost, runs.cost),
            "edges": (runs.right * by_run).sum() / runs.right.sum().clamp(min=1),
        }
