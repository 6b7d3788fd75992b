"""``pair`` and ``prepare``: make the files that notebooks start from."""

from pathlib import Path
from typing import Annotated

import typer

from hieramas_lib.experiments.cli.errors import errors


def pair() -> None:
    """Make each notebooks/NN_slug.ipynb from its .py (for authors of notebooks)."""
    from hieramas_lib.experiments import pairing

    with errors():
        for source in pairing.sources():
            typer.echo(f"{source.stem}  {'written' if pairing.pair(source) else 'unchanged'}")


def prepare(
    file: Annotated[Path, typer.Argument(help="Such as examples/own_benchmark/benchmark.yaml.")],
    train: Annotated[int, typer.Option(help="Questions to train on.", min=0)] = 0,
    val: Annotated[int, typer.Option(help="Questions to choose settings on.", min=0)] = 0,
    test: Annotated[int, typer.Option(help="Questions to report on.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="What the splits are drawn with.")] = 0,
) -> None:
    """Make the splits and text vectors that a benchmark of your own names."""
    from hieramas_lib.experiments import benchmark_source

    with errors():
        sizes = {"train": train, "val": val, "test": test}
        for line in benchmark_source.prepare(file, sizes, seed):
            typer.echo(line)
