"""``report`` and its like: print what is in the results folder."""

from pathlib import Path
from typing import Annotated

import typer

from hieramas_lib.experiments.cli.errors import errors
from hieramas_lib.paths import results_path


def report() -> None:
    """Write one offline HTML page from the results that are there."""
    from hieramas_lib.experiments.report import write_report

    with errors():
        typer.echo(f"report: {write_report()}")


def collect(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".parquet or .csv; results/all.parquet if not given."),
    ] = None,
) -> None:
    """Put the records of all complete runs into one table, and their metrics into another."""
    from hieramas_lib.experiments.collect import collect as collect_runs

    with errors():
        done = collect_runs(out or results_path("all.parquet"))
        typer.echo(f"{done.rows:,} records of {done.runs} complete runs: {done.records}")
        typer.echo(f"their metrics: {done.metrics}")
        if done.without_records:
            typer.echo(f"{done.without_records} of the complete runs saved no records")
        for (experiment, state), count in sorted(done.incomplete.items()):
            typer.echo(f"left out: {count} {state} of {experiment}")
        for failure in done.failures:
            typer.echo(f"  {failure if len(failure) <= 200 else failure[:199] + '…'}")


def table(
    number: Annotated[str, typer.Argument(help="Of the HieraMAS paper: 1 to 4, 6 to 11, or all.")],
    form: Annotated[str, typer.Option("--format", help="text, latex, csv or html.")] = "text",
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Run to print; the newest if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write files there instead of printing."),
    ] = None,
) -> None:
    """Print a table of the paper from our runs, and below it the paper's own numbers."""
    from hieramas_lib.experiments.paper.printing import print_tables

    with errors():
        for line in print_tables(number, form, run, out):
            typer.echo(line)


def figures(
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="results/figures if not given.")
    ] = None,
) -> None:
    """Gather the figures of the newest runs, PDF and PNG, with captions, in one folder."""
    from hieramas_lib.experiments.paper.figures import gather_figures

    with errors():
        folder = out or results_path("figures")
        gathered = gather_figures(folder)
        for line in dict.fromkeys(gathered.values()):
            typer.echo(f"from {line}")
        typer.echo(f"{len(gathered)} figures as PDF and PNG: {folder}")
