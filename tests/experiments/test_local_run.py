"""What ``make run-local`` runs: real models, on the easier questions, with a report of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import local_run, runs
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.config import read_parameters, resolve
from hieramas_lib.experiments.execution.notebooks import find_notebook
from hieramas_lib.experiments.local_run import NUMBERS, plan, run_local
from hieramas_lib.experiments.report import write_report
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.paths import ROOT, data_path, results_path
from hieramas_lib.tasks.load import load_tasks

EASY = "examples/easy_knowledge/benchmark.yaml"


@pytest.fixture(autouse=True)
def notebooks(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped notebooks, as here their parameters are what is tested."""
    monkeypatch.setattr(runs, "NOTEBOOKS", ROOT / "notebooks")


def own_pool(folder: Path, client: str = "openai") -> Path:
    llms = [
        {"name": name, "client": client, "model": name, "family": "f", "profile": name}
        for name in ("big", "small")
    ]
    path = folder / "own.yaml"
    pool = {"name": "own", "skip_profile": "-", "reference": "small", "llms": llms}
    path.write_text(yaml.safe_dump(pool), encoding="utf-8")
    return path


@pytest.mark.parametrize("number", NUMBERS)
def test_parameters_fit_the_notebook_and_the_local_pool(number: str) -> None:
    values = plan(number)
    assert resolve(read_parameters(find_notebook(number)), values)
    pool = load_pool(data_path("pools", "local.yaml"))
    assert values["pool"] == "data/pools/local.yaml"
    assert values["benchmark"] == EASY
    # Naming the pool that is the default changes no LLM.
    named = plan(number, data_path("pools", "local.yaml"))
    assert {k: v for k, v in named.items() if k != "pool"} == {
        k: v for k, v in values.items() if k != "pool"
    }
    assert values["decision"] == pool.reference


def test_a_pool_of_ones_own_gives_the_llms(tmp_path: Path) -> None:
    path = own_pool(tmp_path)
    first, second = plan("05", path), plan("06", path)
    assert first["pool"] == second["pool"] == str(path)
    assert first["decision"] == first["strongest"] == second["decision"] == "small"
    assert first["alone"] == ["big", "small"]
    assert "alone" not in second
    assert resolve(read_parameters(find_notebook("05")), first)


def test_simulated_llms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"own\.yaml: has simulated LLMs"):
        plan("05", own_pool(tmp_path, "simulated"))


def test_the_easy_questions_are_levels_1_and_2_in_the_same_splits() -> None:
    easy = benchmark_source(EASY)
    for split, tasks in (("train", easy.train), ("val", easy.val), ("test", easy.test)):
        whole = load_tasks("knowledge", split)
        assert tasks == tuple(task for task in whole if task.level is not None and task.level <= 2)
    assert easy.roles.constrained
    easy.encoder()


def test_examples_shown_to_a_model_are_no_shipped_questions() -> None:
    prompts = " ".join(task.prompt.casefold() for task in load_tasks("knowledge"))
    pool = load_pool(data_path("pools", "local.yaml"))
    for example in (e for spec in pool.llms for e in spec.examples):
        assert example.question.casefold().removesuffix("?") not in prompts


def test_results_and_report_stand_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(chosen: list[tuple[Path, dict[str, Any]]], **options: Any) -> None:
        assert [path.stem[:2] for path, _ in chosen] == list(NUMBERS)
        assert all(values["budget_usd"] == 2.0 for _, values in chosen)
        assert options["force"]
        run = start_run("demo", {"seed": 0})
        run.save_conclusions(["seen"])
        run.finish()

    monkeypatch.setattr(local_run, "run_several", fake)
    before = results_path()
    report = run_local(budget_usd=2.0, force=True)
    assert report == before / "local" / "report.html"
    assert results_path() == before
    page = report.read_text(encoding="utf-8")
    assert "simulated" not in page
    assert "real models" in page
    with pytest.raises(ConfigError, match="no complete run yet"):
        write_report()
    assert json.loads(next((before / "local" / "demo").glob("*/run.json")).read_text())
