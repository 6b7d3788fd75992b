"""GDesigner as its paper describes it (Zhang et al. 2025, arXiv 2410.11782).

Agents and a node for the task, which is tied to all of them, go through a graph convolution over
an anchor graph into a Gaussian latent vector each; a decoder scores every ordered pair:

    q(h_i) = N(mu_i, diag(sigma_i^2)),   mu, log sigma = GNN(X, A_anchor)
    S_ij = sigmoid(FFN([h_i; h_j; h_task]))            probability that j reads i
    loss = - E[u(G) log P(G)]                          what the team's answer is worth
           + a · 1/2 ||S - A_anchor||_F^2              stay near a plain graph
           + z · ||S||_*                               few independent patterns: sparsity
           + k · KL(q(h) || N(0, I))                   the variational encoder's own term

with the mean over pairs for the squared norm and over roles for the nuclear norm, so that the
weights do not depend on the size. u is 1 for a right answer, less the mean of the question's other
rollouts (our baseline: the paper's u alone gives wrong answers no say). The paper's factorised
refinement S = Z W Z^T is left out, so that the nuclear norm is of S itself.

Cycles cannot be drawn: see :mod:`hieramas_lib.learning.edge_sampling`; more probable edges are
visited first, so that the direction is learned. At test nothing is drawn: h is its mean, and an
edge is taken where S > 1/2. How the published code differs: :mod:`.gdesigner_code`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.credit import leave_one_out
from hieramas_lib.learning.edge_sampling import draw_edges, likely_first
from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.learning.role_graphs import SHAPES, Shape, averaging, matrix, shaped
from hieramas_lib.methods.fixed_graphs import plain_team
from hieramas_lib.methods.graph_learner import GraphLearner, at_least, batches, correctness
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.team import Team


@dataclass(frozen=True, slots=True)
class GDesignerWeights:
    """Weights of the loss terms, against a right answer, which counts 1.

    Raises:
        ConfigError: one is negative.
    """

    anchor: float = 0.01
    sparsity: float = 0.01
    kl: float = 0.001

    def __post_init__(self) -> None:
        at_least(self, anchor=0, sparsity=0, kl=0)


@dataclass(frozen=True, slots=True)
class GDesignerSettings:
    """How it is trained.

    Attributes:
        llm: The LLM of all agents.
        anchor: The plain graph over the roles in declared order.
        passes: Times each training question is used.
        batch: Questions a batch.
        group: Rollouts a question and batch; at least 2, for the baseline.
        learning_rate: Of Adam.
        weights: Of the loss terms.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    llm: str
    anchor: Shape = "chain"
    passes: int = 4
    batch: int = 4
    group: int = 4
    learning_rate: float = 3e-3
    weights: GDesignerWeights = field(default_factory=GDesignerWeights)

    def __post_init__(self) -> None:
        at_least(self, passes=1, batch=1, group=2, learning_rate=0)
        if self.anchor not in SHAPES:
            raise ConfigError(f"anchor: {self.anchor!r} is not one of {', '.join(SHAPES)}")


@dataclass(frozen=True, slots=True)
class Sketch:
    """What the network makes of some questions.

    Attributes:
        logits: Of j reading i, ``[tasks, roles, roles]``.
        mean, log_sd: Of the latent vectors, the task's last, ``[tasks, roles + 1, latent]``.
    """

    logits: Tensor
    mean: Tensor
    log_sd: Tensor


