"""A results folder for each test, and a call store that has been used."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hieramas_lib.experiments import runs
from hieramas_lib.experiments.runs import Run
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import Completion


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test's runs write to; the shipped notebooks declare nothing here."""
    folder = tmp_path / "results"
    monkeypatch.setenv("HIERAMAS_RESULTS", str(folder))
    monkeypatch.delenv(runs.UNDER_RUNNER, raising=False)
    monkeypatch.setattr(runs, "NOTEBOOKS", tmp_path / "no_notebooks")
    return folder


@pytest.fixture
def used_service() -> Callable[..., Any]:
    """Make a stand-in for an LLM service that a run watches while calls of given prices are made.

    ``service`` is one to use again.
    """

    def make(
        run: Run, *prices: float | None, client: str = "simulated", service: Any = None
    ) -> Any:
        pool = SimpleNamespace(name=f"{client} pool", llms=[SimpleNamespace(client=client)])
        service = run.watch(service or SimpleNamespace(pool=pool, store=CallStore()))
        for i, price in enumerate(prices):
            completion = Completion("x", "stop", 10, 5, price, 0.1, False, f"key{i}")
            service.store.put(
                completion, name="a", client=client, model="a", request="{}", paid=False
            )
        return service

    return make
