"""The command line ``hieramas``: a thin door to the library.

Exit codes: 0 done, 1 a notebook failed, 2 bad input (one line says what to change).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from hieramas_lib.errors import ConfigError

app = typer.Typer(
    help="Run the notebook collection and print its results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Force = Annotated[bool, typer.Option("--force", help="Run again what is complete.")]


@app.command("run-all")
def run_all(
    force: Force = False,
    workers: Annotated[int, typer.Option(help="Notebooks at a time.", min=1)] = 2,
) -> None:
    """Run every notebook at its defaults, then write the report."""
    from hieramas_lib.experiments import notebook_run, report

    with _errors():
        notebook_run.run_all(force=force, workers=workers, on_progress=typer.echo)
        typer.echo(f"report: {report.write_report()}")


@app.command()
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
    from hieramas_lib.experiments import notebook_run
    from hieramas_lib.experiments.config import read_values

    with _errors():
        path = notebook_run.find_notebook(notebook)
        values = (read_values(file) if file else {}) | _assignments(parameter or [], path)
        outcome = notebook_run.run_notebook(path, values, force=force)
        done = "skipped (complete)" if outcome.skipped else f"done in {outcome.seconds:.0f} s"
        typer.echo(f"{outcome.experiment}  {done}: {outcome.folder}")


@app.command()
def report() -> None:
    """Write one offline HTML page from the results that are there."""
    from hieramas_lib.experiments.report import write_report

    with _errors():
        typer.echo(f"report: {write_report()}")


@app.command()
def pair() -> None:
    """Make each notebooks/NN_slug.ipynb from its .py (for authors of notebooks)."""
    from hieramas_lib.experiments import pairing

    with _errors():
        for source in pairing.sources():
            typer.echo(f"{source.stem}  {'written' if pairing.pair(source) else 'unchanged'}")


@app.command()
def doctor() -> None:
    """Say what is installed, and which models and keys can be used."""
    from hieramas_lib.experiments.doctor import findings

    with _errors():
        for finding in findings(os.environ):
            typer.echo(finding)


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


@contextmanager
def _errors() -> Iterator[None]:
    """Turn errors that a user can act on into a line and an exit code."""
    from hieramas_lib.experiments.notebook_run import NotebookFailed

    try:
        yield
    except ConfigError as error:
        typer.echo(f"hieramas: {error}", err=True)
        raise typer.Exit(2) from None
    except NotebookFailed as error:
        typer.echo(f"hieramas: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app()
