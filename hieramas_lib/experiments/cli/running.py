"""``run``, ``run-all``, ``run-local``, ``sweep``: execute notebooks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.cli.errors import errors, stoppable

Force = Annotated[bool, typer.Option("--force", help="Run again what is complete.")]


def run_all(
    force: Force = False,
    workers: Annotated[int, typer.Option(help="Notebooks at a time.", min=1)] = 2,
) -> None:
    """Run every notebook at its defaults, then write the report."""
    from hieramas_lib.experiments import report
    from hieramas_lib.experiments.execution import batch

    with errors(), stoppable():
        batch.run_all(force=force, workers=workers, on_progress=typer.echo)
        typer.echo(f"report: {report.write_report()}")


def run(
    notebook: Annotated[str, typer.Argument(help="Name, number or path, e.g. 05.")],
    parameter: Annotated[
        list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="May be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", metavar="FILE.yaml", help="Parameters; -p wins over it.")
    ] = None,
    force: Force = False,
) -> None:
    """Run one notebook with other parameters."""
    from hieramas_lib.experiments.config import read_values
    from hieramas_lib.experiments.execution import batch
    from hieramas_lib.experiments.execution.notebooks import find_notebook

    with errors(), stoppable():
        path = find_notebook(notebook)
        values = (read_values(file) if file else {}) | _assignments(parameter or [], path)
        outcome = batch.run_notebook(path, values, force=force)
        done = "skipped (complete)" if outcome.skipped else f"done in {outcome.seconds:.0f} s"
        typer.echo(f"{outcome.experiment}  {done}: {outcome.folder}")


def sweep(
    file: Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="See docs/batches.md.")],
    workers: Annotated[int, typer.Option(help="Runs at a time on this machine.", min=1)] = 2,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="Take a dask scheduler's workers instead."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, list the runs, start none.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Limit for all runs together; wins over the file's."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a parameter file a run, for papermill -f."),
    ] = None,
    force: Force = False,
) -> None:
    """Run one notebook with many parameters; what is complete is skipped."""
    from hieramas_lib.experiments.cli import sweeping
    from hieramas_lib.experiments.execution.sweep import plan_sweep, write_parameters

    with errors(), stoppable():
        planned = plan_sweep(file, budget_usd=budget)
        if write:
            typer.echo(f"{len(write_parameters(planned, write))} parameter files in {write}")
        elif dry_run:
            sweeping.list_runs(planned, force=force)
        else:
            sweeping.run(planned, workers=workers, scheduler=scheduler, force=force)


def run_local(
    pool: Annotated[
        Path | None, typer.Option(help="Pool file; data/pools/local.yaml if not given.")
    ] = None,
    budget_usd: Annotated[
        float, typer.Option(help="Spending limit of each notebook, for a pool that costs money.")
    ] = 0.0,
    force: Force = False,
) -> None:
    """Train both stages on real models, with a report of its own under results/local."""
    from hieramas_lib.experiments import local_run

    with errors(), stoppable():
        path = local_run.run_local(pool, budget_usd=budget_usd, force=force, on_progress=typer.echo)
        typer.echo(f"report: {path}")


def _assignments(texts: list[str], notebook: Path) -> dict[str, Any]:
    """Read ``name=value`` texts; the value is read as what the notebook declares."""
    from hieramas_lib.experiments.config import parse_value, read_parameters

    defaults = {p.name: p.default for p in read_parameters(notebook)}
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"-p {text}: write NAME=VALUE")
        values[name] = parse_value(value, defaults.get(name))
    return values
