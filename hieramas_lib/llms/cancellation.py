"""Cancelling without losing what is paid for.

A provider bills a call that it was sent, whether or not anybody waits for the answer; so the answer
is waited for and kept, whatever was cancelled: by Ctrl-C, a timeout, or a caller that gives up.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_end(
    work: Coroutine[Any, Any, T], on_cancel: Callable[[], None] = lambda: None
) -> T:
    """Await ``work``, in a task of its own.

    If this is cancelled, ``on_cancel`` is called and ``work`` awaited to its end; then the
    cancellation goes on. A second cancellation is one of ``work``, too.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        # Unlike a shield, gathering hands a cancellation on to the task, and waits for it.
        await asyncio.gather(task, return_exceptions=True)
        raise
