"""Notebooks on a benchmark of one's own, which is described by files alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from hieramas_lib.experiments.execution.batch import run_notebook
from hieramas_lib.experiments.execution.notebooks import find_notebook

NAME = "examples/own_benchmark/benchmark.yaml"
SMALL = {"seeds": [0], "graphs": 4}
PLANS = {
    "05": SMALL | {"benchmark": NAME, "passes": 1, "group": 2},
    "06": SMALL | {"benchmark": NAME, "graphs_per_task": 2, "tests": 3},
    "07": SMALL
    | {
        "benchmarks": [NAME],
        "methods": ["CoT", "GDesigner", "MASRouter"],
        "effort": "tiny",
        "passes": 1,
        "graphs_per_task": 2,
        "tests": 3,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("number", PLANS)
def test_it_runs(number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIERAMAS_RESULTS", str(tmp_path))
    values: dict[str, Any] = PLANS[number]
    outcome = run_notebook(find_notebook(number), values)
    assert json.loads((outcome.folder / "run.json").read_text())["status"] == "complete"
    conclusions = json.loads((outcome.folder / "conclusions.json").read_text())
    assert conclusions
    assert number != "07" or conclusions[0].startswith("kitchen, hard simulated world")
