"""Order and calibration of scores, on pairs few enough to work out by hand."""

import math

import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.classifier_quality import (
    Margins,
    calibration_error,
    fit_temperature,
    margins,
    reliability,
)
from hieramas_lib.learning.labels import GraphLabels

NAN = float("nan")


def labels(correct: list[list[int]], missing: tuple[int, int] | None = None) -> GraphLabels:
    right = torch.tensor(correct, dtype=torch.bool)
    utility = right.float()
    if missing:
        utility[missing] = NAN
    return GraphLabels(torch.arange(right.shape[1]).expand_as(right), utility, right)


def test_pairs_are_of_a_right_and_a_wrong_graph():
    """Question 0: 2.0 right, 1.0 and 5.0 wrong; question 1 all right; question 2: a tie."""
    scores = torch.tensor([[2.0, 1.0, 5.0], [9.0, 8.0, 7.0], [3.0, 3.0, 0.0]])
    pairs = margins(scores, labels([[1, 0, 0], [1, 1, 1], [1, 0, 1]], missing=(2, 2)))
    assert pairs.margin.tolist() == [1.0, -3.0, 0.0]
    assert pairs.weight.tolist() == [0.5, 0.5, 1.0]
    assert pairs.auc == pytest.approx((0.5 * 1 + 0.5 * 0 + 1 * 0.5) / 2)


def test_without_a_contested_question_there_is_nothing_to_measure():
    with pytest.raises(ConfigError, match="both right and wrong"):
        margins(torch.zeros(1, 2), labels([[1, 1]]))


def pairs_of(margin: list[float]) -> Margins:
    return Margins(torch.tensor(margin).double(), torch.ones(len(margin)).double())


def test_reliability_by_hand():
    """Three pairs with confidence 0.9, two of them in the true order; one without an order."""
    sure = math.log(9)
    curve = reliability(pairs_of([sure, sure, -sure, 0.0]), bins=5)
    assert [(b.confidence, b.accuracy, b.share) for b in curve] == [
        (0.5, 0.5, 0.25),
        (pytest.approx(0.9), pytest.approx(2 / 3), 0.75),
    ]
    assert calibration_error(curve) == pytest.approx(0.75 * (0.9 - 2 / 3))


def test_temperature_takes_overconfidence_back():
    """Two of three pairs are in order, so sigmoid(margin / T) should be 2/3: T = 8 / log 2."""
    pairs = pairs_of([8.0, 8.0, -8.0] * 10)
    temperature = fit_temperature(pairs)
    assert temperature == pytest.approx(8 / math.log(2), rel=0.1)
    before, after = reliability(pairs), reliability(pairs, temperature=temperature)
    assert calibration_error(after) < 0.02 < 0.3 < calibration_error(before)
    assert pairs.auc == pytest.approx(2 / 3)
