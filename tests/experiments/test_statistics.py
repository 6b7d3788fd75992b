"""Intervals and tests against hand computation and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from hieramas_lib.experiments import statistics as subject
from hieramas_lib.experiments.statistics import Interval


@given(st.integers(1, 400), st.data())
def test_wilson_equals_scipy(total: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, total))
    ours = subject.wilson(successes, total)
    theirs = binomtest(successes, total).proportion_ci(0.95, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_of_8_in_10_by_hand() -> None:
    # z = 1.96: centre (0.8 + 0.19207) / 1.38415 = 0.71674, half 0.22661.
    found = subject.wilson(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    with pytest.raises(ValueError, match="nothing"):
        subject.wilson(0, 0)


def test_one_answer_a_task_is_plain_wilson() -> None:
    correct = [1, 1, 0, 1, 0, 1, 1, 1]
    assert subject.proportion(correct, list("abcdefgh")) == subject.wilson(6, 8)


def test_repeating_every_answer_narrows_nothing() -> None:
    correct, tasks = [1, 1, 0, 1, 0, 1, 1, 1], list("abcdefgh")
    once = subject.proportion(correct, tasks)
    fivefold = subject.proportion(correct * 5, tasks * 5)
    assert fivefold.estimate == once.estimate
    assert fivefold.high - fivefold.low >= once.high - once.low - 1e-12


def test_independent_repetitions_narrow_the_interval() -> None:
    tasks = [f"t{i}" for i in range(50)] * 4
    correct = np.random.default_rng(0).random(200) < 0.5
    found, alone = subject.proportion(correct, tasks), subject.proportion(correct[:50], tasks[:50])
    assert found.high - found.low < 0.7 * (alone.high - alone.low)


def test_all_right_has_an_interval_by_tasks() -> None:
    found = subject.proportion([1] * 30, ["a", "b", "c"] * 10)
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(subject.wilson(3, 3).low)


def test_mean_over_tasks_averages_seeds_first() -> None:
    # Task means 1, 2, 3: sd 1, t(2) = 4.3027, half = 4.3027 / sqrt(3).
    found = subject.mean_over_tasks([0, 2, 2, 2, 3, 3], ["a", "a", "b", "b", "c", "c"])
    assert found.estimate == 2
    assert found.high - 2 == pytest.approx(4.30265 / math.sqrt(3), abs=1e-4)


def test_too_little_data_gives_no_interval() -> None:
    assert math.isnan(subject.mean_over_seeds([0.5]).low)
    assert math.isnan(subject.paired_difference([1.0], [0.5], ["a"]).high)
    assert math.isnan(subject.mean_over_tasks([float("nan")] * 3, "abc").estimate)


def test_paired_difference_uses_the_pairing() -> None:
    base = np.random.default_rng(1).normal(0, 10, 40)
    tasks = [f"t{i}" for i in range(40)]
    found = subject.paired_difference(base + 1, base, tasks)
    assert found == Interval(pytest.approx(1), pytest.approx(1), pytest.approx(1))
    with pytest.raises(ValueError, match="aligned"):
        subject.paired_difference([1, 2], [1], ["a", "b"])


def test_repeating_pairs_over_seeds_narrows_nothing() -> None:
    gain, tasks = np.random.default_rng(3).normal(0, 1, 30), [f"t{i}" for i in range(30)]
    once = subject.paired_difference(gain, 0 * gain, tasks)
    repeated = np.tile(gain, 4)
    assert subject.paired_difference(repeated, 0 * repeated, tasks * 4) == once


def test_paired_bootstrap_covers_and_is_repeatable() -> None:
    rng = np.random.default_rng(2)
    tasks = [f"t{i}" for i in range(60)]
    inside = 0
    for _ in range(60):
        gain = rng.normal(0.3, 1, 60)
        found = subject.paired_difference(gain, np.zeros(60), tasks)
        inside += found.low <= 0.3 <= found.high
    assert 50 <= inside <= 60
    gain = rng.normal(0.3, 1, 60)
    assert subject.paired_difference(gain, 0 * gain, tasks) == subject.paired_difference(
        gain, 0 * gain, tasks
    )


def test_mcnemar_by_hand() -> None:
    # 5 gained, 1 lost: 2 * (C(6,0) + C(6,1)) / 2**6 = 14 / 64.
    ours = [1] * 5 + [0] + [1] * 3
    theirs = [0] * 5 + [1] + [1] * 3
    assert subject.mcnemar(ours, theirs) == pytest.approx(14 / 64)
    assert subject.mcnemar([1, 0], [1, 0]) == 1.0


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04.
    assert subject.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert subject.holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert len(subject.holm([])) == 0


def test_task_means_keep_the_order_of_appearance() -> None:
    assert subject.task_means([1, 3, 5], ["b", "a", "b"]).tolist() == [3, 3]
    with pytest.raises(ValueError, match="2 values for 1"):
        subject.task_means([1, 2], ["a"])


def test_interval_is_printed_without_a_negative_zero() -> None:
    assert str(subject.Interval(-0.0001, -0.25, float("nan"))) == "0.000 [-0.250, nan]"
