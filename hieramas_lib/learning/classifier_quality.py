"""How good a graph classifier's scores are: order of graphs, and trust in the order (design 8).

All figures are about pairs of graphs of one question, one of which was right and the other
wrong: whatever else graphs differ in is worth a hundredth as much. A pair's margin is the right
graph's score minus the wrong one's, and sigmoid(margin) the probability that the classifier
gives to the truth. Every question with such pairs weighs the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.labels import GraphLabels

TEMPERATURES: Final = tuple(2.0 ** (step / 4) for step in range(-16, 25))
"""Tried by :func:`fit_temperature`: 1/16 to 64."""


@dataclass(frozen=True)
class Margins:
    """Pairs of a right and a wrong graph.

    Attributes:
        margin: Score of the right one minus that of the wrong one, ``[pairs]``.
        weight: 1 / pairs of the question, ``[pairs]``; 0 pairs are an error.
    """

    margin: Tensor
    weight: Tensor

    @property
    def auc(self) -> float:
        """Probability that the right graph scores higher, ties counting half."""
        ranked = (self.margin > 0).double() + (self.margin == 0).double() / 2
        return _mean(ranked, self.weight)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Pairs whose more probable order has a probability within a range.

    Attributes:
        confidence: Mean probability of that order.
        accuracy: How often it is the true one.
        share: Of all pairs, by weight.
    """

    confidence: float
    accuracy: float
    share: float


def margins(scores: Tensor, labels: GraphLabels) -> Margins:
    """Return the pairs in ``labels``, with ``scores`` of the same shape ``[tasks, graphs]``.

    Raises:
        ConfigError: no question has both a right and a wrong graph.
    """
    known = ~labels.utility.isnan()
    pair = (labels.correct & known)[:, :, None] & (~labels.correct & known)[:, None, :]
    if not pair.any():
        raise ConfigError("labels: no question has both right and wrong graphs; run more of them")
    difference = (scores[:, :, None] - scores[:, None, :]).double()
    count = pair.sum(dim=(1, 2), keepdim=True).clamp(min=1)
    return Margins(difference[pair], (pair / count)[pair])


def reliability(
    pairs: Margins, *, temperature: float = 1.0, bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return the reliability curve over confidences from 0.5 to 1, empty bins left out."""
    probability = (pairs.margin / temperature).sigmoid()
    confidence = torch.maximum(probability, 1 - probability)
    right = (probability > 0.5).double() + (probability == 0.5).double() / 2
    place = ((confidence - 0.5) * 2 * bins).long().clamp(max=bins - 1)
    curve = []
    for here in (place == i for i in range(bins)):
        if here.any():
            weight = pairs.weight[here]
            share = float(weight.sum() / pairs.weight.sum())
            curve.append(
                ReliabilityBin(_mean(confidence[here], weight), _mean(right[here], weight), share)
            )
    return tuple(curve)


def calibration_error(curve: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: mean distance of confidence and accuracy."""
    return sum(part.share * abs(part.confidence - part.accuracy) for part in curve)


def fit_temperature(pairs: Margins) -> float:
    """Return the temperature under which the pairs are most probable.

    Dividing scores by it changes no choice, only the trust in it; fit it on questions that the
    classifier was not trained on.
    """

    def loss(temperature: float) -> float:
        return _mean(torch.nn.functional.softplus(-pairs.margin / temperature), pairs.weight)

    return min(TEMPERATURES, key=loss)


def _mean(values: Tensor, weight: Tensor) -> float:
    return float((values * weight).sum() / weight.sum())
