"""What a comparison says, on tables small enough to check by hand."""

import pandas as pd

from hieramas_lib.experiments.comparison_tables import (
    frontier_sentences,
    learning_costs,
    training_sentences,
    worth_sentences,
)

TABLE = pd.DataFrame(
    {
        "method": ["Base", "AFlow", "HieraMAS"],
        "benchmark": ["maths"] * 3,
        "n": [100] * 3,
        "accuracy": [0.5, 0.4, 0.8],
        "utility": [0.49, 0.39, 0.75],
        "utility_low": [0.4, 0.3, 0.7],
        "utility_high": [0.6, 0.5, 0.8],
        "cost_usd": [0.001, 0.002, 0.005],
    }
)


def training() -> pd.DataFrame:
    rows = [("AFlow", 0, 90, 0.5), ("AFlow", 1, 111, 1.5), ("HieraMAS", 0, 10, 4.0)]
    frame = pd.DataFrame(rows, columns=["method", "seed", "calls", "cost_usd"])
    return frame.assign(benchmark="maths", train_tasks=72)


def test_training_stands_beside_the_cost_of_all_answers():
    costs = learning_costs(TABLE, training())
    assert costs["method"].tolist() == ["AFlow", "HieraMAS"]
    assert costs["training_calls"].tolist() == [100, 10]  # (90 + 111) / 2, to the even number
    assert costs["training_usd"].tolist() == [1.0, 4.0]
    assert costs["seeds"].tolist() == [2, 1]
    assert costs["total_usd"].tolist() == [0.2, 0.5]
    assert training_sentences(costs, "HieraMAS") == [
        "maths: training HieraMAS cost $4.00, AFlow, the dearest of the 1 others, $1.00."
    ]
    assert training_sentences(costs[costs["method"] == "HieraMAS"], "HieraMAS") == []


def test_the_frontier_and_the_best_are_named():
    (sentence,) = frontier_sentences(TABLE)
    assert sentence == (
        "maths: highest utility HieraMAS, 0.750 [0.700, 0.800]; no cheaper method is as accurate "
        "as: Base; HieraMAS."
    )


def test_worth_follows_the_interval_and_not_the_estimate():
    differences = pd.DataFrame(
        {
            "method": ["a", "b", "c", "d"],
            "benchmark": ["maths"] * 4,
            "utility_gain": [0.1, -0.1, 0.1, 0.2],
            "utility_gain_low": [0.01, -0.2, -0.01, 0.1],
            "utility_gain_high": [0.2, -0.01, 0.2, 0.3],
        }
    )
    (sentence,) = worth_sentences(differences, "HieraMAS", "hard world")
    assert sentence == (
        "maths, hard world, difference in utility (95 % intervals, not adjusted for the number of "
        "methods): HieraMAS is worth more than 2 of 4 (a; d), is worth less than 1 of 4 (b), is "
        "not distinguishable from 1 of 4 (c)."
    )
