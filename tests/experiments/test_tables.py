"""Tables: planned denominators, faults apart, pairing, and nothing mixed."""

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import tables as subject
from hieramas_lib.experiments.statistics import wilson


def records(
    method: str, statuses: list[str], seed: int = 0, simulated: bool = True
) -> pd.DataFrame:
    n = len(statuses)
    correct = [status == "correct" for status in statuses]
    return pd.DataFrame(
        {
            "method": method,
            "benchmark": "maths",
            "task_id": [f"t{i}" for i in range(n)],
            "seed": seed,
            "simulated": simulated,
            "status": statuses,
            "correct": correct,
            "utility": [c - 0.02 for c in correct],
            "cost_usd": 0.002,
            "cost_reference": 2.0,
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "calls": 3,
            "unpriced": 0,
        }
    )


STATUSES = ["correct"] * 6 + ["wrong", "unparsed", "empty", "error"]


def test_every_planned_item_counts_and_faults_are_apart() -> None:
    (row,) = subject.comparison_table(records("a", STATUSES)).to_dict("records")
    assert (row["n"], row["seeds"], row["unparsed"], row["empty"], row["error"]) == (10, 1, 1, 1, 1)
    assert row["accuracy"] == 0.6
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx(
        (wilson(6, 10).low, wilson(6, 10).high)
    )
    assert row["utility"] == pytest.approx(0.58)
    assert (row["tokens"], row["calls"], row["cost_usd"]) == (120, 3, pytest.approx(0.002))


def test_seeds_are_repeats_of_tasks_not_more_tasks() -> None:
    frame = pd.concat([records("a", STATUSES, seed) for seed in range(5)])
    (row,) = subject.comparison_table(frame).to_dict("records")
    assert (row["n"], row["seeds"], row["unparsed"]) == (10, 5, 5)
    assert row["accuracy_high"] - row["accuracy_low"] > 0.45
    assert row["accuracy_seed_sd"] == pytest.approx(0)


def test_methods_keep_their_order() -> None:
    frame = pd.concat([records("z", STATUSES), records("a", STATUSES)])
    assert subject.comparison_table(frame)["method"].tolist() == ["z", "a"]


def test_simulated_and_real_answers_never_share_a_table() -> None:
    frame = pd.concat([records("a", STATUSES), records("b", STATUSES, simulated=False)])
    with pytest.raises(ConfigError, match="must not stand in one table"):
        subject.comparison_table(frame)
    with pytest.raises(ConfigError, match="must not stand in one table"):
        subject.paired_table(frame, "a")


def test_paired_table_pairs_on_tasks_and_adjusts() -> None:
    worse = ["wrong"] * 5 + ["correct"] + STATUSES[6:]
    frame = pd.concat([records("b", worse), records("c", STATUSES), records("a", STATUSES)])
    table = subject.paired_table(frame.sample(frac=1, random_state=0), "a").set_index("method")
    assert table.loc["b", "accuracy_gain"] == pytest.approx(0.5)
    assert table.loc["b", "p_mcnemar"] == pytest.approx(2 / 32)
    assert table.loc["b", "p_holm"] == pytest.approx(4 / 32)
    assert table.loc["c", "accuracy_gain"] == 0
    assert table.loc["c", "p_holm"] == 1
    assert table.loc["b", "n"] == 10


def test_method_with_one_seed_is_paired_with_every_seed_of_ours() -> None:
    ours = [records("a", STATUSES, seed) for seed in (1, 2, 3)]
    frame = pd.concat([*ours, records("b", ["wrong"] * 10, seed=0)])
    (row,) = subject.paired_table(frame, "a").to_dict("records")
    assert (row["n"], row["accuracy_gain"]) == (10, pytest.approx(0.6))
    with pytest.raises(ConfigError, match="no records of method 'x' on maths; there are"):
        subject.paired_table(frame, "x")


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("ours", ["a", "b"])
def test_items_that_only_one_method_was_asked_are_not_dropped(ours: str, seed: int) -> None:
    frame = pd.concat([records("a", STATUSES[:4]), records("b", STATUSES[:1], seed)])
    with pytest.raises(ConfigError, match=r"different items on maths.*'t1' is in one only"):
        subject.paired_table(frame, ours)


