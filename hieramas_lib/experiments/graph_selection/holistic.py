"""Choosing whole graphs against choosing edges, as labels grow (design 8, second claim).

The claim, reconstructed (the paper's own statement is not at hand), and marked as ours. A pool has
K graphs g of worth U(g), seen with noise of standard deviation sigma in n runs drawn uniformly.

    Per edge: give each edge e a worth w_e and choose the graph with the largest sum over its
    edges. As n grows, w tends to the best additive fit of U, and the regret to
    max U - U(argmax of the fit), see :func:`additive_regret`. It depends on U alone: no number of
    runs removes it, and it is 0 if edges add up on the pool.

    Holistic: choose the largest of K sample means, of n / K runs each. The expected regret is at
    most 2 sigma sqrt(2 ln(2K) K / n): an error of estimation, which vanishes as n grows.

    So which is better depends on n: edges are fewer than graphs, and learned from fewer runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.graph_selection.worlds import (
    SETTINGS,
    Floats,
    Questions,
    draw_labels,
    shipped_world,
)
from hieramas_lib.learning.selectors import EdgeScores, adjacency, regress_edges, reinforce_edges
from hieramas_lib.teams.graph_pool import GraphPool

if TYPE_CHECKING:
    import pandas as pd

WHOLE: Final = "whole graphs"


def additive_regret(worth: Floats, graphs: GraphPool) -> float:
    """Return the regret of the best additive fit of ``worth``, ``[graphs]``; it never vanishes."""
    edges = adjacency(graphs).flatten(1).numpy()
    inputs = np.column_stack([np.ones(len(edges)), edges])
    fitted = inputs @ np.linalg.lstsq(inputs, worth, rcond=None)[0]
    return float(worth.max() - worth[fitted.argmax()])


def growth_rows(
    train: Questions, worth: Floats, graphs: GraphPool, budgets: Sequence[int], *, each: int,
    seed: int,
) -> list[dict[str, object]]:  # fmt: skip
    """Return the regret of one graph for all questions, chosen either way from growing labels.

    Args:
        train: Questions to label.
        worth: Mean utility of every graph on other questions, ``[graphs]``.
        graphs: The pool.
        budgets: Numbers of labelled questions.
        each: Graphs run on each.
        seed: Of the graphs drawn.
    """
    rows: list[dict[str, object]] = []
    for queries in budgets:
        labels = draw_labels(train, queries, each, len(graphs), seed)
        seen = train.features(queries)
        chosen = {
            WHOLE: labels.best_on_average(len(graphs)),
            "edges, REINFORCE": _best(reinforce_edges(labels, seen, graphs), graphs),
            "edges, regressed": _best(
                regress_edges(labels, seen, graphs, similarity=False), graphs
            ),
        }
        for choice, graph in chosen.items():
            regret = float(worth.max() - worth[graph])
            rows.append({"choice": choice, "labels": queries * each, "regret": regret})
    return rows


@dataclass(frozen=True, slots=True)
class Growth:
    """Regret of one graph for all questions as labels grow, in several worlds.

    Attributes:
        table: ``choice, labels, seeds, regret, regret_low, regret_high``, over worlds.
        limit: Mean over worlds of the regret that edges can never lose.
    """

    table: "pd.DataFrame"
    limit: float

    def sentence(self) -> str:
        """Say which way to choose has the lower regret with the most labels."""
        most = self.table["labels"].max()
        last = self.table[self.table["labels"] == most].set_index("choice")["regret"]
        edges = last.drop(WHOLE)
        holds = last[WHOLE] < edges.min()
        claim = "shows here." if holds else "does not show here: edges do as well or better."
        return (
            f"Whole graphs against edges at {most:,} labelled runs: regret {last[WHOLE]:.3f} "
            f"against {edges.min():.3f} ({edges.idxmin()}). The second claim {claim} The regret "
            f"that edges can never lose is {self.limit:.3f} in these worlds."
        )


def growth_in(
    seeds: Iterable[int], budgets: Sequence[int], *, graphs: int, each: int = 5
) -> Growth:
    """Let labels grow in several worlds of the cheap team, whose decision reads all.

    Args:
        seeds: Of the worlds, and of the labels drawn in each.
        budgets: Numbers of labelled questions.
        graphs: Size of the pool.
        each: Graphs run on each question.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    limits = []
    for seed in seeds:
        world = shipped_world(SETTINGS[-1], "all", seed, graphs=graphs)
        worth = world.testing(10).utility[:, :graphs].mean(axis=0)
        limits.append(additive_regret(worth, world.graphs))
        train = world.training_for(max(budgets), seed)
        found = growth_rows(train, worth, world.graphs, budgets, each=each, seed=seed)
        rows += [{"seed": seed, **row} for row in found]
    table = over_seeds(pd.DataFrame(rows), ["choice", "labels"], ["regret"])
    return Growth(table, sum(limits) / len(limits))


def _best(scores: EdgeScores, graphs: GraphPool) -> int:
    return int(torch.einsum("uv,guv->g", scores.weight, adjacency(graphs)).argmax())
