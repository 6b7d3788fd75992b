"""Two traces of one role with one proposer, worked out by hand."""

import numpy as np
import pytest
import torch

from hieramas_lib.experiments.learning_curve.choice_views import (
    chosen_shares,
    kept_sentence,
    position_names,
    position_shares,
    training_panels,
)
from hieramas_lib.learning.choice_trace import Choices


def entry(rollouts: int, kept: float, drawn: float) -> Choices:
    """Two roles, two positions, two LLMs and SKIP; the second role is always pruned."""
    skip = torch.tensor([0.0, 0.0, 1.0])
    shares = torch.stack(
        [torch.stack([torch.tensor([1 - drawn, 0.0, drawn])] * 2), torch.stack([skip] * 2)]
    )
    return Choices(
        rollouts=rollouts,
        shares=shares,
        top_shares=shares.round(),
        kept=torch.tensor([kept, 0.0]),
        kept_sampled=torch.tensor([drawn, 0.0]),
        entropy=torch.tensor([0.5, 0.0]),
        cost=2 * drawn,
    )


TRACES = [[entry(0, 1.0, 0.5), entry(8, 1.0, 0.8)], [entry(0, 1.0, 0.7), entry(8, 0.0, 1.0)]]


def test_positions_are_averaged_over_roles_and_seeds() -> None:
    assert position_names(2) == ["proposer 1", "proposer 2", "synthesizer"]
    shares = position_shares(TRACES, position_names(1))
    assert list(shares) == ["proposer 1", "synthesizer"]
    # The first role skips with probability 0.6 on average before training, the second always does.
    assert shares["synthesizer"][0].tolist() == pytest.approx([0.2, 0.0, 0.8])
    assert shares["synthesizer"].sum(axis=1).tolist() == pytest.approx([1.0, 1.0])


def test_panels_have_roles_as_means_and_sums_by_seed() -> None:
    panels = training_panels(TRACES, ["Doctor", "Critic"])
    pruned = panels["role is pruned (%)"]
    assert np.asarray(pruned["Doctor"]).tolist() == pytest.approx([40, 10])
    assert np.asarray(pruned["Critic"]).tolist() == [100, 100]
    assert np.asarray(panels["roles kept"]["arg-max"]).tolist() == [[1, 1], [1, 0]]
    assert np.asarray(panels["roles kept"]["drawn"]) == pytest.approx(
        np.array([[0.5, 0.8], [0.7, 1.0]])
    )
    assert np.asarray(panels["expected price (ref. calls)"]["drawn"]).shape == (2, 2)


def test_shares_of_what_is_chosen() -> None:
    actions = torch.tensor([[[0, 2]], [[0, 1]], [[2, 1]], [[0, 1]]])
    table = chosen_shares(actions, ["Doctor"], position_names(1), ["a", "b", "SKIP"])
    assert table.index.tolist() == ["Doctor · proposer 1", "Doctor · synthesizer"]
    assert table.loc["Doctor · proposer 1"].tolist() == [0.75, 0.0, 0.25]
    assert table.loc["Doctor · synthesizer"].tolist() == [0.0, 0.75, 0.25]


def test_kept_roles_in_words() -> None:
    assert kept_sentence(TRACES) == (
        "After training 0.5 of 2 roles are kept by arg-max and 0.9 when drawn; before, 1.0 and 0.6."
    )
