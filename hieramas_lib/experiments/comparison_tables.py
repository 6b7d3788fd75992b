"""What a comparison of methods says: what learning cost, and who is worth more than whom."""

from typing import TYPE_CHECKING, Final

from hieramas_lib.experiments.frontier import pareto

if TYPE_CHECKING:
    import pandas as pd

_KEYS: Final = ["method", "benchmark"]


def learning_costs(table: "pd.DataFrame", training: "pd.DataFrame") -> "pd.DataFrame":
    """Put what training took beside what the answers to all test questions cost.

    Args:
        table: A comparison table, see :func:`.tables.comparison_table`.
        training: Rows of :func:`.method_table.fit_costed`, of one or more seeds.

    Returns:
        One row a method that learns and benchmark, in the order of ``table``: ``method, benchmark,
        seeds, train_tasks``, means over seeds ``training_calls`` and ``training_usd`` ("at least"
        where calls had no price), ``n`` and ``total_usd``, the cost of answering n questions once.
    """
    means = training.groupby(_KEYS, sort=False).agg(
        seeds=("seed", "nunique"),
        train_tasks=("train_tasks", "max"),
        training_calls=("calls", "mean"),
        training_usd=("cost_usd", "mean"),
    )
    rows = table[[*_KEYS, "n"]].assign(total_usd=table["n"] * table["cost_usd"])
    costs = rows.merge(means.reset_index(), on=_KEYS)
    costs["training_calls"] = costs["training_calls"].round().astype(int)
    return costs[
        [*_KEYS, "seeds", "train_tasks", "training_calls", "training_usd", "n", "total_usd"]
    ]


def worth_sentences(differences: "pd.DataFrame", ours: str, setting: str) -> list[str]:
    """Say for each benchmark which methods ours is worth more and less than, by its intervals.

    ``differences`` is a paired table, see :func:`.tables.paired_table`.
    """
    return [
        f"{benchmark}, {setting}, difference in utility (95 % intervals, not adjusted for the "
        f"number of methods): {ours} {_worth(part)}."
        for benchmark, part in differences.groupby("benchmark", sort=False)
    ]


def frontier_sentences(table: "pd.DataFrame") -> list[str]:
    """Say for each benchmark which method has the highest utility, and which are on the frontier.

    ``table`` is a comparison table.
    """
    sentences = []
    for benchmark, part in table.groupby("benchmark", sort=False):
        best = part.loc[part["utility"].idxmax()]
        worth_it = "; ".join(pareto(part)["method"])
        sentences.append(
            f"{benchmark}: highest utility {best['method']}, {best['utility']:.3f} "
            f"[{best['utility_low']:.3f}, {best['utility_high']:.3f}]; no cheaper method is as "
            f"accurate as: {worth_it}."
        )
    return sentences


def training_sentences(costs: "pd.DataFrame", ours: str) -> list[str]:
    """Say for each benchmark what training ours cost, and what that of the dearest other one did.

    ``costs`` is from :func:`learning_costs`.
    """
    sentences = []
    for benchmark, part in costs.groupby("benchmark", sort=False):
        spent = part.set_index("method")["training_usd"]
        others = spent.drop(ours)
        if len(others):
            dearest = others.idxmax()
            sentences.append(
                f"{benchmark}: training {ours} cost ${spent[ours]:.2f}, {dearest}, the dearest of "
                f"the {len(others)} others, ${others[dearest]:.2f}."
            )
    return sentences


def _worth(part: "pd.DataFrame") -> str:
    more, less = part["utility_gain_low"] > 0, part["utility_gain_high"] < 0
    said = []
    for words, chosen in (
        ("is worth more than", more),
        ("is worth less than", less),
        ("is not distinguishable from", ~more & ~less),
    ):
        if chosen.any():
            names = "; ".join(part.loc[chosen, "method"])
            said.append(f"{words} {int(chosen.sum())} of {len(part)} ({names})")
    return ", ".join(said)
