"""Differences are taken within a seed, and intervals over seeds."""

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.effects.seed_tables import (
    gains_over,
    over_seeds,
    paired_change,
    panel_gains,
)


def records() -> pd.DataFrame:
    # Worlds differ by 1, graph b is better by 0.1 and 0.3.
    values = {(0, "a"): 0.2, (0, "b"): 0.3, (1, "a"): 1.2, (1, "b"): 1.5}
    rows = [{"seed": s, "graph": g, "utility": v} for (s, g), v in values.items()]
    return pd.DataFrame(rows)


def test_gains_are_within_a_seed() -> None:
    gains = gains_over(records(), "graph", "a", ["seed"], ["utility"])
    assert gains["utility"].tolist() == pytest.approx([0, 0.1, 0, 0.3])
    assert records()["utility"].tolist() == [0.2, 0.3, 1.2, 1.5], "the records stay as they are"


def test_rows_may_come_in_any_order() -> None:
    gains = gains_over(records().iloc[[3, 0, 2, 1]], "graph", "a", ["seed"], ["utility"])
    assert gains["utility"].tolist() == pytest.approx([0.3, 0, 0, 0.1])


@pytest.mark.parametrize("rows", [[0, 1, 3], [0, 0, 1, 2, 3]])
def test_a_level_that_is_missing_or_there_twice_is_an_error(rows: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"graph: \d rows of 'a' for 2 groups of seed"):
        gains_over(records().iloc[rows], "graph", "a", ["seed"], ["utility"])


def test_interval_is_over_seeds_and_not_over_rows() -> None:
    twice = pd.concat([records(), records()])
    for frame in (records(), twice):
        table = over_seeds(frame, ["graph"], ["utility"])
        assert table["graph"].tolist() == ["a", "b"]
        assert table["seeds"].tolist() == [2, 2]
        assert table["utility"].tolist() == pytest.approx([0.7, 0.9])
        # Two values 1 apart: standard error 0.5, t of one degree of freedom 12.706.
        assert table["utility_low"][0] == pytest.approx(0.7 - 12.7062 * 0.5, abs=1e-3)


def test_one_seed_has_no_interval() -> None:
    table = over_seeds(records().iloc[:2], ["graph"], ["utility"])
    assert table["utility"].tolist() == [0.2, 0.3]
    assert table[["utility_low", "utility_high"]].isna().all(axis=None)


def test_gains_in_panels_are_within_panel_and_series() -> None:
    frame = pd.concat(
        [
            records().assign(panel="p", series="s"),
            # In another series graph a is worth 0.5 more, which is not the gain of b.
            records().assign(panel="p", series="t", utility=[0.7, 0.3, 1.7, 1.5]),
        ]
    )
    table = panel_gains(frame, "graph", "a", ["utility"]).set_index(["series", "graph"])
    assert table["utility"].to_dict() == pytest.approx(
        {("s", "a"): 0, ("s", "b"): 0.2, ("t", "a"): 0, ("t", "b"): -0.3}
    )
    assert set(table["panel"]) == {"p"}


def test_a_paired_change_is_over_seeds_with_rows_of_a_seed_averaged() -> None:
    change = paired_change(records(), "graph", "a", "b", "utility")
    assert change.estimate == pytest.approx(0.2)
    # Differences 0.1 and 0.3: standard error 0.1.
    assert change.low == pytest.approx(0.2 - 12.7062 * 0.1, abs=1e-3)
    twice = pd.concat([records(), records()])
    assert paired_change(twice, "graph", "a", "b", "utility").low == pytest.approx(change.low)
    assert paired_change(records(), "graph", "b", "a", "utility").estimate == pytest.approx(-0.2)
