"""The paper's tables from our runs: the numbers, the runs they name, and what is missing."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.paper.printing import print_tables
from hieramas_lib.experiments.paper.tables import NUMBERS, paper_tables
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.llms.call_store import CallStore


def record(method: str, benchmark: str, task: int, correct: bool, **more: object) -> dict:
    return {
        "method": method, "benchmark": benchmark, "task_id": f"{benchmark}/{task}",
        "seed": 0, "simulated": True, "correct": correct, "utility": float(correct),
        "status": "correct" if correct else "wrong", "cost_usd": 0.25, "cost_reference": 2.0,
        "unpriced": 0, "prompt_tokens": 10, "completion_tokens": 5, "calls": 3, **more,
    }  # fmt: skip


def save(experiment: str, rows: list[dict], **parameters: object) -> str:
    run = start_run(experiment, {"seeds": [0], "width": 2} | parameters)
    pool = SimpleNamespace(name="twins", llms=[SimpleNamespace(client="simulated")])
    run.watch(SimpleNamespace(pool=pool, store=CallStore()))
    run.save_records(pd.DataFrame(rows))
    run.finish(rows=len(rows))
    return run.run_id


def main_run() -> str:
    rows = [record("Base", "knowledge", i, i < 2) for i in range(4)]
    rows += [record("Base", "maths", i, i < 1) for i in range(4)]
    return save("07_main_results", rows)


def test_table_1_has_a_column_for_each_benchmark_and_their_mean() -> None:
    run_id = main_run()
    ours, printed = paper_tables(1)
    (row,) = ours.frame.to_dict("records")
    assert (row["accuracy_knowledge"], row["accuracy_maths"]) == (0.5, 0.25)
    assert row["accuracy_average"] == pytest.approx(0.375)
    assert row["accuracy_knowledge_low"] < 0.5 < row["accuracy_knowledge_high"]
    assert run_id in ours.caption and "Published, not ours" in printed.caption
    assert "HieraMAS" in set(printed.frame["method"])


def test_table_4_is_the_cost_of_all_items() -> None:
    main_run()
    frame = paper_tables(4)[0].frame.set_index("benchmark")
    assert frame.loc["maths", "total_usd"] == pytest.approx(4 * 0.25)
    assert frame.loc["maths", "n"] == 4


def test_table_3_takes_the_unseen_questions_only() -> None:
    rows = [record("Base", "b", i, True, split="unseen") for i in range(2)]
    rows += [record("Base", "b", 5 + i, False, split="seen") for i in range(3)]
    save("11_unseen_subjects", rows)
    (row,) = paper_tables(3)[0].frame.to_dict("records")
    assert (row["n"], row["accuracy"]) == (2, 1.0)


def ablation_run() -> None:
    rights = {"full system": 3, "width 4": 2, "graph random": 1}
    more = {"world": 0, "kept_roles": 3}
    rows = [
        record("x", "b", i, i < right, variant=name, accuracy=float(i < right), **more)
        for name, right in rights.items()
        for i in range(4)
    ]
    save("08_ablations", rows)


def test_an_ablation_table_has_the_full_system_and_the_variants_of_its_part() -> None:
    ablation_run()
    table6 = paper_tables(6)[0].frame.set_index("variant")
    assert list(table6.index) == ["full system", "width 4"]
    assert table6.loc["width 4", "accuracy_gain"] == pytest.approx(-0.25)
    assert table6.loc[["full system"], "accuracy_gain"].isna().all()
    assert list(paper_tables(2)[0].frame["variant"]) == ["full system", "without graph scoring"]
    with pytest.raises(ConfigError, match=r"no variant of graphs .*hieramas run 08 -p"):
        paper_tables(7)


def test_printed_text_and_latex_say_simulated_and_csv_has_plain_numbers(tmp_path: Path) -> None:
    main_run()
    ours, printed = print_tables("1", "latex")
    assert "Simulated LLMs: no evidence" in ours and "\\toprule" in ours
    assert "Simulated" not in printed and "Published, not ours" in printed
    paths = list(print_tables("1", "csv", out=tmp_path))
    frame = pd.read_csv(paths[0])
    assert frame.loc[0, "accuracy_maths"] == 0.25
    assert [Path(path).name for path in paths] == ["table1.csv", "table1_published.csv"]


def test_all_tables_with_a_line_for_each_that_has_no_run() -> None:
    main_run()
    lines = list(print_tables("all", "text"))
    missing = [line for line in lines if line.startswith("table ")]
    assert len(missing) == len(NUMBERS) - 2 and any("hieramas run 12" in line for line in missing)


@pytest.mark.parametrize(
    ("number", "form", "message"),
    [
        ("5", "text", "table 5: there are 1, 2"),
        ("two", "text", "a number, one of"),
        ("1", "pdf", "--format pdf: one of text, latex, csv, html"),
        ("1", "text", "no complete run of 07_main_results"),
        ("all", "text", "no run for any table"),
    ],
)
def test_what_is_refused(number: str, form: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        list(print_tables(number, form))
