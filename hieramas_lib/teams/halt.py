"""Stop without losing what is paid for: no further call starts, those in flight come back.

This holds for an error that stops a run and for a cancellation (Ctrl-C, a timeout, a caller that
gives up) alike. A provider bills a call that it was sent, whether or not anybody waits for the
answer; so the answer is waited for, and the call store keeps it.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hieramas_lib.tasks.task import Task

T = TypeVar("T")


class Cancelled(Exception):
    """The caller gave up; raised within a run only, where ``CancelledError`` would drop calls."""


class Halt:
    """The first error that is not a failed call; once there is one, no further call starts."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def report(self, error: Exception, task: Task) -> None:
        """Stop the run because of ``error``, met in the rollout of ``task``; the first counts."""
        if self.error is None:
            error.add_note(f"in the rollout of task {task.id!r}")
            self.error = error

    def cancel(self) -> None:
        """Stop the run because its caller gave up."""
        if self.error is None:
            self.error = Cancelled("the caller gave up")

    def check(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error


async def run_to_end(work: Coroutine[Any, Any, T], halt: Halt) -> T:
    """Await ``work``, which looks at ``halt`` before each call.

    If this is cancelled, ``work`` is halted and awaited to its end, which takes as long as the
    calls in flight do; then the cancellation goes on. A second cancellation drops these calls.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        halt.cancel()
        # Unlike a shield, gathering hands a cancellation on to the task, and waits for it.
        await asyncio.gather(task, return_exceptions=True)
        raise
