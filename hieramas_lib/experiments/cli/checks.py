"""``doctor``, ``bench``, ``calibrate``: look at the installation, speed and simulation."""

import os
from pathlib import Path
from typing import Annotated

import typer

from hieramas_lib.experiments.cli.errors import errors


def doctor(
    call: Annotated[
        bool, typer.Option("--call", help="Make one call to each LLM, well below a cent each.")
    ] = False,
    pool: Annotated[
        list[Path] | None, typer.Option(help="Pool file to call; all that ship if not given.")
    ] = None,
) -> None:
    """Say what is installed, and which models and keys can be used."""
    from hieramas_lib.experiments.doctor import findings
    from hieramas_lib.experiments.first_call import first_calls
    from hieramas_lib.llms.pool import shipped_pools

    with errors():
        for line in first_calls(pool or shipped_pools()) if call else findings(os.environ):
            typer.echo(line)


def bench(
    name: Annotated[str, typer.Argument(help="Such as teams; without one, lists them.")] = "",
) -> None:
    """Measure speed and print it beside the goals and other systems' figures."""
    from hieramas_lib.experiments.bench import run_bench

    with errors():
        raise typer.Exit(run_bench(name))


def calibrate(
    tables: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the tables of real outcomes are.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write; data/simulation.")
    ] = None,
) -> None:
    """Lay the simulated pool against real LLMs, and write down how near it comes."""
    from hieramas_lib.experiments.calibration.real_outcomes import FOLDER
    from hieramas_lib.experiments.calibration.report import calibrate as compare
    from hieramas_lib.experiments.calibration.report import write_calibration
    from hieramas_lib.paths import data_path

    with errors():
        calibration = compare(tables or FOLDER)
        folder = to or data_path("simulation")
        for path in write_calibration(calibration, folder):
            typer.echo(path)
        for miss in calibration.misses():
            typer.echo(f"outside its goal: {miss}")
