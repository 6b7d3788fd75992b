"""A results folder for each test, and a call store that has been used."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hieramas_lib.experiments import runs
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
    """Make a stand-in for an LLM service with calls of given prices."""

    def make(*prices: float | None, client: str = "simulated") -> Any:
        store = CallStore()
        for i, price in enumerate(prices):
            completion = Completion("x", "stop", 10, 5, price, 0.1, False, f"key{i}")
            store.put(completion, name="a", client=client, model="a", request="{}", paid=False)
        pool = SimpleNamespace(name=f"{client} pool", llms=[SimpleNamespace(client=client)])
        return SimpleNamespace(pool=pool, store=store)

    return make
