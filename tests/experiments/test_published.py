"""The papers' numbers: read whole, marked as not ours, and true to the counts they stand for."""

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.tables import presentable, to_latex

NAMES = [
    "table1", "table2", "table3", "table4", "table6", "table7", "tables8-10", "table11", "figure3"
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_rows_a_source_and_a_remark(name):
    table = published_table(name)
    assert len(table.frame) >= 3
    assert table.caption.startswith("Published, not ours: HieraMAS, arXiv 2602.20229, ")
    assert table.caption.endswith(".")
    assert to_latex(table.frame, table.caption, simulated=False)


def test_values_of_the_summary_tables_are_as_printed():
    ablation = published_table("table2").frame.set_index(["method", "benchmark"])
    assert ablation.loc[("without LLM selection", "MATH"), "accuracy"] == 0.9778
    assert ablation.loc[("HieraMAS", "MMLU"), "total_usd"] == 1.29
    unseen = published_table("table3").frame.pivot(
        index="method", columns="backbone", values="accuracy"
    )
    assert unseen.loc["HieraMAS"].tolist() == [0.68, 0.72]
    assert unseen.loc["MASRouter"].tolist() == [0.56, 0.68]
    training = published_table("table11").frame.set_index(["method", "benchmark"])["training_usd"]
    assert training["AFlow", "HumanEval++"] / training["HieraMAS", "HumanEval++"] > 18


def test_accuracies_are_whole_numbers_of_questions_but_the_one_that_the_remark_names():
    odd = []
    for name in ("table2", "table3", "table6", "table7"):
        for row in published_table(name).frame.itertuples():
            right = row.accuracy * row.n
            if abs(right - round(right)) > 0.006:
                odd.append((name, row.accuracy))
    assert odd == [("table7", 0.956)]
    assert "95.60" in published_table("table7").caption


def test_the_first_table_is_as_printed_with_its_gaps():
    frame = published_table("table1").frame.set_index("method")
    assert frame.loc["HieraMAS", "humaneval_gpt"] == 96.88
    assert frame["humaneval_qwen"].isna().tolist() == [False] * 5 + [True]


def test_money_and_counts_are_headed_for_people():
    shown = presentable(published_table("table6").frame)
    assert list(shown.columns) == ["Proposers", "Tasks", "Accuracy (%)", "Cost of all items"]
    assert shown.iloc[0].tolist() == ["2", "125", "95.2", "$1.29"]
    assert "Cost of training" in presentable(published_table("table11").frame).columns


def test_an_unknown_table_names_those_there_are():
    with pytest.raises(ConfigError, match=r"table5.*table1, table2"):
        published_table("table5")
