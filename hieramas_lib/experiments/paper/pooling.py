"""Runs of one notebook that differ in their seeds only, read as one experiment.

A sweep over seeds makes one run a seed; a table is to be made of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.report import FinishedRun, finished_runs
from hieramas_lib.paths import results_path

if TYPE_CHECKING:
    import pandas as pd

_MAY_DIFFER = ("seeds", "seed", "budget_usd")


@dataclass(frozen=True)
class PooledRuns:
    """Complete runs of one notebook with the same parameters but for seeds and budget.

    Attributes:
        runs: The leading one first: the newest, or the one that was asked for.
        seeds: For each run, the seeds that are taken from it: those that none before it has.
    """

    runs: tuple[FinishedRun, ...]
    seeds: tuple[tuple[int, ...], ...]

    @property
    def lead(self) -> FinishedRun:
        """The run whose parameters are those of all."""
        return self.runs[0]

    @property
    def simulated(self) -> bool:
        """Whether the LLMs were simulated."""
        return bool(self.lead.about["simulated"])

    @property
    def provenance(self) -> str:
        """Name runs, seeds and commits in a sentence."""
        parts = []
        for run, seeds in zip(self.runs, self.seeds, strict=True):
            word = "seed" if len(seeds) == 1 else "seeds"
            of = f"{word} {', '.join(map(str, seeds))}, " if seeds else ""
            changed = "+" if run.about["dirty"] else ""
            parts.append(f"{run.about['run_id']} ({of}commit {run.about['commit']}{changed})")
        return f"{self.lead.experiment}, run{'s' * (len(parts) > 1)} {'; '.join(parts)}."

    @cached_property
    def records(self) -> "pd.DataFrame":
        """The records of all runs, of each only the seeds that are taken from it."""
        return self.rows("records.parquet")

    def rows(self, name: str) -> "pd.DataFrame":
        """Return the rows of a file that every run has, of each only the seeds taken from it.

        Args:
            name: Within the run's folder; ``.parquet`` or ``.csv``, with a column ``seed``.

        Raises:
            ConfigError: a run lacks the file; names it.
        """
        import pandas as pd

        frames = []
        for run, seeds in zip(self.runs, self.seeds, strict=True):
            path = run.folder / name
            if not path.exists():
                raise ConfigError(f"{path}: missing. Fix: run {run.experiment} again with --force")
            frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
            frames.append(frame[frame["seed"].isin(seeds)] if seeds else frame)
        return pd.concat(frames, ignore_index=True)


def pooled_runs(
    experiment: str, run_id: str | None = None, results: Path | None = None
) -> PooledRuns:
    """Find the runs of ``experiment`` that belong together.

    Args:
        experiment: Name of the notebook.
        run_id: The leading run, or the beginning of its id; by default the newest.
        results: The folder of runs; by default where runs are written to.

    Raises:
        ConfigError: there is no such run.
    """
    root = results or results_path()
    found = [run for run in finished_runs(root) if run.experiment == experiment]
    named = [run for run in found if str(run.about["run_id"]).startswith(run_id or "")]
    if not named:
        what = f"run {run_id!r} of {experiment}" if run_id else f"complete run of {experiment}"
        raise ConfigError(f"{root}: no {what}. Fix: `hieramas run {experiment[:2]}`, then again")
    lead = named[0]
    alike = [run for run in found if run is not lead and _setting(run) == _setting(lead)]
    return _without_double_seeds([lead, *alike])


def _without_double_seeds(runs: Sequence[FinishedRun]) -> PooledRuns:
    """Take each seed from the first run that has it; a run that adds none is left out."""
    taken: list[FinishedRun] = []
    seeds: list[tuple[int, ...]] = []
    known: set[int] = set()
    for run in runs:
        new = tuple(seed for seed in _seeds(run) if seed not in known)
        if new or not taken:
            taken.append(run)
            seeds.append(new)
            known.update(new)
    return PooledRuns(tuple(taken), tuple(seeds))


def _setting(run: FinishedRun) -> dict[str, Any]:
    parameters = run.config["parameters"]
    kept = {name: value for name, value in parameters.items() if name not in _MAY_DIFFER}
    return kept | {"simulated": run.about["simulated"], "pools": run.about["pools"]}


def _seeds(run: FinishedRun) -> tuple[int, ...]:
    parameters = run.config["parameters"]
    seeds = parameters.get("seeds", parameters.get("seed", []))
    return tuple(seeds) if isinstance(seeds, list) else (seeds,)
