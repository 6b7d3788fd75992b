"""What ``hieramas sweep`` shows: a line that is kept up to date, and how it ended."""

import sys
import time
from collections.abc import Callable

import typer

from hieramas_lib.experiments.execution.sweep import Sweep, check_sweep, run_sweep
from hieramas_lib.experiments.execution.sweep_result import Progress, SweepResult, duration
from hieramas_lib.experiments.execution.workers import LocalWorkers, Workers

_LINE_EVERY_S = 30.0
"""Pause between two lines where they cannot be overwritten: in a log file."""


def list_runs(sweep: Sweep, *, force: bool) -> None:
    """Check a sweep and list its runs, complete or to be done."""
    todo = sweep.todo(force=force)
    check_sweep(sweep, todo)
    folders = {plan.folder for plan in todo}
    for plan, label in zip(sweep.plans, sweep.labels, strict=True):
        state = "to do" if plan.folder in folders else "complete"
        typer.echo(f"{plan.experiment} {plan.folder.name}  {state:<8}  {label}")
    limit = "" if sweep.budget_usd is None else f", limit ${sweep.budget_usd:g}"
    typer.echo(f"{len(sweep.plans)} runs, {len(todo)} to do{limit}")


def run(sweep: Sweep, *, workers: int, scheduler: str | None, force: bool) -> None:
    """Run a sweep, show where it stands, and say at the end what failed.

    Raises:
        typer.Exit: with code 1 if a run failed or was not started.
    """
    line = _Line()
    try:
        result = run_sweep(
            sweep,
            _cluster(scheduler) if scheduler else lambda: LocalWorkers(workers),
            own_stores=scheduler is not None,
            force=force,
            on_progress=line.show,
        )
    finally:
        line.end()
    for text in _ending(sweep, result):
        typer.echo(text)
    if result.failures or result.not_started:
        raise typer.Exit(1)


def _cluster(address: str) -> Callable[[], Workers]:
    def connected() -> Workers:
        from hieramas_lib.experiments.execution.cluster import ClusterWorkers

        return ClusterWorkers(address)

    return connected


class _Line:
    """The progress line: overwritten in a terminal, now and then a new one in a log."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._next = 0.0
        self._last = ""

    def show(self, progress: Progress) -> None:
        self._last = str(progress)
        if self._live:
            typer.echo(f"\r\x1b[K{self._last}", err=True, nl=False)
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            typer.echo(self._last, err=True)

    def end(self) -> None:
        """Leave the last line standing."""
        if self._last:
            typer.echo("" if self._live else self._last, err=True)


def _ending(sweep: Sweep, result: SweepResult) -> list[str]:
    spent = f", ${result.spent_usd:.4f} spent" if result.spent_usd else ""
    lines = [
        f"{sweep.name}: {result.complete} of {result.planned} complete ({result.skipped} were "
        f"before), {len(result.failures)} failed, {duration(result.seconds)}{spent}"
    ]
    for label, text in result.failures:
        lines.append(f"failed: {label + ': ' if label else ''}{text}")
    if result.not_started:
        lines.append(
            f"not started: {len(result.not_started)} runs, as the limit of ${sweep.budget_usd:g} "
            "leaves no room for them. Raise --budget, and the same command goes on with them"
        )
        lines += [f"  {label}" for label in result.not_started]
    return lines
