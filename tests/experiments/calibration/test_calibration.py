import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.calibration.real_outcomes import (
    FOLDER,
    family,
    humaneval_plus,
    mmlu_redux,
)
from hieramas_lib.experiments.calibration.reply_lengths import LengthComparison, compare_lengths
from hieramas_lib.experiments.calibration.report import (
    Calibration,
    as_json,
    as_markdown,
    calibrate,
    table_json,
    write_calibration,
)
from hieramas_lib.experiments.calibration.shipped_pool import PoolAccuracy, subject_variance
from hieramas_lib.experiments.calibration.tables import Comparison, TableComparison, compare_tables
from hieramas_lib.experiments.cli import app
from hieramas_lib.llms.world import load_settings
from hieramas_lib.paths import data_path

COMMITTED = json.loads(data_path("simulation", "calibration.json").read_text())

needs_tables = pytest.mark.skipif(
    not (FOLDER / "outcomes_mmlu_redux.csv.gz").exists(),
    reason="tables of real outcomes are not shipped",
)


def made_up(real: float = 0.5, simulated: tuple[float, ...] = (0.5, 0.52)) -> Calibration:
    row = Comparison("all right", real, simulated)
    table = TableComparison("Made up", 2, 10, 2, (row,), (0.2, 0.3, 0.5), ((0.1, 0.4, 0.5),) * 2)
    lengths = np.arange(1.0, 101.0)
    short, reasoned = (
        LengthComparison(what, "some LLM", "tokens", True, lengths, 1.1 * lengths)
        for what in ("short answers (X)", "reasoned answers (Y)")
    )
    pool = (PoolAccuracy("knowledge", "some LLM", 0.8, 0.81, 0.1),)
    return Calibration((table,), (short, reasoned), pool)


def assert_close(found: Any, committed: Any) -> None:
    """Equal up to what another machine's rounding may change."""
    if isinstance(committed, dict):
        assert found.keys() == committed.keys()
        found, committed = list(found.values()), list(committed.values())
    if isinstance(committed, list):
        for one, other in zip(found, committed, strict=True):
            assert_close(one, other)
    elif isinstance(committed, float):
        assert found == pytest.approx(committed, abs=2e-4, rel=2e-3)
    else:
        assert found == committed


def test_a_comparison_by_hand() -> None:
    row = Comparison("all right", 0.5, (0.50, 0.52))
    assert row.mean == pytest.approx(0.51) and row.difference == pytest.approx(0.01)
    assert row.spread == pytest.approx(0.02 / np.sqrt(2))
    assert row.met and row.origin == "fitted"
    assert not Comparison("all right", 0.5, (0.53, 0.54)).met
    assert Comparison("loading, median", 2.0, (3.0, 3.1)).met
    assert Comparison("best single LLM", 0.5, (0.5, 0.5)).origin == "given"
    assert Comparison("plurality vote", 0.5, (0.5, 0.5)).origin == "check"


def test_the_page_shows_every_number_and_names_what_is_missed() -> None:
    page = as_markdown(made_up())
    # 12.7 is the t quantile of two worlds; the interval is 0.51 +- 0.127.
    assert "| all right | 0.500 | 0.510 [0.383, 0.637] | 0.014 | +0.010 | fitted |" in page
    assert (
        "| short answers (X) | some LLM | tokens | fitted | 50 / 56 | 90 / 99 | 99 / 109 |" in page
    )
    assert "| knowledge | some LLM | 0.800 | 0.810 | 10.0 |" in page
    assert "Everything is in its goal." in page
    missed = made_up(real=0.6)
    assert missed.misses() == ["Made up: all right (-0.090)"]
    assert "Outside its goal: Made up: all right (-0.090)." in as_markdown(missed)


def test_files_are_small_and_the_same_each_time(tmp_path: Path) -> None:
    paths = write_calibration(made_up(), tmp_path)
    first = [path.read_bytes() for path in paths]
    assert [path.name for path in paths][:2] == ["calibration.md", "calibration.json"]
    assert max(map(len, first)) < 100_000
    assert all(content.startswith(b"\x89PNG") for content in first[2:])
    assert first == [path.read_bytes() for path in write_calibration(made_up(), tmp_path)]
    assert json.loads(first[1]) == as_json(made_up())


