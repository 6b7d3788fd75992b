"""GDesigner as its published code runs it, faults included; for comparison only.

    H = log softmax over features of GCN(X)              384 numbers a role, dropout in training
    Z = MLP(H),  scores = Z Z^T                          symmetric
    S = sigmoid(min-max scaled to [-1, 1] of scores)     so within [0.269, 0.731]
    loss = - mean over the batch of (right or wrong) · log P(G)

What the paper has and this lacks: Gaussian latent, anchor and sparsity terms, a trained decoder
(the MLP is not given to the optimiser, so it stays at its random start). What it does besides: no
edge can be made sure or impossible; scores are symmetric, so that visiting pairs row by row decides
about direction, and an edge that would close a cycle is left out, which ``history`` counts
(``refused``); wrong answers teach nothing, right ones pull up whatever was drawn; it trains on the
first 40 questions in file order, an incomplete last batch dropped; and it draws at test, too. The
probability of what is drawn is right all the same: a pair is refused before it is drawn.

Kept from the library: grading and execution, which are not the method's. The role graph of the
published prompt sets is our anchor, the chain in declared order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.edge_sampling import EdgeDraws, draw_edges, row_order
from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.learning.role_graphs import averaging, dropped, matrix, shaped
from hieramas_lib.methods.fixed_graphs import plain_team
from hieramas_lib.methods.graph_learner import GraphLearner, at_least, correctness
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.team import Team


@dataclass(frozen=True, slots=True)
class GDesignerCodeSettings:
    """How the published scripts train it.

    Attributes:
        llm: The LLM of all agents.
        questions: Trained on so many, the first ones.
        batch: Questions a batch, one rollout each.
        learning_rate: Of Adam.
        dropout: Share of the hidden numbers that are left out in training.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    llm: str
    questions: int = 40
    batch: int = 4
    learning_rate: float = 0.1
    dropout: float = 0.5

    def __post_init__(self) -> None:
        at_least(self, questions=1, batch=1, learning_rate=0, dropout=0)
        if self.dropout >= 1:
            raise ConfigError(f"dropout: below 1, got {self.dropout}")


class GDesignerCodeNetwork(nn.Module):
    """Two graph convolutions over the role graph, and a perceptron that is never trained."""

    roles: Tensor
    mixing: Tensor

    @own_draws()
    def __init__(self, roles: Tensor, graph: Tensor, *, seed: int, dropout: float = 0.5) -> None:
        """Make a network for role vectors ``[roles, dim]`` and a role graph ``[roles, roles]``."""
        super().__init__()
        self.register_buffer("roles", roles)
        self.register_buffer("mixing", averaging(graph))
        dim = roles.shape[1]
        self.convolutions = nn.ModuleList([nn.Linear(2 * dim, 16), nn.Linear(16, dim)])
        self.decoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 16))
        self._dropout = dropout
        initialise(self, seed)

    def forward(self, queries: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits ``[tasks, roles, roles]`` in [-1, 1]; a generator means training."""
        count = len(self.roles)
        agents = self.roles.expand(len(queries), -1, -1)
        nodes = torch.cat([agents, queries[:, None].expand(-1, count, -1)], dim=-1)
        first, second = self.convolutions
        hidden = dropped(first(self.mixing @ nodes).relu(), self._dropout, generator)
        vectors = self.decoder(second(self.mixing @ hidden).log_softmax(-1))
        scores = vectors @ vectors.transpose(1, 2)
        low, high = (f(scores, dim=(1, 2), keepdim=True) for f in (torch.amin, torch.amax))
        return 2 * (scores - low) / (high - low).clamp(min=1e-12) - 1


class GDesignerCode(GraphLearner[GDesignerCodeSettings, GDesignerCodeNetwork]):
    """The published program of arXiv 2410.11782, behind the common protocol."""

    name = "GDesigner, their code"

    def untrained(self) -> GDesignerCodeNetwork:
        """Return the network that :meth:`fit` begins with."""
        graph = matrix(shaped("chain", len(self.space.roles.roles)))
        return GDesignerCodeNetwork(
            self.role_vectors(), graph, seed=self.seed, dropout=self.settings.dropout
        )

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Learn anew from the first questions of ``train``; ``val`` is not used."""
        self.start(train)
        how, network = self.settings, self.started
        # Only the convolutions: the decoder is left out, as in the published scripts.
        optimizer = torch.optim.Adam(network.convolutions.parameters(), lr=how.learning_rate)
        generator = torch.Generator().manual_seed(self.seed)
        used = train[: how.questions]
        for start in range(0, len(used) - how.batch + 1, how.batch):
            tasks = used[start : start + how.batch]
            logits = network(self.queries(tasks), generator)
            drawn = draw_edges(logits, row_order(*logits.shape[:2]), generator)
            rollouts = await self.run(self._teams(drawn), [(task, 0) for task in tasks])
            right = torch.from_numpy(correctness(rollouts)).float().nan_to_num(nan=0.0)
            loss = -(right * drawn.log_prob(logits)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.note(rollouts, drawn.refused)
        self.trained = True

    def edge_probabilities(self, task: Task) -> Tensor:
        """Return the probability of every edge, if it is not refused, ``[roles, roles]``."""
        with torch.no_grad():
            logits = self.started(self.queries([task]), None)
        return logits[0].sigmoid().fill_diagonal_(0.0)

    def team(self, task: Task) -> Team:
        """Return the team on a graph that is drawn, from seed and question."""
        with torch.no_grad():
            logits = self.started(self.queries([task]), None)
        drawn = draw_edges(logits, row_order(*logits.shape[:2]), self.draws_for(task))
        return self._teams(drawn)[0]

    def _teams(self, drawn: EdgeDraws) -> list[Team]:
        return [plain_team(self.space, self.settings.llm, graph) for graph in drawn.topologies()]
