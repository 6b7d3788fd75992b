"""Slots are evenly spaced, whoever asks and whenever."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.llms.rate import Rate


def test_slots_of_thirty_a_minute() -> None:
    now = [10.0]
    rate = Rate(30, clock=lambda: now[0])
    assert [rate.take() for _ in range(3)] == [0.0, 2.0, 4.0]
    now[0] = 15.0
    assert rate.take() == 1.0
    now[0] = 100.0
    assert [rate.take(), rate.take()] == [0.0, 2.0]


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 200))
def test_no_minute_has_more_calls_than_allowed(pauses: list[float], per_minute: int) -> None:
    now = [0.0]
    rate = Rate(per_minute, clock=lambda: now[0])
    went_out = []
    for pause in pauses:
        now[0] += pause
        went_out.append(now[0] + rate.take())
    assert all(late - early >= 60 / per_minute * 0.999 for early, late in pairwise(went_out))
    for start in went_out:
        inside = sum(start <= time < start + 59.9 for time in went_out)
        assert inside <= per_minute


def test_none_is_late_for_ever() -> None:
    assert Rate(60).take() == pytest.approx(0.0)
