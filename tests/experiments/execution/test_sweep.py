"""A sweep's file, its checks before anything starts, what it runs, and what it says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from acting import ActingWorkers, act
from typer.testing import CliRunner

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.cli import app, sweeping
from hieramas_lib.experiments.config import read_values
from hieramas_lib.experiments.execution.kernel import Outcome
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.experiments.execution.sweep import (
    check_sweep,
    plan_sweep,
    run_sweep,
    write_parameters,
)
from hieramas_lib.experiments.execution.sweep_result import Progress, duration
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.paths import ROOT


@pytest.fixture
def write(tiny: Path) -> Any:
    """Write a sweep of ``90_tiny`` and return its path."""

    def write_file(text: str = "", **fields: Any) -> Path:
        path = tiny.with_name("many.yaml")
        path.write_text(text or yaml.safe_dump({"notebook": "90_tiny.ipynb"} | fields))
        return path

    return write_file


def chosen(path: Path) -> list[dict[str, Any]]:
    return [plan.values for plan in plan_sweep(path).plans]


def test_grid_base_runs_and_exclusions(write: Any) -> None:
    path = write(
        base={"rate": 2.0},
        grid={"seed": [0, 1], "names": [["x"], ["x", "y"]]},
        runs=[{"seed": 9, "rate": 3.0}, {"seed": 0, "names": ["x"]}],
        exclude=[{"seed": 1, "names": ["x"]}],
    )
    assert chosen(path) == [
        {"rate": 2.0, "seed": 0, "names": ["x"]},
        {"rate": 2.0, "seed": 0, "names": ["x", "y"]},
        {"rate": 2.0, "seed": 1, "names": ["x", "y"]},
        {"rate": 3.0, "seed": 9},
    ]
    assert plan_sweep(path).labels[1] == 'seed=0, rate=2.0, names=["x", "y"]'
    assert chosen(write(runs=[{"seed": 1}])) == [{"seed": 1}]
    assert chosen(write(base={"seed": 4})) == [{"seed": 4}]


def test_numbers_that_yaml_takes_for_texts_are_numbers(write: Any) -> None:
    path = write("notebook: 90_tiny.ipynb\ngrid: {rate: [1e-4, 5, 1.0e-3]}\nbase: {seed: 3}\n")
    assert [values["rate"] for values in chosen(path)] == [0.0001, 5.0, 0.001]
    assert len(plan_sweep(write(grid={"rate": ["1e-4", 0.0001]})).plans) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty; a sweep has at least `notebook:`"),
        ("# nothing\n", "it is empty"),
        ("- 1\n", "valid dictionary"),
        ("grid: {seed: [0]}\n", "notebook: Field required"),
        ("notebook: [\n", "not valid YAML"),
        ("notebook: 90_tiny.ipynb\ngrids: {}\n", "grids: .*the fields are notebook, base, grid"),
        ("notebook: 90_tiny.ipynb\ngrid: {seed: 0}\n", r"grid\.seed: Input should be a valid list"),
        ("notebook: 90_tiny.ipynb\ngrid: {seed: []}\n", r"grid\.seed: List should have at least 1"),
        ("notebook: '97'\ngrid: {seed: [0]}\n", "no notebook '97'"),
        ("notebook: 90_tiny.ipynb\nbudget_usd: 0\n", "budget_usd: Input should be greater than 0"),
        ("notebook: 90_tiny.ipynb\nexclude: [{seed: 5}]\n", "leaves out nothing"),
        ("notebook: 90_tiny.ipynb\ngrid: {sed: [0, 1]}\n", "2 of 2 runs .*did you mean 'seed'"),
        ("notebook: 90_tiny.ipynb\ngrid: {seed: [0, a]}\n", "1 of 2 runs .*seed = 'a'.*a whole"),
        ("notebook: 90_tiny.ipynb\ngrid: {names: [a, b]}\n", "2 of 2 runs .*names = 'a'.*a list"),
    ],
)  # fmt: skip
def test_faults_are_found_before_anything_starts(
    write: Any, results: Path, text: str, message: str
) -> None:
    path = write(grid={"seed": [0]})
    path.write_text(text)
    done = CliRunner().invoke(app, ["sweep", str(path)])
    assert done.exit_code == 2
    with pytest.raises(ConfigError, match=f"(?s)many.yaml: .*{message}"):
        plan_sweep(path)
    assert not results.exists()


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_all_runs_are_checked_and_the_faults_of_all_named(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sweeping, "LocalWorkers", lambda count: ActingWorkers())
    values = {"decision": ["gpt-6", "gpt-5-mini"], "seeds": [[0], [1]], "difficulty": ["hard", "x"]}
    notebook = ROOT / "notebooks" / "05_stage1_policy.ipynb"
    path = tmp_path / "wide.yaml"
    path.write_text(yaml.safe_dump({"notebook": str(notebook), "grid": values}))
    done = CliRunner().invoke(app, ["sweep", str(path), *arguments])
    assert done.exit_code == 2
    assert "wide: 6 of 8 runs cannot be made; nothing was started:" in done.stderr
    assert "decision: 'gpt-6' is not in pool simulated" in done.stderr
    assert "difficulty: 'x' is not one of hard, mmlu-like" in done.stderr
    assert "\n  and 1 more\n" in done.stderr
    assert not results.exists()


EXAMPLES = sorted((ROOT / "notebooks" / "configs").glob("sweep_*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_sweeps_that_ship_fit_their_notebooks(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "NOTEBOOKS", ROOT / "notebooks")
    monkeypatch.setenv("OPENROUTER_API_KEY", "not-a-key")
    sweep = plan_sweep(path)
    check_sweep(sweep, sweep.plans)
    assert len(set(sweep.labels)) == len(sweep.plans) > 1


def test_the_sweep_of_the_manual_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "NOTEBOOKS", ROOT / "notebooks")
    manual = (ROOT / "docs" / "batches.md").read_text(encoding="utf-8")
    path = tmp_path / "manual.yaml"
    path.write_text(manual.split("```yaml\n")[1].split("```")[0])
    assert len(plan_sweep(path).plans) == 3 * 3 + 1


def test_what_is_complete_is_skipped_and_failures_explained(write: Any) -> None:
    path = write(grid={"seed": [0, 1, 2]}, runs=[{"action": "fail"}])
    sweep, seen = plan_sweep(path), list[Progress]()
    act(sweep.plans[1])
    workers = ActingWorkers()
    result = run_sweep(sweep, lambda: workers, on_progress=seen.append)
    assert (result.planned, result.skipped, result.done, result.complete) == (4, 1, 2, 3)
    assert result.failures == [('seed=0, action="fail"', "90_tiny: asked to fail")]
    assert workers.stopped
    last = replace(seen[-1], seconds_left=None)
    assert str(last) == "3 of 4 done, 0 running, 1 failed"
    again = run_sweep(sweep, ActingWorkers)
    assert (again.skipped, again.done, len(again.failures)) == (3, 0, 1)
    assert run_sweep(sweep, ActingWorkers, force=True).done == 3


def test_nothing_to_do_starts_no_workers(write: Any) -> None:
    sweep = plan_sweep(write(grid={"seed": [0]}))
    act(sweep.plans[0])

    def none() -> ActingWorkers:
        raise AssertionError("workers were started")

    assert run_sweep(sweep, none).skipped == 1


def test_the_time_left_follows_from_the_runs_so_far() -> None:
    line = str(Progress(200, 60, 2, 1, 0.1234, 4000.0))
    assert line == "60 of 200 done, 2 running, 1 failed, $0.1234 spent, about 67 min left"
    assert [duration(s) for s in (5, 89, 90, 5400)] == ["5 s", "89 s", "2 min", "1.5 h"]


def test_dry_run_lists_and_starts_nothing(write: Any, results: Path) -> None:
    path = write(grid={"seed": [0, 1]}, budget_usd=5)
    act(plan_sweep(path).plans[0])
    lines = CliRunner().invoke(app, ["sweep", str(path), "--dry-run"]).stdout.splitlines()
    assert [line.split()[2] for line in lines[:2]] == ["complete", "to"]
    assert lines[0].endswith("seed=0")
    assert lines[2] == "2 runs, 1 to do, limit $5"
    assert len(list(results.rglob("run.json"))) == 1


def test_the_command_says_how_it_ended(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "LocalWorkers", lambda count: ActingWorkers(slots=count))
    path = write(grid={"action": ["finish", "fail"]})
    done = CliRunner().invoke(app, ["sweep", str(path), "--workers", "1"])
    assert done.exit_code == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("many: 1 of 2 complete (0 were before), 1 failed, ")
    assert second == 'failed: action="fail": 90_tiny: asked to fail'
    assert "1 of 2 done, 0 running, 1 failed" in done.stderr
    path.write_text(path.read_text().replace("- fail", "- forget"))
    assert CliRunner().invoke(app, ["sweep", str(path)]).exit_code == 0


def test_parameter_files_hold_what_each_run_is_given(write: Any, tmp_path: Path) -> None:
    path = write(base={"rate": "1e-4"}, grid={"names": [["x"], ["y", "z"]]})
    done = CliRunner().invoke(app, ["sweep", str(path), "--write", str(tmp_path / "each")])
    assert done.stdout == f"2 parameter files in {tmp_path / 'each'}\n"
    files = write_parameters(plan_sweep(path), tmp_path / "each")
    assert [file.name for file in files] == ["0001.yaml", "0002.yaml"]
    assert [read_values(file) for file in files] == [
        {"rate": 0.0001, "names": ["x"]}, {"rate": 0.0001, "names": ["y", "z"]},
    ]  # fmt: skip


def test_runs_beyond_one_machine_have_a_call_store_each_and_keep_it(write: Any) -> None:
    seen: list[Plan] = []

    def execute(plan: Plan) -> Outcome:
        seen.append(plan)
        return act(plan)

    path = write(grid={"seed": [0, 1]})
    plans = plan_sweep(path).plans
    run_sweep(plan_sweep(path), lambda: ActingWorkers(execute), own_stores=True)
    assert [plan.calls for plan in seen] == [plan.folder / "calls.sqlite" for plan in seen]
    seen.clear()
    CallStore(plans[1].folder / "calls.sqlite").close()
    run_sweep(plan_sweep(path), lambda: ActingWorkers(execute), force=True)
    assert [plan.calls for plan in seen] == [None, plans[1].folder / "calls.sqlite"]


def test_a_run_of_plain_papermill_is_one_of_the_sweep(write: Any, results: Path) -> None:
    """The same grid by papermill's own command: the runs have the same folders, and are done."""
    import subprocess
    import sys

    path = write(base={"rate": "1e-4"}, grid={"seed": [0, 1], "names": [["x"]]})
    write_parameters(plan_sweep(path), path.parent / "each")
    notebook, out = path.with_name("90_tiny.ipynb"), path.with_name("out.ipynb")
    command = [sys.executable, "-m", "papermill", str(notebook), str(out), "--no-progress-bar"]
    by_hand = ["-p", "seed", "0", "-p", "rate", "1e-4", "-y", "names: [x]"]
    for arguments in (by_hand, ["-f", str(path.parent / "each" / "0002.yaml")]):
        subprocess.run([*command, *arguments], check=True, capture_output=True)
    sweep = plan_sweep(path)
    assert [runs.status(plan.folder) for plan in sweep.plans] == ["complete"] * 2
    assert sweep.todo() == []
    assert json.loads((sweep.plans[0].folder / "config.json").read_text())["parameters"] == (
        sweep.plans[0].parameters
    )
