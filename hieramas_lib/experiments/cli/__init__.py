"""The command line ``hieramas``: a thin door to the library, one module a topic.

Exit codes: 0 done, 1 a notebook failed, 2 bad input (one line says what to change), 130 stopped by
Ctrl-C.
"""

import typer

from hieramas_lib.experiments.cli import checks, results, running, sources
from hieramas_lib.experiments.cli.calls import calls
from hieramas_lib.experiments.cli.serve import serve

__all__ = ["app"]

app = typer.Typer(
    help="Run the notebook collection and print its results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command("run-all")(running.run_all)
app.command()(running.run)
app.command()(running.sweep)
app.command("run-local")(running.run_local)
app.command()(results.report)
app.command()(results.collect)
app.command()(results.table)
app.command()(results.figures)
app.command()(sources.pair)
app.command()(checks.calibrate)
app.command()(checks.doctor)
app.command()(sources.prepare)
app.command()(checks.bench)
app.add_typer(calls, name="calls")
app.add_typer(serve, name="serve")
