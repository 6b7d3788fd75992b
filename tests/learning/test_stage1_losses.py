"""What is annealed in stage 1, and when."""

import pytest

from hieramas_lib.learning.stage1_losses import weights_at
from hieramas_lib.learning.stage1_settings import Stage1Settings

SETTINGS = Stage1Settings(entropy=(0.01, 0.0001), annealed=3, price=2.0)


def test_a_short_training_anneals_the_entropy_to_its_end_and_keeps_the_price():
    found = [weights_at(SETTINGS, batch, 3) for batch in range(3)]
    assert [entropy for entropy, _ in found] == pytest.approx([0.01, 0.001, 0.0001])
    assert [price for _, price in found] == [2.0, 2.0, 2.0]


def test_a_long_training_holds_the_entropy_and_lets_the_price_fall_to_what_calls_cost():
    found = [weights_at(SETTINGS, batch, 7) for batch in range(7)]
    assert [entropy for entropy, _ in found] == pytest.approx([0.01, 0.001] + [0.0001] * 5)
    assert [price for _, price in found] == pytest.approx([2.0, 2.0, 2.0, 1.75, 1.5, 1.25, 1.0])


def test_a_price_below_that_of_the_calls_stays():
    free = Stage1Settings(price=0.0, annealed=3)
    assert weights_at(free, 6, 7)[1] == 0.0


def test_a_single_batch_begins_and_ends_with_the_first_weight():
    assert weights_at(SETTINGS, 0, 1) == (0.01, 2.0)
