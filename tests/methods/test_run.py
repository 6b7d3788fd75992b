"""Waiting for asynchronous work, with and without a running loop."""

import asyncio
import threading

import pytest

from hieramas_lib.methods.run import run


async def double(value: int) -> int:
    await asyncio.sleep(0)
    return 2 * value


async def fail() -> None:
    raise KeyError("lost")


def test_without_a_loop_the_work_runs_here():
    async def where() -> threading.Thread:
        return threading.current_thread()

    assert run(double(3)) == 6
    assert run(where()) is threading.current_thread()


def test_inside_a_loop_as_in_a_notebook():
    async def cell() -> int:
        return run(double(4))

    assert asyncio.run(cell()) == 8


def test_errors_come_through():
    async def cell() -> None:
        run(fail())

    with pytest.raises(KeyError, match="lost"):
        run(fail())
    with pytest.raises(KeyError, match="lost"):
        asyncio.run(cell())
