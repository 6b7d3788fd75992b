"""Label losses on questions small enough to work out by hand."""

import math

import pytest
import torch

from hieramas_lib.learning.labels import GraphLabels, pairwise_loss, top2_loss


def test_pairwise_loss_by_hand():
    scores = torch.tensor([[0.0, 1.0]])
    utility = torch.tensor([[1.0, 0.4]])  # the graph that scores lower is the better one
    assert pairwise_loss(scores, utility).item() == pytest.approx(math.log(1 + math.e), abs=1e-6)


def test_pairs_count_by_their_gap():
    scores = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    utility = torch.tensor([[1.0, 0.0], [0.0, 0.01]])
    wrong, right = math.log(1 + math.e), math.log(1 + math.exp(-1))
    expected = (wrong * 1.0 + right * 0.01) / 1.01
    assert pairwise_loss(scores, utility).item() == pytest.approx(expected, abs=1e-6)


def test_ties_carry_no_label():
    scores = torch.tensor([[0.0, 5.0, -2.0]], requires_grad=True)
    utility = torch.full((1, 3), 0.7)
    for loss in (
        pairwise_loss(scores, utility),
        top2_loss(scores, utility, torch.ones(1, 3, dtype=torch.bool)),
    ):
        scores.grad = None
        loss.backward()
        assert loss.item() == 0
        assert scores.grad is not None and scores.grad.abs().sum() == 0


def test_top2_loss_marks_two_right_graphs():
    scores = torch.zeros(1, 4)
    utility = torch.tensor([[0.9, 0.8, 0.7, -0.1]])
    correct = torch.tensor([[True, True, True, False]])
    # positives weighted 2/2 = 1, every score 0: log 2
    assert top2_loss(scores, utility, correct).item() == pytest.approx(math.log(2), abs=1e-6)


def test_top2_loss_gives_no_positive_to_wrong_graphs():
    utility = torch.tensor([[-0.1, -0.2, -0.3]])
    loss = top2_loss(torch.zeros(1, 3), utility, torch.zeros(1, 3, dtype=torch.bool))
    assert loss.item() == 0


def test_informative_questions():
    labels = GraphLabels(
        graphs=torch.tensor([[0, 1], [0, 1]]),
        utility=torch.tensor([[0.5, 0.5], [0.5, 0.6]]),
        correct=torch.ones(2, 2, dtype=torch.bool),
    )
    assert labels.informative.tolist() == [False, True]
    assert labels.select(torch.tensor([1])).utility.tolist() == [[0.5, pytest.approx(0.6)]]
