"""A pool file is opened once a process: one budget for all, and each run counts its own calls."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.experiments.benchmark import Setting, real_llms, setting_of
from hieramas_lib.experiments.config import declare, resolve
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.llms.call_summary import summarise
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.service import LLMService


class Stub:
    """Answers with 1,000 completion tokens: a tenth of a cent at 1 dollar a million."""

    async def complete(self, request: ChatRequest) -> Completion:
        return Completion("x", "stop", 0, 1000, None, 0.1, False, "")


@pytest.fixture(autouse=True)
def stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hieramas_lib.llms.connect._client", lambda spec, world: Stub())


def pool_file(folder: Path, price: float = 1.0) -> Path:
    llm = {
        "name": "a", "client": "openai", "model": "maker/a", "family": "f", "profile": "p",
        "price": {"input": price, "output": price, "date": "2026-11-01", "source": "made up"},
    }  # fmt: skip
    path = folder / "pool.yaml"
    pool = {"name": "made up", "skip_profile": "none", "reference": "a", "llms": [llm]}
    path.write_text(yaml.safe_dump(pool))
    return path


def ask(llms: LLMService, sample: int) -> Completion:
    request = ChatRequest("a", (Message("user", "hi"),), sample=sample, max_tokens=1000)
    return asyncio.run(llms.complete(request))


def usage(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())["usage"]
    return found


def test_each_run_in_one_process_reports_its_own_calls(tmp_path: Path) -> None:
    path, found = pool_file(tmp_path), []
    for seed in range(3):
        run = start_run("demo", {"seed": seed})
        ask(run.watch(real_llms(path, 1.0)), sample=seed)
        run.finish()
        found.append(usage(run.folder))
    assert [(u["calls"], u["made"], u["completion_tokens"]) for u in found] == [(1, 1, 1000)] * 3
    assert [u["paid_usd"] for u in found] == pytest.approx([0.001] * 3)


def test_the_call_store_knows_which_experiment_used_what(tmp_path: Path) -> None:
    path = pool_file(tmp_path)
    for experiment, samples in (("05_train", (0, 1)), ("07_main", (1, 2))):
        run = start_run(experiment, {"seed": 0})
        llms = run.watch(real_llms(path, 1.0))
        for sample in samples:
            ask(llms, sample)
    totals = summarise(llms.store, "experiment")
    assert {name: (t.made, t.hits) for name, t in totals.items()} == {
        "05_train": (2, 0), "07_main": (1, 1),
    }  # fmt: skip


def test_another_limit_keeps_what_was_spent(tmp_path: Path, monkeypatch: Any) -> None:
    path = pool_file(tmp_path)
    llms = real_llms(path, 0.0015)
    ask(llms, sample=0)
    monkeypatch.chdir(tmp_path)
    again = real_llms(Path(path.name), 0.0018)
    with pytest.raises(BudgetExceeded, match=r"\$0\.001000 of \$0\.001800 is spent"):
        ask(again, sample=1)
    ask(real_llms(path, 0.003), sample=1)
    assert again is llms
    assert llms.budget is not None
    assert llms.budget.spent_usd == pytest.approx(0.002)


def test_a_sweeps_limit_holds_where_it_is_lower(tmp_path: Path, monkeypatch: Any) -> None:
    path = pool_file(tmp_path)
    for allotted, limit in (("0.0005", 0.0005), ("5.0", 1.0), ("inf", 1.0)):
        monkeypatch.setenv("HIERAMAS_BUDGET_USD", allotted)
        budget = real_llms(path, 1.0).budget
        assert budget is not None and budget.usd == limit


def test_calls_are_kept_where_the_environment_says(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HIERAMAS_CALLS", str(tmp_path / "own" / "7.sqlite"))
    ask(real_llms(pool_file(tmp_path), 1.0), sample=0)
    assert (tmp_path / "own" / "7.sqlite").exists()


def test_paid_llms_need_a_limit_each_time_and_free_ones_none(tmp_path: Path) -> None:
    path = pool_file(tmp_path)
    for limit in (0.0, 1.0, 0.0):
        if limit:
            ask(real_llms(path, limit), sample=0)
            continue
        with pytest.raises(ConfigError, match=r"budget_usd: a of .* cost money"):
            real_llms(path, limit)
    (tmp_path / "free").mkdir()
    assert ask(real_llms(pool_file(tmp_path / "free", price=0.0), 0.0), sample=1).cost_usd == 0


def test_setting_names_the_llms_and_says_whether_they_are_simulated() -> None:
    declared = declare({"pool": "simulated", "difficulty": "hard"})
    simulated = resolve(declared, {}, "demo")
    twin = resolve(declared, {"pool": "simulated:data/pools/qwen.yaml"}, "demo")
    real = resolve(declared, {"pool": "data/pools/qwen.yaml"}, "demo")
    assert setting_of(simulated) == Setting(simulated=True, text="hard simulated world")
    assert setting_of(twin).simulated
    assert setting_of(twin).text == "hard simulated world, pool 'simulated qwen'"
    assert setting_of(real) == Setting(
        simulated=False, text="real LLMs: qwen3-next-80b-a3b, qwen3-8b"
    )
