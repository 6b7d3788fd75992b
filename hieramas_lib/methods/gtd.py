"""GTD, guided topology diffusion, in a small form (Jiang et al. 2025, arXiv 2510.07799).

1. Every training question is run on six graphs: full, chain, star and three random ones of the
   pool. What is recorded is the graph that was run.
2. Two networks learn from these runs:

       proxy         f(G, q) = (P(right), cost)    loss: cross-entropy + squared error
       edge model    P(i -> j | q)                 loss: cross-entropy to the graphs that were right

3. For a question, candidates are drawn from the edge model, and the one that the proxy thinks
   most of runs:

       G* = arg max over candidates of  P(right) - 0.01 · cost in reference calls

The paper's generator denoises in 50 steps with 5 candidates at each; at eight roles and fewer, as
many candidates at once from a learned edge model give nearly the whole effect, so there is no chain
of steps here. Candidates are DAGs (:mod:`hieramas_lib.learning.edge_sampling`); in the published
code graphs are stored as asked for, while the executor leaves out edges that close a cycle, so that
its proxy learns from graphs that never ran. Candidates are drawn at test too, from seed and
question alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.edge_sampling import draw_edges, likely_first
from hieramas_lib.learning.role_graphs import SHAPES, matrix, shaped
from hieramas_lib.methods.fixed_graphs import plain_team
from hieramas_lib.methods.graph_learner import GraphLearner, at_least, correctness
from hieramas_lib.methods.gtd_network import GraphRuns, GTDNetwork
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology
from hieramas_lib.teams.utility import PRICE_OF_A_CALL


@dataclass(frozen=True, slots=True)
class GTDSettings:
    """How it is trained, and how a graph is chosen.

    Attributes:
        llm: The LLM of all agents.
        random_graphs: Graphs of the pool run on each training question, besides three fixed ones.
        epochs: Passes over the runs.
        batch: Runs a step.
        learning_rate, weight_decay: Of Adam.
        candidates: Graphs drawn for a question; 250 are the paper's 50 steps of 5.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    llm: str
    random_graphs: int = 3
    epochs: int = 5
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 3e-3
    candidates: int = 250

    def __post_init__(self) -> None:
        at_least(self, random_graphs=0, epochs=1, batch=1, learning_rate=0, weight_decay=0)
        at_least(self, candidates=1)


class GTD(GraphLearner[GTDSettings, GTDNetwork]):
    """The method of arXiv 2510.07799 in a small form, behind the common protocol."""

    name = "GTD"

    def untrained(self) -> GTDNetwork:
        """Return the networks that :meth:`fit` begins with."""
        return GTDNetwork(self.role_vectors(), seed=self.seed)

    async def fit(self, train: Sequence[Task], val: Sequence[Task] = ()) -> None:
        """Learn anew from ``train``; ``val`` is not used."""
        self.start(train)
        runs = await self.collect(train)
        self._learn(runs)
        self.trained = True

    async def collect(self, train: Sequence[Task]) -> GraphRuns:
        """Run every question on its graphs (phase 1); runs without a verdict are left out."""
        rng = np.random.default_rng(self.seed)
        pool, size = self.space.graphs, len(self.space.roles.roles)
        fixed = [shaped(shape, size) for shape in SHAPES]
        each = min(self.settings.random_graphs, len(pool))
        pairs: list[tuple[Task, Topology]] = []
        for task in train:
            random = [pool[int(i)] for i in rng.choice(len(pool), size=each, replace=False)]
            pairs += [(task, graph) for graph in dict.fromkeys([*fixed, *random])]
        teams = [plain_team(self.space, self.settings.llm, graph) for _, graph in pairs]
        rollouts = await self.run(teams, [(task, 0) for task, _ in pairs])
        self.note(rollouts)
        right = torch.from_numpy(correctness(rollouts)).float()
        reference = self.llms.pool.reference_cost
        runs = GraphRuns(
            query=self.queries([task for task, _ in pairs]),
            graph=torch.stack([matrix(graph) for _, graph in pairs]),
            right=right,
            cost=torch.tensor([r.usage.cost_usd / reference for r in rollouts]),
        )
        return runs.select((~right.isnan()).nonzero().flatten())

    def team(self, task: Task) -> Team:
        """Return the team on the candidate that the proxy thinks most of."""
        graphs, query = self.candidates(task), self.queries([task])
        with torch.no_grad():
            right, cost = self.started.proxy(query.expand(len(graphs), -1), graphs.float())
        best = (right.sigmoid() - PRICE_OF_A_CALL * cost).argmax()
        edges = tuple((u, v) for u, v in graphs[best].nonzero().tolist())
        return plain_team(self.space, self.settings.llm, Topology(graphs.shape[1], edges))

    def candidates(self, task: Task) -> Tensor:
        """Draw the distinct candidates for ``task``, ``[graphs, roles, roles]``."""
        with torch.no_grad():
            logits = self.started.edge_logits(self.queries([task]))
        many = logits.expand(self.settings.candidates, -1, -1)
        drawn = draw_edges(many, likely_first(many), self.draws_for(task))
        return drawn.edges.unique(dim=0)

    def _learn(self, runs: GraphRuns) -> None:
        """Fit proxy and edge model (phase 2)."""
        how, network = self.settings, self.started
        generator = torch.Generator().manual_seed(self.seed)
        optimizer = torch.optim.Adam(
            network.parameters(), lr=how.learning_rate, weight_decay=how.weight_decay
        )
        for _ in range(how.epochs):
            for rows in torch.randperm(len(runs.right), generator=generator).split(how.batch):
                terms = network.losses(runs.select(rows))
                loss = torch.stack([*terms.values()]).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
