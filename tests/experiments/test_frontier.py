"""The methods that are worth their money."""

import pandas as pd

from hieramas_lib.experiments.frontier import pareto


def table(rows: list[tuple[str, str, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["method", "benchmark", "cost_usd", "accuracy"])


def test_only_what_no_cheaper_one_reaches_stays():
    rows = table(
        [
            ("dear and best", "a", 5.0, 0.9),
            ("beaten", "a", 3.0, 0.6),
            ("cheap", "a", 1.0, 0.5),
            ("as good, dearer", "a", 2.0, 0.5),
            ("middle", "a", 2.0, 0.7),
        ]
    )
    assert pareto(rows)["method"].tolist() == ["cheap", "middle", "dear and best"]


def test_of_equals_the_first_stays_and_benchmarks_do_not_mix():
    rows = table(
        [
            ("x", "b", 1.0, 0.5),
            ("y", "b", 1.0, 0.5),
            ("x", "a", 9.0, 0.1),
            ("y", "a", 10.0, 0.2),
        ]
    )
    found = pareto(rows)
    assert list(zip(found["benchmark"], found["method"], strict=True)) == [
        ("b", "x"),
        ("a", "x"),
        ("a", "y"),
    ]


def test_an_accuracy_of_nought_can_be_the_best_there_is():
    assert len(pareto(table([("x", "a", 1.0, 0.0)]))) == 1
