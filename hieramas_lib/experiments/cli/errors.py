"""How a command ends: the exit codes of ``hieramas``."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from hieramas_lib.errors import ConfigError


@contextmanager
def errors() -> Iterator[None]:
    """Turn errors that a user can act on into a line and an exit code."""
    from hieramas_lib.experiments.execution.kernel import NotebookFailed

    try:
        yield
    except ConfigError as error:
        _leave(str(error), 2)
    except NotebookFailed as error:
        _leave(str(error), 1)


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn Ctrl-C, and SIGTERM, which batch systems send, into a line and exit code 130."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        _leave("stopped. What is complete stays, and the same command goes on from there", 130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(message: str, code: int) -> None:
    typer.echo(f"hieramas: {message}", err=True)
    raise typer.Exit(code) from None
