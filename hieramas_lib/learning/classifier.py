"""The graph classifier of stage 2: how good is a graph for a question (HieraMAS, f_G)."""

from typing import Literal

import torch
from torch import Tensor, nn

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.teams.graph_pool import GraphPool

ClassifierForm = Literal["convolution", "reference"]
"""Which network: :class:`GraphClassifier`, or :class:`ReferenceClassifier`."""


class GraphScorer(nn.Module):
    """Scores the graphs of a pool for questions; a subclass says how."""

    adjacency: Tensor

    def __init__(self, graphs: GraphPool) -> None:
        """Remember the pool as ``[graphs, roles, roles]``, 1 where the column reads the row."""
        super().__init__()
        stacked = torch.stack([torch.from_numpy(t.adjacency()).float() for t in graphs])
        self.register_buffer("adjacency", stacked)

    def forward(self, features: Features, kept: Tensor, graphs: Tensor) -> Tensor:
        """Return scores (logits) ``[tasks, graphs]`` of the pool's ``graphs`` for each task.

        Args:
            features: Features of the tasks.
            kept: Whether the policy keeps a role for a task, ``[tasks, roles]``.
            graphs: Indices into the pool, ``[tasks, graphs]``.
        """
        return self.score_edges(features, kept, self.adjacency[graphs])

    def score_edges(self, features: Features, kept: Tensor, adjacency: Tensor) -> Tensor:
        """Return scores ``[tasks, graphs]`` of any graphs, in the pool or not.

        ``adjacency``, ``[tasks, graphs, roles, roles]``, is 1 where the column reads the row.
        """
        raise NotImplementedError


class GraphClassifier(GraphScorer):
    """Two graph convolutions along the edges, mean over roles, an MLP.

    A node sees its role, how well that matches the question, and whether the policy keeps it. The
    text vector of the question itself is left out: hundreds of numbers for tens of questions are
    learned by heart, and without it regret fell by a tenth (simulated, design 8).

    Messages flow from predecessor to successor, as texts do in the team. A second set of weights
    tells a node about its readers: whether anybody reads a role decides whether the decision does,
    where that reads the sinks. The weights on a node's own state are separate (Morris et al. 2019).
    """

    @own_draws()
    def __init__(self, dim: int, graphs: GraphPool, *, seed: int, hidden: int = 32) -> None:
        """Make a classifier over ``graphs`` for text vectors of size ``dim``."""
        from torch_geometric.nn.dense import DenseGraphConv  # seconds to import

        super().__init__(graphs)
        self.role = nn.Linear(dim, hidden)
        self.node = nn.Linear(hidden + 2, hidden)
        self.convolutions = nn.ModuleList(
            [DenseGraphConv(hidden, hidden, aggr="add") for _ in range(2)]
        )
        self.readers = nn.ModuleList([nn.Linear(hidden, hidden, bias=False) for _ in range(2)])
        self.score = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        initialise(self, seed)

    def score_edges(self, features: Features, kept: Tensor, adjacency: Tensor) -> Tensor:
        """See :meth:`GraphScorer.score_edges`."""
        tasks, roles = features.match.shape
        per_node = torch.cat(
            [
                self.role(features.role).relu().expand(tasks, roles, -1),
                features.match[..., None],
                kept.float()[..., None],
            ],
            dim=-1,
        )
        count = adjacency.shape[1]
        state = self.node(per_node).repeat_interleave(count, dim=0)
        # A pruned role passes nothing on: its outgoing and incoming edges are removed.
        present = kept.float().repeat_interleave(count, dim=0)
        edges = adjacency.flatten(0, 1) * present[:, :, None] * present[:, None, :]
        incoming = edges.transpose(1, 2)  # row = reader, as DenseGraphConv sums over columns
        for convolution, readers in zip(self.convolutions, self.readers, strict=True):
            state = (convolution(state, incoming) + edges @ readers(state)).relu()
        scores: Tensor = self.score(state.mean(dim=1)).view(tasks, count)
        return scores


class ReferenceClassifier(GraphScorer):
    """The published classifier, its faults included, for comparison only.

    As published: two rounds of averaging without weights, from readers back to what they read,
    with a ReLU after each; one linear layer; mean over roles; an MLP. A node sees its role, whose
    vector is trained along, and the question; being the same on all nodes, the question meets the
    graph in the last layers alone. Which roles are pruned is not seen. Without the published
    dropout, which would draw from the global generator.
    """

    @own_draws()
    def __init__(self, dim: int, graphs: GraphPool, *, seed: int) -> None:
        """Make a classifier over ``graphs`` for text vectors of size ``dim``."""
        super().__init__(graphs)
        self.role = nn.Parameter(torch.zeros(graphs.size, dim))
        self.embed = nn.Linear(2 * dim, 128)
        self.score = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
        initialise(self.embed, seed)
        initialise(self.score, seed + 1)

    def score_edges(self, features: Features, kept: Tensor, adjacency: Tensor) -> Tensor:
        """See :meth:`GraphScorer.score_edges`; ``kept`` is not looked at."""
        tasks, count, roles, _ = adjacency.shape
        averaging = adjacency + torch.eye(roles)
        averaging = averaging / averaging.sum(dim=-1, keepdim=True)
        role = features.role + self.role
        for _ in range(2):
            role = (averaging @ role).relu()
        question = features.query.relu()[:, None].expand(tasks, count, -1)
        hidden = self.embed(torch.cat([role.mean(dim=2), question], dim=-1))
        scores: Tensor = self.score(hidden).view(tasks, count)
        return scores


def new_classifier(form: ClassifierForm, dim: int, graphs: GraphPool, *, seed: int) -> GraphScorer:
    """Return an untrained classifier of ``form`` for text vectors of size ``dim``."""
    forms = {"convolution": GraphClassifier, "reference": ReferenceClassifier}
    return forms[form](dim, graphs, seed=seed)
