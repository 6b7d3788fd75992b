"""The run contract: identity, order of files, and nothing complete that is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.runs import IncompleteRun, start_notebook, start_run, status

FRAME = pd.DataFrame({"method": ["a", "b"], "value": [0.25, 0.5]})


def about(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return loaded


def test_config_is_written_first_and_marker_last(results: Path) -> None:
    run = start_run("demo", {"seed": 3, "rate": 0.5})
    assert run.folder.parent == results / "demo"
    assert sorted(p.name for p in run.folder.iterdir()) == ["config.json"]
    config = json.loads((run.folder / "config.json").read_text())
    assert config["parameters"] == {"seed": 3, "rate": 0.5}
    run.save_records(FRAME)
    run.save_metrics(FRAME)
    assert status(run.folder) == "incomplete"
    assert run.finish(rows=2).startswith(f"run {run.run_id} finished: ")
    assert status(run.folder) == "complete"
    assert pd.read_parquet(run.folder / "records.parquet").equals(FRAME)
    assert (run.folder / "metrics.csv").read_text() == "method,value\na,0.25\nb,0.5\n"
    assert not list(run.folder.rglob("*.part"))


def test_marker_holds_provenance() -> None:
    run = start_run("demo", {"seeds": [0, 1]})
    run.finish()
    found = about(run.folder)
    assert found["run_id"] == run.run_id == run.folder.name
    assert found["commit"] == run.commit.rstrip("+")
    assert found["dirty"] is run.commit.endswith("+")
    assert {"python", "numpy", "torch", "hieramas-lib"} <= set(found["versions"])
    assert run.stamp == f"seeds 0, 1 · run {run.run_id} · commit {run.commit}"


def test_usage_is_summed_over_stores_each_once(used_service: Callable[..., Any]) -> None:
    run = start_run("demo", {"seed": 0})
    first = used_service(run, 0.25, 0.5, None)
    run.watch(first)
    used_service(run, 1.0, client="openai")
    summary = run.finish()
    usage = about(run.folder)["usage"]
    assert (usage["calls"], usage["as_if_usd"], usage["unpriced"]) == (4, 1.75, 1)
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (40, 20)
    assert "at least $1.75" in summary
    assert about(run.folder)["simulated"] is True


def test_runs_of_one_process_count_only_their_own_calls(used_service: Callable[..., Any]) -> None:
    shared, found = None, []
    for seed in range(3):
        run = start_run("demo", {"seed": seed})
        shared = used_service(run, 0.25, None, service=shared)
        run.finish()
        usage = about(run.folder)["usage"]
        found.append([usage[n] for n in ("calls", "made", "as_if_usd", "unpriced")])
    assert found == [[2, 2, 0.25, 1]] * 3


def test_real_pool_alone_is_not_simulated(used_service: Callable[..., Any]) -> None:
    run = start_run("demo", {"seed": 0})
    used_service(run, 1.0, client="local")
    run.finish()
    assert about(run.folder)["simulated"] is False


def test_a_run_with_a_simulated_table_and_no_llms_is_simulated() -> None:
    run = start_run("demo", {"seed": 0})
    run.save_table(pd.DataFrame({"n": [1]}), "a", "Replayed.", simulated=True)
    run.finish(tables=["a"])
    assert json.loads((run.folder / "run.json").read_text())["simulated"] is True


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ({"rows": 3}, "2 records were saved, 3 are planned"),
        ({}, "the number planned, as `rows`"),
        ({"figures": ["curve"]}, "figures/curve.pdf was not saved"),
        ({"tables": ["main", "other"]}, "tables/other.csv was not saved"),
    ],
)
def test_missing_output_leaves_the_run_incomplete(declared: dict[str, Any], fault: str) -> None:
    run = start_run("demo", {"seed": 0})
    run.save_records(FRAME)
    run.save_table(FRAME, "main", "Values.", simulated=True)
    with pytest.raises(IncompleteRun, match=fault):
        run.finish(**declared)
    assert status(run.folder) == "incomplete"


def test_empty_table_is_refused() -> None:
    run = start_run("demo", {"seed": 0})
    with pytest.raises(IncompleteRun, match="no rows"):
        run.save_table(FRAME.head(0), "main", "Nothing.", simulated=False)


def test_starting_again_removes_old_outputs_but_no_checkpoint() -> None:
    run = start_run("demo", {"seed": 0})
    run.save_records(FRAME)
    run.save_table(FRAME, "old", "Values.", simulated=False)
    run.save_file("checkpoints/1.pt", b"weights")
    run.save_file("notebook.ipynb", b"{}")
    run.finish(rows=2)
    again = start_run("demo", {"seed": 0})
    left = {str(p.relative_to(run.folder)) for p in run.folder.rglob("*") if p.is_file()}
    assert again.folder == run.folder
    assert left == {"config.json", "checkpoints/1.pt", "notebook.ipynb"}


def test_under_the_runner_only_the_runner_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(runs.UNDER_RUNNER, "1")
    run = start_run("demo", {"seed": 0})
    assert "finished: " in run.finish()
    assert status(run.folder) == "written"
    runs.mark_complete(run.folder)
    assert status(run.folder) == "complete"


def test_notebook_of_that_name_checks_names_and_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {
        "cell_type": "code",
        "metadata": {"tags": ["parameters"]},
        "source": ["seeds = [0]  # seeds\n", "rate = 0.5  # a rate"],
    }
    (tmp_path / "05_demo.ipynb").write_text(json.dumps({"cells": [cell]}))
    monkeypatch.setattr(runs, "NOTEBOOKS", tmp_path)
    run = start_run("05_demo", {"seeds": [1], "rate": "1e-3"})
    assert (run.config.seeds, run.config.rate) == ((1,), 0.001)
    with pytest.raises(ConfigError, match="unknown parameter 'rates'"):
        start_run("05_demo", {"rates": 1})
    with pytest.raises(ConfigError, match="Fix: give a list"):
        start_run("05_demo", {"seeds": "[1]"})


def test_a_notebook_gives_its_globals_and_only_its_parameters_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {
        "cell_type": "code",
        "metadata": {"tags": ["parameters"]},
        "source": ["seeds = [0]  # seeds\n", "rate = 0.5  # a rate"],
    }
    (tmp_path / "05_demo.ipynb").write_text(json.dumps({"cells": [cell]}))
    monkeypatch.setattr(runs, "NOTEBOOKS", tmp_path)
    run = start_notebook("05_demo", {"seeds": [3], "rate": 0.1, "other": object()})
    assert run.config.plain() == {"seeds": [3], "rate": 0.1}
    with pytest.raises(ConfigError, match="05_demo: rate: run the parameters cell first"):
        start_notebook("05_demo", {"seeds": [3]})


def test_experiment_must_be_a_plain_name() -> None:
    with pytest.raises(ConfigError, match="plain name"):
        start_run("../demo", {})


def test_table_is_saved_for_people_and_for_latex() -> None:
    run = start_run("demo", {"seed": 0})
    run.save_table(FRAME, "main", "Values of a_b.", simulated=True)
    folder = run.folder / "tables"
    assert (folder / "main.csv").read_text().startswith("method,value\na,0.25")
    assert "Values of a\\_b. Simulated LLMs" in (folder / "main.tex").read_text()
    note = json.loads((folder / "main.json").read_text())
    assert note["simulated"] is True
    assert "no evidence" in note["caption"]
