"""All complete runs in one table, each row with where it came from."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.runs import start_run


def make_run(experiment: str, parameters: dict[str, object], rows: dict[str, list[object]]) -> Path:
    run = start_run(experiment, parameters)
    frame = pd.DataFrame(rows)
    run.save_records(frame)
    run.save_metrics(pd.DataFrame([{"mean": 0.5, "of": experiment}]))
    run.finish(rows=len(frame))
    return run.folder


@pytest.fixture
def three(results: Path) -> Path:
    """Two experiments with different columns, a run without records, and incomplete ones."""
    make_run("05_one", {"seeds": [0, 1], "limit": 0.5}, {"task": ["a", "b"], "correct": [1, 0]})
    make_run("05_one", {"seeds": [2], "limit": 1.5}, {"task": ["a"], "correct": [1]})
    make_run("07_two", {"seed": 7, "limit": "none"}, {"task": ["c"], "simulated": [True]})
    start_run("04_none", {}).finish()
    start_run("05_one", {"seeds": [3], "limit": 0.5})
    failed = start_run("05_one", {"seeds": [4], "limit": 0.5}).folder
    (failed / "failure.json").write_text(json.dumps({"error": "05_one: cell 3 raised KeyError"}))
    (results / "08_early" / "0123456789").mkdir(parents=True)
    (results / "08_early" / "0123456789" / "failure.json").write_text('{"error": "no kernel"}')
    (results / "sweeps").mkdir()
    return results


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_rows_carry_their_run_and_its_parameters(three: Path, ending: str) -> None:
    out = three / f"all.{ending}"
    done = CliRunner().invoke(app, ["collect", "--out", str(out)])
    assert done.exit_code == 0, done.output
    read = pd.read_parquet if ending == "parquet" else pd.read_csv
    table = read(out)
    assert sorted(table["task"]) == ["a", "a", "b", "c"]
    by_task = table.sort_values(["experiment", "param_limit", "task"]).reset_index(drop=True)
    assert list(by_task["experiment"]) == ["05_one"] * 3 + ["07_two"]
    assert list(by_task["run_seeds"]) == ["[0, 1]", "[0, 1]", "[2]", "7"]
    assert list(by_task["param_limit"]) == ["0.5", "0.5", "1.5", "none"]
    assert list(by_task["simulated"]) == [False, False, False, True]
    assert list(by_task["correct"].fillna(-1)) == [1, 0, 1, -1]
    assert set(table["run_id"]) == {p.parent.name for p in three.glob("0[57]*/*/run.json")}
    assert list(table.columns[:7]) == [
        "experiment", "run_id", "commit", "changed", "finished", "run_seeds", "simulated",
    ]  # fmt: skip
    metrics = read(three / f"all_metrics.{ending}")
    assert sorted(metrics["of"]) == ["05_one", "05_one", "07_two"]


def test_what_is_left_out_is_counted_and_explained(three: Path) -> None:
    said = CliRunner().invoke(app, ["collect"]).stdout
    assert f"4 records of 4 complete runs: {three / 'all.parquet'}" in said
    assert "1 of the complete runs saved no records" in said
    assert "left out: 1 failed of 05_one\nleft out: 1 unfinished of 05_one\n" in said
    assert "left out: 1 failed of 08_early" in said
    assert ": 05_one: cell 3 raised KeyError" in said
    assert "sweeps" not in said


@pytest.mark.parametrize(
    ("out", "message"), [("x.xlsx", "must end in .parquet or .csv"), ("x.csv", "no complete run")]
)
def test_nothing_to_collect_and_another_ending_are_bad_input(
    results: Path, out: str, message: str
) -> None:
    done = CliRunner().invoke(app, ["collect", "--out", out])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
