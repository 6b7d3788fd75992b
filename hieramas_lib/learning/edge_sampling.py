"""Drawing DAGs edge by edge, with the probability that a graph is in fact drawn with.

The pairs (u, v) are visited one after another, and v reads u with probability sigmoid(logit_uv). A
pair that would close a cycle with the edges drawn before is *refused*: it is not drawn, so it has
no part in the probability either. A cycle can't come about, and

    log P(G) = sum over pairs that were not refused of log sigmoid(+logit_uv or -logit_uv)

is exact for the order of visits in which G was drawn. Which order that is, is the method's choice:
:func:`row_order` visits the roles as declared, so that of two edges which exclude each other the
earlier declared one comes first; :func:`likely_first` gives the more probable one the way.

The other way to leave cycles out is to draw an order of the roles first, each being read by later
ones only: :func:`draw_order` and :func:`order_log_prob` (Plackett and Luce).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hieramas_lib.teams.topology import Topology


@dataclass(frozen=True, slots=True)
class EdgeDraws:
    """Graphs that were drawn, and which pairs there was a choice about.

    Attributes:
        edges: True where the column reads the row, ``[graphs, roles, roles]``.
        open: True where an edge could have been drawn: not the diagonal, not refused. Same shape.
    """

    edges: Tensor
    open: Tensor

    @property
    def refused(self) -> Tensor:
        """Number of pairs that would have closed a cycle, ``[graphs]``."""
        roles = self.open.shape[-1]
        return roles * (roles - 1) - self.open.sum(dim=(1, 2))

    def log_prob(self, logits: Tensor) -> Tensor:
        """Return the log-probability of each graph, ``[graphs]``; logits as they were drawn from.

        It is differentiable in ``logits``, ``[graphs, roles, roles]``.
        """
        signed = torch.where(self.edges, logits, -logits)
        log_prob = torch.nn.functional.logsigmoid(signed)
        return torch.where(self.open, log_prob, 0.0).sum(dim=(1, 2))

    def topologies(self) -> list[Topology]:
        """Return the graphs as topologies, which would refuse a cycle."""
        roles = self.edges.shape[1]
        return [
            Topology(roles, tuple((u, v) for u, v in edges.nonzero().tolist()))
            for edges in self.edges
        ]


def row_order(graphs: int, roles: int) -> Tensor:
    """Return all pairs row by row, ``[graphs, pairs]``; pair u, v is number u · roles + v."""
    return _pairs(roles).expand(graphs, -1)


def likely_first(logits: Tensor) -> Tensor:
    """Return all pairs by falling logit, ``[graphs, pairs]``; ties go to the earlier row."""
    pairs = _pairs(logits.shape[-1])
    by_pair = logits.detach().flatten(1)[:, pairs]
    return pairs[by_pair.argsort(dim=1, descending=True, stable=True)]


def draw_edges(logits: Tensor, order: Tensor, generator: torch.Generator | None) -> EdgeDraws:
    """Draw one DAG from each matrix of ``logits``, or take what is more probable than not.

    Args:
        logits: ``[graphs, roles, roles]``; the diagonal is not looked at.
        order: In which the pairs are visited, see :func:`row_order`, ``[graphs, pairs]``.
        generator: Of the draws; None draws nothing: an edge is taken if its logit is above 0.
    """
    logits = logits.detach()
    graphs, roles, _ = logits.shape
    if generator is None:
        wanted = logits > 0
    else:
        wanted = torch.rand(logits.shape, generator=generator) < logits.sigmoid()
    rows = torch.arange(graphs)
    leads = torch.eye(roles, dtype=torch.bool).repeat(graphs, 1, 1)  # a path, or the node itself
    edges, open_ = torch.zeros_like(wanted), torch.zeros_like(wanted)
    for pair in order.T:
        u, v = pair // roles, pair % roles
        free = ~leads[rows, v, u]
        taken = free & wanted[rows, u, v]
        edges[rows, u, v], open_[rows, u, v] = taken, free
        # All that leads to u leads now to all that v leads to.
        leads |= (taken[:, None] & leads[rows, :, u])[:, :, None] & leads[rows, v][:, None, :]
    return EdgeDraws(edges, open_)


def draw_order(scores: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw an order of the roles for each row of ``scores``, first to last, ``[graphs, roles]``.

    The first is drawn from softmax(scores), the next from the softmax over the others, and so on
    (as sorting scores with Gumbel noise does). Without a ``generator``, by falling score.
    """
    scores = scores.detach()
    if generator is not None:
        uniform = torch.rand(scores.shape, generator=generator).clamp(min=1e-20)
        scores = scores - (-uniform.log()).log()
    return scores.argsort(dim=1, descending=True, stable=True)


def order_log_prob(scores: Tensor, order: Tensor) -> Tensor:
    """Return the log-probability of each order under :func:`draw_order`, ``[graphs]``."""
    sorted_ = scores.gather(1, order)
    left = sorted_.flip(1).logcumsumexp(dim=1).flip(1)
    return (sorted_ - left).sum(dim=1)


def _pairs(roles: int) -> Tensor:
    """Return the numbers of all pairs of different roles, row by row."""
    return (~torch.eye(roles, dtype=torch.bool)).flatten().nonzero().flatten()
