"""How well trained classifiers order graphs on unseen questions, and whether to trust them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from hieramas_lib.experiments.graph_selection.selection import trained
from hieramas_lib.experiments.graph_selection.worlds import (
    Questions,
    SelectionWorld,
    draw_labels,
    everybody,
)
from hieramas_lib.learning.classifier import GraphScorer
from hieramas_lib.learning.classifier_quality import (
    ReliabilityBin,
    calibration_error,
    fit_temperature,
    margins,
    reliability,
)
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.learning.stage2 import REFERENCE, Stage2Settings

CLASSIFIERS: Final[Mapping[str, Stage2Settings]] = {
    "pairwise": Stage2Settings(),
    "top2": replace(Stage2Settings(), rule="top2"),
    "reference": REFERENCE,
}

GRAPHS_EACH: Final = 5
"""Graphs run on a training query; twice as many on a test question."""

VALIDATION: Final = 288
"""Queries that the temperature is fitted on; none of them is trained on."""


@dataclass(frozen=True)
class Quality:
    """Of one classifier on test questions, about pairs of a right and a wrong graph.

    Attributes:
        auc: Probability that the right graph scores higher.
        error: Expected calibration error of the pairs' order, as trained.
        temperature: Fitted on validation questions.
        error_fitted: Calibration error with that temperature.
        curve: Reliability curve, as trained.
        curve_fitted: With that temperature.
    """

    auc: float
    error: float
    temperature: float
    error_fitted: float
    curve: tuple[ReliabilityBin, ...]
    curve_fitted: tuple[ReliabilityBin, ...]


def measure_quality(
    world: SelectionWorld, queries: int, settings: Stage2Settings, *, test_copies: int, seed: int
) -> Quality:
    """Train a classifier on ``queries`` labelled queries, and measure it on test questions."""
    count = len(world.graphs)
    train = world.training_for(queries + VALIDATION, seed)
    labels = draw_labels(train, queries + VALIDATION, GRAPHS_EACH, count, seed)
    first, last = torch.arange(queries), torch.arange(queries, queries + VALIDATION)
    classifier = trained(settings, labels.select(first), train, world.graphs, seed)
    validation = _scores(classifier, train, labels)[last]
    temperature = fit_temperature(margins(validation, labels.select(last)))
    test = world.testing(test_copies)
    known = draw_labels(test, len(test.utility), 2 * GRAPHS_EACH, count, seed)
    pairs = margins(_scores(classifier, test, known), known)
    curve, fitted = reliability(pairs), reliability(pairs, temperature=temperature)
    return Quality(
        auc=pairs.auc,
        error=calibration_error(curve),
        temperature=temperature,
        error_fitted=calibration_error(fitted),
        curve=curve,
        curve_fitted=fitted,
    )


def trust_curves(ours: Quality, published: Quality) -> dict[str, list[tuple[float, float, float]]]:
    """Return what ``reliability_curves`` draws: both classifiers, and ours with a temperature."""
    curves = {"this classifier": ours.curve, "published": published.curve}
    if ours.temperature != 1.0:
        curves[f"this one, temperature {ours.temperature:.1f}"] = ours.curve_fitted
    return {
        name: [(part.confidence, part.accuracy, part.share) for part in curve]
        for name, curve in curves.items()
    }


def trust_sentence(ours: Quality, published: Quality) -> str:
    """Say how well both classifiers order pairs, and how far ours can be trusted."""
    return (
        f"AUC on pairs of a right and a wrong graph {ours.auc:.2f} (published network and labels "
        f"{published.auc:.2f}); calibration error {ours.error:.3f}, with a fitted temperature "
        f"{ours.error_fitted:.3f}."
    )


def _scores(classifier: GraphScorer, questions: Questions, labels: GraphLabels) -> Tensor:
    features = questions.features(len(labels.graphs))
    with torch.no_grad():
        scores: Tensor = classifier(features, everybody(features), labels.graphs)
    return scores
