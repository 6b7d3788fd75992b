"""Convolution and dropout on a graph over the roles, by hand."""

import pytest
import torch

from hieramas_lib.learning.role_graphs import averaging, dropped, matrix, shaped


def test_shapes_by_name():
    assert shaped("full", 3).edges == ((0, 1), (0, 2), (1, 2))
    assert shaped("chain", 3).edges == ((0, 1), (1, 2))
    assert shaped("star", 3).edges == ((0, 1), (0, 2))
    assert matrix(shaped("chain", 2)).tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_averaging_of_a_chain_of_three():
    """Degrees with oneself 2, 3, 2; directions are ignored."""
    mixing = averaging(matrix(shaped("chain", 3)))
    assert mixing[0].tolist() == pytest.approx([1 / 2, 1 / 6**0.5, 0.0])
    assert mixing[1].tolist() == pytest.approx([1 / 6**0.5, 1 / 3, 1 / 6**0.5])
    assert torch.equal(mixing, mixing.T)


def test_dropout_keeps_the_mean_and_draws_from_its_own_generator():
    values = torch.ones(200, 200)
    assert dropped(values, 0.5, None) is values
    before = torch.get_rng_state()
    once, again = (dropped(values, 0.25, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(once, again)
    assert once.mean().item() == pytest.approx(1.0, abs=0.01)
    assert (once == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert once.max().item() == pytest.approx(1 / 0.75)