def test_an_item_missing_with_one_seed_is_not_dropped() -> None:
    def ours(seed: int) -> pd.DataFrame:
        return records("a", STATUSES[: 9 if seed == 2 else 10], seed)

    with pytest.raises(ConfigError, match=r"10 against 9 \('t9'"):
        subject.paired_table(pd.concat([ours(1), ours(2), records("b", STATUSES)]), "a")
    theirs = pd.concat([records("b", STATUSES, 1), records("b", STATUSES, 2)])
    with pytest.raises(ConfigError, match=r"10 against 9 \('t9'"):
        subject.paired_table(pd.concat([ours(1), ours(2), theirs]), "a")


def test_titles_tell_points_from_percent_and_a_call_from_an_item() -> None:
    frame = pd.concat([records("a", STATUSES), records("b", ["wrong"] * 10)])
    shown = subject.presentable(subject.paired_table(frame, "a")).iloc[0]
    assert shown["Accuracy gain (points)"].startswith("60.0 [")
    assert not [name for name in shown.index if "%" in name]
    call = subject.presentable(pd.DataFrame({"llm": ["a"], "call_usd": [0.00125]})).iloc[0]
    assert call.to_dict() == {"LLM": "a", "Cost": "$0.00125"}


def test_presentable_joins_intervals_and_says_at_least() -> None:
    frame = subject.comparison_table(records("a", STATUSES)).assign(unpriced=2)
    shown = subject.presentable(frame).iloc[0]
    assert shown["Accuracy (%)"] == "60.0 [31.3, 83.2]"
    assert shown["Cost / item"] == "at least $0.00200"
    assert shown["SD over seeds (points)"] == "–"
    assert shown["Tasks"] == "10"
    assert shown["Unparsed, empty, error"] == "1, 1, 1"
    assert "Empty" not in shown.index
    assert "accuracy_low" not in shown.index


@pytest.mark.parametrize(
    ("name", "values", "texts"),
    [
        ("utility", [-0.0004, 0.5, float("nan")], ["0.000", "0.500", "–"]),
        ("accuracy_gain", [-0.0004, 0.25], ["0.0", "25.0"]),
        ("p_holm", [0.0004, 0.001, 1.0], ["<0.001", "0.001", "1.000"]),
        ("call_usd", [7.4e-5, 0.00125, 0.0, 12.3456], ["$0.000074", "$0.00125", "$0", "$12.35"]),
        ("paid_usd", [1, 3e-9, -0.5], ["$1.00", "$0.0000000030", "-$0.50000"]),
        ("calls", [12.0, 3.25], ["12.0", "3.2"]),
        ("seeds", [3.0, 5.0], ["3", "5"]),
        ("edges_mean", [9.26], ["9.3"]),
        ("prompt_tokens", [1234.5, 87.2], ["1,234", "87"]),
        ("seconds", [0.44, 20], ["0.4", "20.0"]),
        ("kept_roles", [4.0, 2.125], ["4.0", "2.1"]),
        ("mmlu_gpt", [92.0, 82.4], ["92.00", "82.40"]),
        ("simulated", [True, False], ["yes", "no"]),
    ],
)
def test_numbers_are_written_by_kind(name: str, values: list[object], texts: list[str]) -> None:
    shown = subject.presentable(pd.DataFrame({name: values}))
    assert shown.iloc[:, 0].tolist() == texts


def test_headings_are_words_with_their_usual_capitals() -> None:
    names = ["llm", "decision_llm", "humaneval_gpt", "p_mcnemar", "kept_roles", "accuracy"]
    shown = subject.presentable(pd.DataFrame({name: ["x"] for name in names}))
    assert list(shown.columns) == [
        "LLM", "Decision LLM", "HumanEval, GPT", "p (McNemar)", "Kept roles", "Accuracy (%)",
    ]  # fmt: skip


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    frame = subject.comparison_table(records("a", STATUSES))[["method", "utility", "n"]]
    page = subject.to_html(frame, "Values.", simulated=False)
    assert '<th>Method</th><th class="number">Utility</th>' in page
    assert '<td>a</td><td class="number">0.580</td><td class="number">10</td>' in page
    assert r"\begin{tabular}{lrr}" in subject.to_latex(frame, "Values.", simulated=False)


def test_html_and_latex_escape_and_mark_simulated() -> None:
    frame = pd.DataFrame({"method": ["A & <b> 50%"], "value": [0.5]})
    page = subject.to_html(frame, "Values < 1.", simulated=True)
    assert "A &amp; &lt;b&gt; 50%" in page
    assert "<caption>Values &lt; 1. Simulated LLMs" in page
    text = subject.to_latex(frame, "Values.", simulated=False)
    assert r"A \& \textless{}b\textgreater{} 50\%" in text
    assert "Simulated" not in text
    assert r"\toprule" in text
