"""Stage 2 labels: how well different graphs do on one question, under the frozen policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import PolicyLearner, greedy
from hieramas_lib.learning.space import Runner, TeamSpace
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.utility import utility

LabelRule = Literal["pairwise", "top2"]


@dataclass(frozen=True, slots=True)
class GraphLabels:
    """Utilities of some graphs on every training question.

    Attributes:
        graphs: Indices into the graph pool, ``[tasks, graphs a task]``.
        utility: Utility of the team on that graph, same shape; NaN where there was no verdict
            (call failed, grader trouble), as an error of ours says nothing about a graph.
        correct: Whether its answer was right, same shape.
    """

    graphs: Tensor
    utility: Tensor
    correct: Tensor

    @property
    def informative(self) -> Tensor:
        """Which questions tell graphs apart at all, ``[tasks]``: utilities are not all equal."""
        high = self.utility.nan_to_num(nan=-torch.inf).amax(dim=1)
        low = self.utility.nan_to_num(nan=torch.inf).amin(dim=1)
        return high > low

    @property
    def contested(self) -> Tensor:
        """Which questions some graphs get right and others wrong, ``[tasks]``."""
        wrong = ~self.correct & ~self.utility.isnan()
        return self.correct.any(dim=1) & wrong.any(dim=1)

    def best_on_average(self, graphs: int) -> int:
        """Return the graph with the highest mean utility among ``graphs``, if run twice or more.

        The selector to beat: one graph for all questions, chosen from the same labels.
        """
        known = ~self.utility.isnan()
        flat, utility = self.graphs[known], self.utility[known]
        runs = torch.bincount(flat, minlength=graphs)
        mean = torch.bincount(flat, weights=utility, minlength=graphs) / runs.clamp(min=1)
        enough = runs >= min(2, int(runs.max()))
        return int(torch.where(enough, mean, -torch.inf).argmax())

    def select(self, rows: Tensor) -> "GraphLabels":
        """Return the labels of the questions in ``rows``."""
        return GraphLabels(self.graphs[rows], self.utility[rows], self.correct[rows])


async def label_graphs(
    policy: PolicyLearner,
    space: TeamSpace,
    tasks: Sequence[Task],
    llms: LLMService,
    featurizer: Featurizer,
    graphs_per_task: int,
    seed: int,
    run: Runner | None = None,
) -> GraphLabels:
    """Run ``graphs_per_task`` distinct graphs of the pool on every task and score each.

    The LLMs are the arg-max of the policy, the same rule as at test. Fewer graphs are run
    where the pool is smaller. ``run`` makes the rollouts, by default by asking ``llms``.
    """
    run = run or partial(run_batch, llms=llms)
    rng = np.random.default_rng(seed)
    pool_size = len(space.graphs)
    each = min(graphs_per_task, pool_size)
    with torch.no_grad():
        actions = greedy(policy(featurizer(tasks)))
    graphs = np.array([rng.choice(pool_size, size=each, replace=False) for _ in tasks])
    jobs = [
        Job(space.team(actions[i], int(graph)), task)
        for i, task in enumerate(tasks)
        for graph in graphs[i]
    ]
    rollouts = await run(jobs)
    worth = [
        float("nan") if r.grade.status == "error" else utility(r, llms.pool.reference_cost)
        for r in rollouts
    ]
    right = [r.grade.correct for r in rollouts]
    return GraphLabels(
        graphs=torch.from_numpy(graphs),
        utility=torch.tensor(worth).view(len(tasks), each),
        correct=torch.tensor(right).view(len(tasks), each),
    )


def label_loss(scores: Tensor, labels: GraphLabels, rule: LabelRule) -> Tensor:
    """Return the loss of ``scores``, shaped like ``labels.graphs``, under a label rule."""
    losses = {"pairwise": pairwise_loss, "top2": top2_loss}
    return losses[rule](scores, labels)


def pairwise_loss(scores: Tensor, labels: GraphLabels) -> Tensor:
    """Return the logistic loss over pairs of graphs of one question, weighted by the gap.

    sum over pairs with U_g > U_h of (U_g - U_h) · log(1 + exp(s_h - s_g)) / sum of the gaps.
    Ties weigh nothing, and a pair that differs in cost alone weighs as little as it matters.
    """
    gap = labels.utility[:, :, None] - labels.utility[:, None, :]
    gap = gap.nan_to_num(nan=0.0).clamp(min=0)
    margin = scores[:, :, None] - scores[:, None, :]
    return (gap * torch.nn.functional.softplus(-margin)).sum() / gap.sum().clamp(min=1e-9)


def top2_loss(scores: Tensor, labels: GraphLabels) -> Tensor:
    """Return the paper's loss: the two best graphs of a question, if right, are positive.

    Binary cross-entropy with positives weighted by #negative / #positive; questions whose
    graphs all do the same are left out, as their order says nothing.
    """
    ranked = labels.utility.nan_to_num(nan=-torch.inf)
    best = torch.zeros_like(scores).scatter(1, ranked.topk(min(2, scores.shape[1])).indices, 1.0)
    used = labels.informative[:, None] & ~labels.utility.isnan()
    target = (best * labels.correct)[used]
    positives = target.sum()
    if positives == 0:
        return scores.sum() * 0
    weight = (target.numel() - positives) / positives
    return torch.nn.functional.binary_cross_entropy_with_logits(
        scores[used], target, pos_weight=weight
    )
