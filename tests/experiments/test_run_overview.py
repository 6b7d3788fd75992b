"""The overview takes what the runs say of themselves, and leaves nothing out of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hieramas_lib.experiments.report import finished_runs
from hieramas_lib.experiments.run_overview import conclusions_text, overview_table
from hieramas_lib.experiments.runs import start_run


def test_each_run_has_a_row_with_what_it_cost(used_service: Callable[..., Any]) -> None:
    asked, quiet = (start_run(name, {"seed": 0}) for name in ("04_a", "05_b"))
    used_service(asked, 0.25, 0.5)
    asked.save_conclusions(["It rises.", "It falls."])
    for run in (asked, quiet):
        run.finish()
    runs = finished_runs()
    table = overview_table(runs)
    assert list(table["experiment"]) == ["04_a", "05_b"]
    assert list(table["run"]) == [asked.run_id, quiet.run_id]
    assert list(table["calls_made"]) == [2, 0]
    assert list(table["as_if_usd"]) == [0.75, 0]
    assert list(table["paid_usd"]) == [0, 0]
    assert list(table["simulated"]) == [True, False]
    assert conclusions_text(runs).splitlines() == [
        f"04_a (run {asked.run_id})", "  - It rises.", "  - It falls.",
    ]  # fmt: skip


def test_without_runs_the_table_is_empty_and_keeps_its_columns(results: Path) -> None:
    assert finished_runs(results) == []
    assert "simulated" in overview_table([])
    assert conclusions_text([]) == ""