class GDesignerNetwork(nn.Module):
    """Variational encoder over agents and task, and the decoder of edges."""

    roles: Tensor
    anchor: Tensor
    mixing: Tensor

    @own_draws()
    def __init__(
        self, roles: Tensor, anchor: Tensor, *, seed: int, hidden: int = 16, latent: int = 16
    ) -> None:
        """Make a network for role vectors ``[roles, dim]`` and an anchor ``[roles, roles]``."""
        super().__init__()
        self.register_buffer("roles", roles)
        self.register_buffer("anchor", anchor)
        with_task = torch.ones(len(roles) + 1, len(roles) + 1)
        with_task[:-1, :-1] = anchor
        self.register_buffer("mixing", averaging(with_task))
        dim = roles.shape[1]
        self.hidden = nn.Linear(2 * dim, hidden)
        self.mean = nn.Linear(2 * hidden, latent)
        self.log_sd = nn.Linear(2 * hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(3 * latent, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        initialise(self, seed)

    def forward(self, queries: Tensor, generator: torch.Generator | None) -> Sketch:
        """Score the edges for ``queries``, ``[tasks, dim]``; without a generator, at the mean."""
        agents = (self.roles - self.roles.mean(dim=0)).expand(len(queries), -1, -1)
        nodes = torch.cat([agents, queries[:, None]], dim=1) * queries.shape[1] ** 0.5
        hidden = self.hidden(self._with_neighbours(nodes)).relu()
        state = self._with_neighbours(hidden)
        mean, log_sd = self.mean(state), self.log_sd(state)
        latent = mean
        if generator is not None:
            latent = mean + log_sd.exp() * torch.randn(mean.shape, generator=generator)
        count = len(self.roles)
        agent, task = latent[:, :-1], latent[:, -1]
        pairs = torch.cat(
            [
                agent[:, :, None].expand(-1, -1, count, -1),
                agent[:, None].expand(-1, count, -1, -1),
                task[:, None, None].expand(-1, count, count, -1),
            ],
            dim=-1,
        )
        return Sketch(self.decoder(pairs).squeeze(-1), mean, log_sd)

    def anchor_loss(self, sketch: Sketch) -> Tensor:
        """Return half the mean squared distance of S from the anchor, over pairs."""
        return 0.5 * (self._probabilities(sketch) - self.anchor)[:, self._pairs].square().mean()

    def sparsity_loss(self, sketch: Sketch) -> Tensor:
        """Return the nuclear norm of S, divided by the number of roles."""
        norm = torch.linalg.matrix_norm(self._probabilities(sketch), "nuc")
        return norm.mean() / len(self.roles)

    def kl_loss(self, sketch: Sketch) -> Tensor:
        """Return the divergence of the latent vectors from a standard normal, over numbers."""
        variance = (2 * sketch.log_sd).exp()
        return 0.5 * (variance + sketch.mean.square() - 1 - 2 * sketch.log_sd).mean()

    def _with_neighbours(self, nodes: Tensor) -> Tensor:
        return torch.cat([nodes, self.mixing @ nodes], dim=-1)

    @property
    def _pairs(self) -> Tensor:
        return ~torch.eye(len(self.roles), dtype=torch.bool)

    def _probabilities(self, sketch: Sketch) -> Tensor:
        return sketch.logits.sigmoid() * self._pairs


class GDesigner(GraphLearner[GDesignerSettings, GDesignerNetwork]):
    """The method of arXiv 2410.11782 as the paper has it, behind the common protocol."""

    name = "GDesigner"

    def untrained(self) -> GDesignerNetwork:
        """Return the network that :meth:`fit` begins with."""
        anchor = shaped(self.settings.anchor, len(self.space.roles.roles))
        return GDesignerNetwork(self.role_vectors(), matrix(anchor), seed=self.seed)

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Learn anew from ``train``; ``val`` is not used."""
        self.start(train)
        how, network = self.settings, self.started
        optimizer = torch.optim.Adam(network.parameters(), lr=how.learning_rate)
        generator = torch.Generator().manual_seed(self.seed)
        for attempts in batches(
            train, passes=how.passes, batch=how.batch, group=how.group, seed=self.seed
        ):
            sketch = network(self.queries([task for task, _ in attempts]), generator)
            drawn = draw_edges(sketch.logits, likely_first(sketch.logits), generator)
            teams = [plain_team(self.space, how.llm, graph) for graph in drawn.topologies()]
            rollouts = await self.run(teams, attempts)
            advantage = leave_one_out(correctness(rollouts), how.group)
            gain = torch.from_numpy(advantage).float() * drawn.log_prob(sketch.logits)
            loss = (
                -gain.mean()
                + how.weights.anchor * network.anchor_loss(sketch)
                + how.weights.sparsity * network.sparsity_loss(sketch)
                + how.weights.kl * network.kl_loss(sketch)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.note(rollouts, drawn.refused)
        self.trained = True

    def edge_probabilities(self, task: Task) -> Tensor:
        """Return the probability S of every edge at test, ``[roles, roles]``."""
        with torch.no_grad():
            sketch = self.started(self.queries([task]), None)
        return sketch.logits[0].sigmoid().fill_diagonal_(0.0)

    def team(self, task: Task) -> Team:
        """Return the team on the graph of all edges more probable than not."""
        with torch.no_grad():
            logits = self.started(self.queries([task]), None).logits
        (graph,) = draw_edges(logits, likely_first(logits), None).topologies()
        return plain_team(self.space, self.settings.llm, graph)
