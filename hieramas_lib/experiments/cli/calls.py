"""``calls``: what the calls cost, and their tape."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.cli.errors import errors

if TYPE_CHECKING:
    from hieramas_lib.llms.call_store import CallStore

calls = typer.Typer(invoke_without_command=True)

Store = Annotated[
    Path | None, typer.Option("--store", help="Call store; results/calls.sqlite if not given.")
]


@calls.callback()
def list_calls(
    context: typer.Context,
    by: Annotated[Literal["model", "role", "experiment"], typer.Option("--by")] = "model",
    store: Store = None,
) -> None:
    """Say what the calls so far cost, paid and as if uncached; hand them on as a tape."""
    from hieramas_lib.llms.call_summary import listing

    context.obj = store
    if context.invoked_subcommand:
        return
    with errors():
        for line in listing(_call_store(store), by):
            typer.echo(line)


@calls.command("export")
def export_calls(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="For example calls.jsonl.gz.")],
    experiment: Annotated[
        str | None, typer.Option(help="Only the calls that this experiment used.")
    ] = None,
    store: Store = None,
) -> None:
    """Write the calls as one file, which replays them elsewhere; no key is in it."""
    from hieramas_lib.llms.tape import export_tape

    with errors():
        count = export_tape(_call_store(store or context.obj), file, experiment)
        typer.echo(f"{count:,} calls in {file}")


@calls.command("import")
def import_calls(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `hieramas calls export` wrote.")],
    store: Store = None,
) -> None:
    """Add the calls of a file to the call store; answers that are there stay as they are."""
    from hieramas_lib.llms.tape import import_tape

    with errors():
        done = import_tape(_call_store(store or context.obj, must_exist=False), file)
        typer.echo(f"{done.new:,} calls are new, {done.known:,} were there already")


def _call_store(path: Path | None, *, must_exist: bool = True) -> "CallStore":
    from hieramas_lib.llms.call_store import CallStore
    from hieramas_lib.paths import call_store_path

    path = path or call_store_path()
    if must_exist and not path.exists():
        raise ConfigError(f"{path}: no calls yet; runs on real LLMs and `calls import` make it")
    return CallStore(path)
