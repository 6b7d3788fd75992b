"""Wait for asynchronous work from plain code: a script, a cell, or a function called by either."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what ``work`` returns, or raise what it raises.

    Where an event loop is running already, as in a notebook, the work runs in a loop of its own
    on another thread, and the running loop stands still meanwhile; ``await`` the work there if
    other things are to go on.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
