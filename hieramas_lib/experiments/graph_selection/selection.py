"""Train every way to choose a graph on the same labels, and measure its regret."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from hieramas_lib.experiments.graph_selection.optimum import Optimum, optimum
from hieramas_lib.experiments.graph_selection.worlds import (
    Questions,
    SelectionWorld,
    draw_labels,
    everybody,
)
from hieramas_lib.learning.classifier import GraphScorer, new_classifier
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.learning.selectors import (
    EdgeScores,
    adjacency,
    densest,
    regress_edges,
    reinforce_edges,
)
from hieramas_lib.learning.stage2 import REFERENCE, Stage2Settings, train_classifier
from hieramas_lib.teams.graph_pool import GraphPool

Choice = NDArray[np.intp]
"""Index into the graph pool for every original test question; copies get the same."""

Selector = Callable[[GraphLabels, Questions, Questions, GraphPool, int], Choice]
"""From labels of the first training questions, those, the test questions, pool and seed."""


def with_settings(settings: Stage2Settings) -> Selector:
    """Return the way to choose by a classifier that is trained in this way."""

    def select(
        labels: GraphLabels, train: Questions, test: Questions, graphs: GraphPool, seed: int
    ) -> Choice:
        classifier = trained(settings, labels, train, graphs, seed)
        return choose(classifier, test.distinct, len(graphs))

    return select


def _edges(fit: Callable[[GraphLabels, Questions, GraphPool], EdgeScores]) -> Selector:
    def select(
        labels: GraphLabels, train: Questions, test: Questions, graphs: GraphPool, seed: int
    ) -> Choice:
        scores = fit(labels, train, graphs)(test.distinct, adjacency(graphs))
        return scores.argmax(dim=1).numpy()

    return select


def _fixed(
    labels: GraphLabels, train: Questions, test: Questions, graphs: GraphPool, seed: int
) -> Choice:
    return np.full(test.originals, labels.best_on_average(len(graphs)))


FIXED: Final = "best fixed, same labels"
CLASSIFIER: Final = "classifier"
TRUE_FIXED: Final = "best fixed, true"

SELECTORS: Final[Mapping[str, Selector]] = {
    FIXED: _fixed,
    "edges, REINFORCE": _edges(
        lambda labels, train, graphs: reinforce_edges(
            labels, train.features(len(labels.graphs)), graphs
        )
    ),
    "edges x similarity, REINFORCE": _edges(
        lambda labels, train, graphs: reinforce_edges(
            labels, train.features(len(labels.graphs)), graphs, similarity=True
        )
    ),
    "edges, regressed": _edges(
        lambda labels, train, graphs: regress_edges(
            labels, train.features(len(labels.graphs)), graphs, similarity=False
        )
    ),
    "edges x similarity": _edges(
        lambda labels, train, graphs: regress_edges(
            labels, train.features(len(labels.graphs)), graphs, similarity=True
        )
    ),
    CLASSIFIER: with_settings(Stage2Settings()),
    "classifier, top2": with_settings(replace(Stage2Settings(), rule="top2")),
    "classifier, reference": with_settings(REFERENCE),
}
"""Ways to choose that learn from labels."""


def trained(
    settings: Stage2Settings, labels: GraphLabels, train: Questions, graphs: GraphPool, seed: int
) -> GraphScorer:
    """Return a classifier trained on ``labels`` of the first questions of ``train``."""
    features = train.features(len(labels.graphs))
    classifier = new_classifier(settings.form, features.query.shape[1], graphs, seed=seed)
    train_classifier(classifier, features, everybody(features), labels, settings, seed)
    return classifier


def choose(classifier: GraphScorer, features: Features, graphs: int) -> Choice:
    """Return the graph of the pool that scores highest, for every task of ``features``."""
    every = torch.arange(graphs).expand(len(features.query), graphs)
    with torch.no_grad():
        scores = classifier(features, everybody(features), every)
    return scores.argmax(dim=1).numpy()


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How much is labelled, and how often that is repeated.

    Attributes:
        budgets: Numbers of labelled queries, ascending.
        each: Graphs run on each of them, M.
        seeds: Repetitions, each with questions, graphs and classifier weights of its own.
    """

    budgets: tuple[int, ...] = (72, 288, 1152)
    each: int = 5
    seeds: int = 3


def regret_rows(
    world: SelectionWorld, plan: LabelPlan, *, test_copies: int,
    selectors: Mapping[str, Selector] = SELECTORS,
) -> list[dict[str, object]]:  # fmt: skip
    """Return utility and regret of every way to choose, by number of queries and label seed.

    Regret is against the best graph for each subject, on the same questions. What needs no labels
    has 0 queries.
    """
    test = world.testing(test_copies)
    best = optimum(test, len(world.graphs))
    rows = [
        _row(name, 0, 0, utility, best) for name, utility in _unlearned(test, world.graphs, best)
    ]
    for label_seed in range(plan.seeds):
        train = world.training_for(max(plan.budgets), label_seed)
        for queries in plan.budgets:
            labels = draw_labels(train, queries, plan.each, len(world.graphs), label_seed)
            for name, select in selectors.items():
                choice = select(labels, train, test, world.graphs, label_seed)
                rows.append(_row(name, queries, label_seed, test.utility_of(choice), best))
    return rows


def _row(
    selector: str, queries: int, label_seed: int, utility: float, best: Optimum
) -> dict[str, object]:
    return {
        "selector": selector,
        "queries": queries,
        "label_seed": label_seed,
        "utility": utility,
        "regret": float(best.by_subject.mean()) - utility,
    }


def _unlearned(test: Questions, graphs: GraphPool, best: Optimum) -> list[tuple[str, float]]:
    count = len(graphs)
    return [
        ("best for each subject", float(best.by_subject.mean())),
        (TRUE_FIXED, float(best.fixed.mean())),
        ("random", float(test.utility[:, :count].mean())),
        ("full", float(test.utility[:, count].mean())),
        ("densest of the pool", float(test.utility[:, densest(graphs)].mean())),
    ]