def test_subject_variance_leaves_out_sampling() -> None:
    rng = np.random.default_rng(0)
    subjects = [str(i) for i in range(400) for _ in range(10)]
    for sd in (0.0, 0.15):
        chance = np.repeat(0.5 + sd * rng.standard_normal(400), 10).clip(0, 1)
        right = rng.random(4_000) < chance
        assert subject_variance(right, subjects) == pytest.approx(sd**2, abs=0.004)


def test_families_are_told_by_the_longest_beginning() -> None:
    assert family("openai_gpt-4-0613") == family("gpt_4_0613@T0.7") == "openai"
    assert family("openai_gsm_6b_finetuning") == "gpt-3"
    assert family("routellm_Mixtral-8x7B-Instruct-v0.1") == "mistral"
    assert family("custom_finetuned_models--llama3_base_dpo@T0") == "meta"
    with pytest.raises(ConfigError, match="'nobody-7b': no family is known"):
        family("nobody-7b")


def test_absent_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"outcomes_mmlu_redux\.csv\.gz is not there.*folder"):
        calibrate(tmp_path)


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["calibrate", "--tables", str(tmp_path)])
    assert result.exit_code == 2
    assert "outcomes_mmlu_redux.csv.gz is not there" in result.output


def test_the_committed_calibration_meets_its_goals() -> None:
    for name, table in COMMITTED["tables"].items():
        for statistic, row in table["rows"].items():
            if not statistic.startswith("loading"):
                assert row["simulated"] == pytest.approx(row["real"], abs=0.03), (name, statistic)
    for row in COMMITTED["lengths"]:
        if row["fitted"]:
            for real, simulated in row["quantiles"].values():
                assert simulated == pytest.approx(real, rel=0.15), row
    for row in COMMITTED["pool"]:
        assert row["accuracy"] == pytest.approx(row["target"], abs=0.02)
    spreads = [row["subject_sd"] for row in COMMITTED["pool"]]
    assert np.quantile(spreads, [0.1, 0.85]) == pytest.approx([0.10, 0.10], abs=0.05)


def test_the_committed_page_has_the_committed_numbers() -> None:
    page = data_path("simulation", "calibration.md").read_text()
    lines = page.splitlines()
    for table in COMMITTED["tables"].values():
        for statistic, row in table["rows"].items():
            cells = next(line for line in lines if line.startswith(f"| {statistic} | ")).split("|")
            lines.remove("|".join(cells))
            assert float(cells[2]) == pytest.approx(row["real"], abs=0.00051)
            assert float(cells[3].split()[0]) == pytest.approx(row["simulated"], abs=0.00051)
    for row in COMMITTED["pool"]:
        assert f"| {row['tasks']} | {row['llm']} | {row['target']:.3f} |" in page


@needs_tables
def test_tables_are_read_as_counted() -> None:
    redux, code = mmlu_redux(), humaneval_plus()
    assert redux.right.shape == (21, 5678) and len(redux.answered) == 19
    assert redux.right.mean(axis=1).max() == pytest.approx(0.865, abs=0.001)
    assert code.right.shape == (18, 164)
    assert code.tasks[0].kind == "code" and len({task.subject for task in code.tasks}) == 6
    gold = np.array([task.gold for task in redux.tasks])
    assert redux.answers is not None
    some = list(redux.answered)
    assert ((redux.answers[some] == gold) == redux.right[some]).all()


@needs_tables
def test_one_committed_table_is_what_the_code_gives() -> None:
    (table,) = compare_tables(names=("HumanEval+",))
    assert_close(table_json(table), COMMITTED["tables"]["HumanEval+"])


@needs_tables
def test_committed_lengths_are_what_the_code_gives() -> None:
    found = compare_lengths(load_settings("mmlu-like"))
    assert_close(as_json(Calibration((), found, ()))["lengths"], COMMITTED["lengths"])


@needs_tables
@pytest.mark.slow
def test_all_goals_are_met_on_the_real_tables() -> None:
    calibration = calibrate()
    assert_close(as_json(calibration), COMMITTED)
    assert as_markdown(calibration) == data_path("simulation", "calibration.md").read_text()
    assert all(row.met for table in calibration.tables for row in table.rows)
    assert all("MATH, repeated" in miss for miss in calibration.misses())
