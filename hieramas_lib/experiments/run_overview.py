"""Which runs are complete, what they cost, and what each of them concluded."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hieramas_lib.experiments.report import FinishedRun

if TYPE_CHECKING:
    import pandas as pd


def overview_table(runs: Sequence[FinishedRun]) -> "pd.DataFrame":
    """Return one row a run.

    Columns: ``experiment, run, commit, wall_s, calls_made, as_if_usd`` (list prices, as if nothing
    had been cached), ``paid_usd, simulated`` (whether any LLM was).
    """
    import pandas as pd

    rows = [
        {
            "experiment": run.experiment,
            "run": run.about["run_id"],
            "commit": run.about["commit"],
            "wall_s": run.about["wall_s"],
            "calls_made": run.about["usage"]["calls"],
            "as_if_usd": run.about["usage"]["as_if_usd"],
            "paid_usd": run.about["usage"]["paid_usd"],
            "simulated": run.about["simulated"],
        }
        for run in runs
    ]
    columns = [
        "experiment", "run", "commit", "wall_s", "calls_made", "as_if_usd", "paid_usd", "simulated",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def conclusions_text(runs: Sequence[FinishedRun]) -> str:
    """Return the conclusions of each run, under its name and id; a run without any is left out."""
    lines = []
    for run in runs:
        path = run.folder / "conclusions.json"
        if path.exists():
            sentences = json.loads(path.read_text(encoding="utf-8"))
            lines += [f"{run.experiment} (run {run.folder.name})", *(f"  - {s}" for s in sentences)]
    return "\n".join(lines)
