"""Utilities, gains and verdicts on records small enough to work out by hand."""

from math import nan

import pandas as pd
import pytest

from hieramas_lib.experiments.statistics import Interval
from hieramas_lib.experiments.utility_tables import (
    gain_sentences,
    gain_table,
    gains_of,
    utility_table,
    verdict,
)


def records(ours: list[list[float]], theirs: list[list[float]]) -> pd.DataFrame:
    """Utilities by seed and question."""
    return pd.DataFrame(
        [
            {"method": method, "seed": seed, "task_id": f"q{task}", "utility": value, "cost": 2.0}
            for method, by_seed in (("theirs", theirs), ("ours", ours))
            for seed, row in enumerate(by_seed)
            for task, value in enumerate(row)
        ]
    )


def test_seeds_of_a_question_stay_together() -> None:
    """Questions' means are 0.2 and 0.6, so n is 2, whatever the number of seeds."""
    table = utility_table(records([[0.0, 0.8], [0.4, 0.4]], [[1.0, 1.0], [1.0, 1.0]]), ["cost"])
    assert list(table) == ["method", "n", "seeds", "utility", "utility_low", "utility_high", "cost"]
    assert table["method"].tolist() == ["theirs", "ours"]
    row = table.iloc[1]
    assert (row["n"], row["seeds"], row["cost"]) == (2, 2, 2.0)
    assert row["utility"] == pytest.approx(0.4)
    assert row["utility_high"] - row["utility"] == pytest.approx(12.706 * 0.2, rel=1e-3)
    assert table.iloc[0]["utility_low"] == 1.0


def test_with_several_seeds_a_gain_is_over_seeds() -> None:
    """Gains by seed are 0.1 and 0.3; differences by question would be 0.0 and 0.4."""
    gain = gains_of(records([[0.5, 0.7], [0.5, 1.1]], [[0.5, 0.5], [0.5, 0.5]]), "ours")["theirs"]
    assert gain.estimate == pytest.approx(0.2)
    assert gain.high - gain.estimate == pytest.approx(12.706 * 0.1, rel=1e-3)


def test_with_one_seed_a_gain_is_over_questions() -> None:
    gains = gains_of(records([[0.6, 0.8, 0.9]], [[0.5, 0.5, 0.5]]), "ours")
    assert list(gains) == ["theirs"]
    assert gains["theirs"].estimate == pytest.approx(0.8 / 3)
    assert 0.09 < gains["theirs"].low < 0.25 < gains["theirs"].high < 0.41


def test_the_words_follow_from_the_interval() -> None:
    gains = {"a": Interval(0.2, 0.1, 0.3), "b": Interval(-0.2, -0.3, -0.1), "c": Interval(0, -1, 1)}
    assert gain_sentences("Ours", gains) == [
        "Ours beats “a”: utility difference 0.200 [0.100, 0.300].",
        "Ours falls below “b”: utility difference -0.200 [-0.300, -0.100].",
        "Ours is not distinguishable from “c”: utility difference 0.000 [-1.000, 1.000].",
    ]
    assert gain_table(gains)["compared_with"].tolist() == ["a", "b", "c"]
    assert gain_table(gains)["gain_high"].tolist() == [0.3, -0.1, 1]


def test_without_an_interval_nothing_is_claimed() -> None:
    assert verdict(Interval(0.5, nan, nan), "better", "worse", "level") == "level"
