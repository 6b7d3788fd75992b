"""The graph classifier of stage 2: how good is a graph for a question (HieraMAS, f_G)."""

import torch
from torch import Tensor, nn

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.initialisation import initialise
from hieramas_lib.teams.graph_pool import GraphPool


class GraphClassifier(nn.Module):
    """Score whole graphs: two graph convolutions along the edges, mean over roles, an MLP.

    A node sees its role, the question, how well they match, and whether the policy keeps it;
    messages flow from predecessor to successor, as texts do in the team. The weights on a
    node's own state and on its predecessors' are separate (Morris et al. 2019).
    """

    adjacency: Tensor

    def __init__(self, dim: int, graphs: GraphPool, *, seed: int, hidden: int = 32) -> None:
        """Make a classifier over ``graphs`` for text vectors of size ``dim``."""
        from torch_geometric.nn.dense import DenseGraphConv  # seconds to import

        super().__init__()
        stacked = torch.stack([torch.from_numpy(t.adjacency()).float() for t in graphs])
        self.register_buffer("adjacency", stacked)
        self.role = nn.Linear(dim, hidden)
        self.query = nn.Linear(dim, hidden)
        self.node = nn.Linear(2 * hidden + 2, hidden)
        self.convolutions = nn.ModuleList(
            [DenseGraphConv(hidden, hidden, aggr="add") for _ in range(2)]
        )
        self.score = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        initialise(self, seed)

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
        tasks, roles = features.match.shape
        per_node = torch.cat(
            [
                self.role(features.role).relu().expand(tasks, roles, -1),
                self.query(features.query).relu()[:, None].expand(tasks, roles, -1),
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
        for convolution in self.convolutions:
            state = convolution(state, incoming).relu()
        scores: Tensor = self.score(state.mean(dim=1)).view(tasks, count)
        return scores
