"""What parameters stand for is checked before a kernel starts, as a notebook itself would."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hieramas_lib.experiments import runs
from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.execution.plan import plan_run
from hieramas_lib.experiments.parameter_checks import check_parameters
from hieramas_lib.paths import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
PRICE = {"input": 1, "output": 2, "date": "2026-11-01", "source": "test"}


def pool_file(folder: Path, **fields: Any) -> str:
    """Write a pool of one LLM; YAML reads JSON."""
    spec = {"name": "one", "client": "openai", "model": "m", "family": "f", "profile": "p"}
    llms = [spec | {"price": PRICE} | fields]
    path = folder / "pool.yaml"
    path.write_text(
        json.dumps({"name": "own", "skip_profile": "-", "reference": "one", "llms": llms})
    )
    return str(path)


def test_sound_values_and_unknown_names_pass(tmp_path: Path) -> None:
    check_parameters("x", {})
    check_parameters("x", {"decision": "gpt-5-mini", "difficulty": "hard", "own": ["anything"]})
    check_parameters("x", {"benchmarks": ["maths", "humaneval"], "seeds": [0], "pool": "simulated"})
    own = {"pool": pool_file(tmp_path), "budget_usd": 0.1, "decision": "one", "alone": ["one"]}
    check_parameters("x", own)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"decision": "gpt-6"}, "decision: 'gpt-6' is not in pool simulated; it has"),
        ({"strongest": "gpt-6"}, "strongest: 'gpt-6' is not in pool"),
        ({"alone": ["gpt-5-mini", "x"]}, "alone, place 2: 'x' is not in pool"),
        ({"pool": "nowhere.yaml"}, "nowhere.yaml: no such pool file"),
        ({"difficulty": "easy"}, "difficulty: 'easy' is not one of hard, mmlu-like"),
        ({"difficulties": ["hard", "soft"]}, "difficulty: 'soft' is not one of"),
        ({"difficulties": []}, "difficulties: give at least one"),
        ({"benchmark": "mmlu"}, "benchmark: 'mmlu' is not one of knowledge"),
        ({"benchmarks": ["maths", "mmlu"]}, "benchmark: 'mmlu' is not one of knowledge"),
        ({"benchmarks": []}, "benchmarks: give at least one"),
        ({"seeds": []}, "seeds: give at least one"),
        ({"agent_llms": ["gpt9"]}, "agent_llms, place 1: 'gpt9' is not in pool"),
        ({"llms": ["gpt-5-mini", "gpt9"]}, "llms, place 2: 'gpt9' is not in pool"),
        ({"passes": 0}, "passes: at least 1, got 0"),
        ({"tests": -3}, "tests: at least 0, got -3"),
        ({"group": 1}, "group: at least 2, got 1"),
        ({"alpha": 2.0}, "alpha: from 0 to 1, got 2.0"),
        ({"credit": "multi"}, "credit: 'multi' is not one of multi_level"),
        ({"effort": "slow"}, "effort: 'slow' is not one of tiny, quick, full"),
        ({"mode": "sync"}, "mode: 'sync' is not one of synchronous, reference"),
        ({"engine": "text"}, "engine: 'text' is not one of answers, texts"),
        ({"faults": ["wrong", "silly"]}, "faults: 'silly' is not one of wrong, refusal, noise"),
        ({"trained_with": "silly"}, "trained_with: 'silly' is not one of"),
        ({"methods": ["CoTT"]}, "methods: 'CoTT' is not one of Base"),
        ({"methods": []}, "methods: give at least one"),
        ({"variants": ["grph"]}, "variants: 'grph'"),
    ],
)
def test_each_fault_names_the_run_and_the_parameter(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"05: .*{message}"):
        check_parameters("05", values)


def test_llms_must_be_reachable_and_paid_ones_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OWN_KEY", raising=False)
    own = {"pool": pool_file(tmp_path, key_env="OWN_KEY"), "budget_usd": 1.0}
    with pytest.raises(ValueError, match=r"needs a key in the environment variable OWN_KEY"):
        check_parameters("05", own)
    monkeypatch.setenv("OWN_KEY", "not-a-key")
    check_parameters("05", own)
    with pytest.raises(ValueError, match=r"budget_usd: one of .*pool\.yaml cost money"):
        check_parameters("05", own | {"budget_usd": 0.0})
    pool_file(tmp_path, client="local", model="nowhere.gguf")
    with pytest.raises(ValueError, match=r"nowhere\.gguf is missing"):
        check_parameters("05", own)
    pool_file(tmp_path, base_url="http://127.0.0.1:1/v1", price=PRICE | {"input": 0, "output": 0})
    check_parameters("05", {"pool": own["pool"]})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_defaults_of_the_shipped_notebooks_pass(path: Path) -> None:
    plan_run(path, {}).check()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("decision=gpt-6", "05_stage1_policy: decision: 'gpt-6' is not in pool simulated"),
        ("benchmark=mmlu", "05_stage1_policy: benchmark: 'mmlu' is not one of"),
        ("pool=data/llm_pool.yaml", "05_stage1_policy: budget_usd: "),
        ("decison=x", "did you mean 'decision'"),
    ],
)
def test_the_shipped_notebooks_are_refused_before_a_kernel_starts(
    results: Path, monkeypatch: pytest.MonkeyPatch, fault: str, message: str
) -> None:
    monkeypatch.setattr(runs, "NOTEBOOKS", ROOT / "notebooks")
    monkeypatch.setattr("papermill.execute_notebook", None)
    done = CliRunner().invoke(app, ["run", "05", "-p", fault])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not results.exists()
