"""Plainer ways to choose a graph from the same labels, to measure the classifier against.

The best fixed graph is :meth:`~hieramas_lib.learning.labels.GraphLabels.best_on_average`. Here are
those that give every edge a worth of its own: credit goes to edges, as in the works that HieraMAS
argues against (hieramas.md 5), and a graph is worth what its edges are worth together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.teams.graph_pool import GraphPool

RIDGES: Final = (1.0, 10.0, 100.0, 1000.0)
"""Penalties that :func:`regress_edges` chooses among."""

FOLDS: Final = 5

LARGEST_WEIGHT: Final = 8.0
"""Importance weights of :func:`reinforce_edges` are cut there."""


@dataclass(frozen=True)
class EdgeScores:
    """Scores a graph by its edges: for u -> v, w + from_source · match_u + from_reader · match_v.

    Attributes:
        weight, from_source, from_reader: ``[roles, roles]``, the row being read by the column.
    """

    weight: Tensor
    from_source: Tensor
    from_reader: Tensor

    def __call__(self, features: Features, adjacency: Tensor) -> Tensor:
        """Return scores ``[tasks, graphs]`` of graphs given as ``[graphs, roles, roles]``."""
        match = features.match
        by_task = (
            self.weight
            + self.from_source * match[:, :, None]
            + self.from_reader * match[:, None, :]
        )
        return torch.einsum("tuv,guv->tg", by_task, adjacency)


def adjacency(graphs: GraphPool) -> Tensor:
    """Return the pool as ``[graphs, roles, roles]``, 1 where the column reads the row."""
    return torch.stack([torch.from_numpy(graph.adjacency()).float() for graph in graphs])


def densest(graphs: GraphPool) -> int:
    """Return the graph with most edges, the first of several."""
    return max(range(len(graphs)), key=lambda position: len(graphs[position].edges))


def regress_edges(
    labels: GraphLabels, features: Features, graphs: GraphPool, *, similarity: bool
) -> EdgeScores:
    """Fit the worth of every edge to the utilities, by least squares with a ridge.

    What REINFORCE with one logit an edge estimates by sampling, without its sampling error: the
    expected gradient is the covariance of an edge with the utility, and the fit is that covariance
    with what other edges explain taken out. Both sides are centred within a question, so
    that only differences between graphs of one question count. The ridge is chosen by
    cross-validation over questions.

    Args:
        labels: What was run.
        features: Of the labelled questions.
        graphs: The pool.
        similarity: Whether the worth may depend on how well reader and read match the question.
    """
    edges = adjacency(graphs)[labels.graphs].flatten(2)
    parts = [edges]
    if similarity:
        roles = features.match.shape[1]
        source = features.match[:, :, None].expand(-1, roles, roles).flatten(1)
        reader = features.match[:, None, :].expand(-1, roles, roles).flatten(1)
        parts += [edges * source[:, None], edges * reader[:, None]]
    inputs, outcome = _centred(torch.cat(parts, dim=2), labels)
    fitted = _ridge(inputs, outcome, _best_ridge(inputs, outcome))
    return _edge_scores(fitted.float().view(-1, graphs.size, graphs.size))


def reinforce_edges(
    labels: GraphLabels, features: Features, graphs: GraphPool, *, similarity: bool = False,
    steps: int = 100, learning_rate: float = 0.05,
) -> EdgeScores:  # fmt: skip
    """Learn one logit for every edge by REINFORCE on the labelled runs.

    The policy draws a graph of the pool with probability proportional to exp(sum of its edges'
    logits). The runs were drawn uniformly, hence importance weights, cut at 8; the baseline is the
    mean of the question's other graphs.

    Args:
        labels: What was run.
        features: Of the labelled questions.
        graphs: The pool.
        similarity: Whether a logit may depend on how well reader and read match the question.
        steps, learning_rate: Of Adam, on all labels at once.
    """
    edges = adjacency(graphs)
    learned = torch.zeros(3 if similarity else 1, graphs.size, graphs.size, requires_grad=True)
    optimizer = torch.optim.Adam([learned], lr=learning_rate)
    known = ~labels.utility.isnan()
    others = known.sum(dim=1, keepdim=True) - 1
    utility = labels.utility.nan_to_num(nan=0.0)
    baseline = (utility.sum(dim=1, keepdim=True) - utility) / others.clamp(min=1)
    advantage = (utility - baseline) * known * (others > 0)
    for _ in range(steps):
        scores = _edge_scores(learned)(features, edges)
        log_prob = scores.log_softmax(dim=1).gather(1, labels.graphs)
        weight = (log_prob.detach().exp() * len(graphs)).clamp(max=LARGEST_WEIGHT)
        loss = -(weight * advantage * log_prob).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return _edge_scores(learned.detach())


def _edge_scores(weights: Tensor) -> EdgeScores:
    """Return scores of ``[1 or 3, roles, roles]``; without the last two, similarity is nothing."""
    zero = torch.zeros_like(weights[0])
    return EdgeScores(*[*weights, zero, zero][:3])


def _centred(inputs: Tensor, labels: GraphLabels) -> tuple[Tensor, Tensor]:
    """Subtract each question's mean; graphs without a verdict become rows of zeros."""
    known = (~labels.utility.isnan()).double()[..., None]
    count = known.sum(dim=1, keepdim=True).clamp(min=1)
    both = []
    for values in (inputs.double(), labels.utility.nan_to_num(nan=0.0).double()[..., None]):
        mean = (values * known).sum(dim=1, keepdim=True) / count
        both.append((values - mean) * known)
    return both[0], both[1][..., 0]


def _ridge(inputs: Tensor, outcome: Tensor, penalty: float) -> Tensor:
    rows = inputs.flatten(0, 1)
    gram = rows.T @ rows + penalty * torch.eye(rows.shape[1], dtype=rows.dtype)
    return torch.linalg.solve(gram, rows.T @ outcome.flatten())


def _best_ridge(inputs: Tensor, outcome: Tensor, choices: Sequence[float] = RIDGES) -> float:
    fold = torch.arange(len(inputs)) % FOLDS

    def error(penalty: float) -> float:
        total = 0.0
        for left_out in range(FOLDS):
            rest, here = fold != left_out, fold == left_out
            fitted = _ridge(inputs[rest], outcome[rest], penalty)
            total += float((inputs[here] @ fitted - outcome[here]).square().sum())
        return total

    return min(choices, key=error)
