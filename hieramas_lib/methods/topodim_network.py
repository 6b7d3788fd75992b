"""Network and draws of TopoDIM: an order of the roles, and a kind for every ordered pair."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from hieramas_lib.learning.edge_sampling import draw_order, order_log_prob
from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.teams.topology import Edge

KINDS: Final = ("conditioned", "evaluation", "debate")
"""What the reader is told about a message: nothing, to evaluate it, or to argue against it."""

NO_EDGE: Final = len(KINDS)


@dataclass(frozen=True, slots=True)
class Scores:
    """What the network makes of some questions.

    Attributes:
        order: Score of each role, ``[tasks, roles]``; higher comes earlier.
        kinds: Logits of each kind and of no edge, ``[tasks, roles, roles, kinds + 1]``.
    """

    order: Tensor
    kinds: Tensor

    def tempered(self, temperature: float) -> "Scores":
        """Divide the logits of the kinds by ``temperature``."""
        return Scores(self.order, self.kinds / temperature)


@dataclass(frozen=True, slots=True)
class TypedDraws:
    """Graphs that were drawn, before the most probable edges are chosen.

    Attributes:
        order: Roles, first to last, ``[graphs, roles]``.
        kinds: Kind of the edge from row to column, or NO_EDGE, ``[graphs, roles, roles]``.
    """

    order: Tensor
    kinds: Tensor

    @property
    def forward(self) -> Tensor:
        """True where the row comes before the column, ``[graphs, roles, roles]``."""
        place = self.order.argsort(dim=1)
        return place[:, :, None] < place[:, None, :]

    def log_prob(self, scores: Scores) -> Tensor:
        """Return the log-probability of order and kinds together, ``[graphs]``."""
        by_pair = scores.kinds.log_softmax(-1).gather(-1, self.kinds[..., None]).squeeze(-1)
        pairs = torch.where(self.forward, by_pair, 0.0).sum(dim=(1, 2))
        return order_log_prob(scores.order, self.order) + pairs

    def entropy(self, scores: Scores) -> Tensor:
        """Return the mean entropy of the pairs that were drawn, in nats, ``[graphs]``."""
        each = torch.distributions.Categorical(logits=scores.kinds).entropy()
        return (each * self.forward).sum(dim=(1, 2)) / self.forward.sum(dim=(1, 2)).clamp(min=1)

    def kept(self, scores: Scores, per_kind: int) -> list[dict[Edge, int]]:
        """Return the ``per_kind`` most probable edges of each kind with their kinds, by graph."""
        log_prob = scores.kinds.detach().log_softmax(-1)
        return [self._kept(graph, log_prob[graph], per_kind) for graph in range(len(self.order))]

    def _kept(self, graph: int, log_prob: Tensor, per_kind: int) -> dict[Edge, int]:
        drawn = self.forward[graph] & (self.kinds[graph] != NO_EDGE)
        edges = [(int(u), int(v)) for u, v in drawn.nonzero()]
        chosen: dict[Edge, int] = {}
        for kind in range(len(KINDS)):
            mine = [edge for edge in edges if self.kinds[graph][edge] == kind]
            mine.sort(key=lambda edge: -float(log_prob[edge][kind]))
            chosen |= dict.fromkeys(mine[:per_kind], kind)
        return chosen


def draw_typed(scores: Scores, generator: torch.Generator | None) -> TypedDraws:
    """Draw order and kinds; without a ``generator``, the most probable of each."""
    order = draw_order(scores.order, generator)
    if generator is None:
        kinds = scores.kinds.detach().argmax(-1)
    else:
        flat = scores.kinds.detach().softmax(-1).flatten(0, -2)
        kinds = torch.multinomial(flat, 1, generator=generator).view(scores.kinds.shape[:-1])
    draws = TypedDraws(order, kinds)
    return TypedDraws(order, torch.where(draws.forward, kinds, NO_EDGE))


class TopoDIMNetwork(nn.Module):
    """Vectors of the roles, two relational convolutions, the scorer and the classifier of pairs."""

    relations: Tensor

    @own_draws()
    def __init__(self, roles: int, dim: int, *, seed: int, hidden: int = 16) -> None:
        """Make a network for a number of roles and questions' vectors of size ``dim``."""
        super().__init__()
        before = torch.ones(roles, roles).tril(-1)
        both = torch.stack([before, before.T])  # row: reader; the relation's mean over columns
        self.register_buffer("relations", both / both.sum(dim=-1, keepdim=True).clamp(min=1))
        self.role = nn.Embedding(roles, hidden)
        self.question = nn.Linear(dim, hidden)
        self.own = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(2)])
        self.related = nn.ModuleList([nn.Linear(2 * hidden, hidden, bias=False) for _ in range(2)])
        self.order = nn.Linear(hidden, 1, bias=False)  # a bias would cancel
        self.kind = nn.Sequential(
            nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, len(KINDS) + 1)
        )
        initialise(self, seed)

    def forward(self, queries: Tensor) -> Scores:
        """Score orders and kinds for ``queries``, ``[tasks, dim]``."""
        state = self.role.weight + self.question(queries)[:, None]
        for own, related in zip(self.own, self.related, strict=True):
            mixed = torch.cat([relation @ state for relation in self.relations], dim=-1)
            state = (own(state) + related(mixed)).relu()
        count = state.shape[1]
        source = state[:, :, None].expand(-1, -1, count, -1)
        reader = state[:, None].expand(-1, count, -1, -1)
        return Scores(self.order(state).squeeze(-1), self.kind(torch.cat([source, reader], dim=-1)))
