"""Stop a run without losing what is paid for.

No further call starts, those that wait for their turn are dropped, those that went out come back
and are kept, see :mod:`hieramas_lib.llms.cancellation`. This holds for an error that stops a run
and for a cancellation (Ctrl-C, a timeout, a caller that gives up) alike.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hieramas_lib.errors import CallError
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.tasks.task import Task


class Cancelled(Exception):
    """The caller gave up; raised within a run only, where ``CancelledError`` would drop calls."""


class Halt:
    """The first error that is not a failed call; once there is one, no further call starts."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._calling: set[asyncio.Task[Any]] = set()

    def report(self, error: Exception, task: Task) -> None:
        """Stop the run because of ``error``, met in the rollout of ``task``; the first counts."""
        if self.error is None:
            error.add_note(f"in the rollout of task {task.id!r}")
            self._stop(error)

    def cancel(self) -> None:
        """Stop the run because its caller gave up."""
        if self.error is None:
            self._stop(Cancelled("the caller gave up"))

    def check(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Make a call here: it does not begin if the run has stopped, and is cancelled if it does.

        Raises:
            Exception: the error that stopped the run.
        """
        self.check()
        task = asyncio.current_task()
        assert task is not None, "calls are made in tasks"
        self._calling.add(task)
        try:
            yield
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            self._calling.discard(task)

    def _stop(self, error: Exception) -> None:
        self.error = error
        for task in self._calling:
            task.cancel()


class UntilHalt:
    """LLMs that take no further call once a run has stopped, for a rollout that is not a team's."""

    def __init__(self, llms: LLMClient, halt: Halt, task: Task) -> None:
        """Send calls for ``task`` on to ``llms``; what stops the run is reported to ``halt``."""
        self._llms, self._halt, self._task = llms, halt, task

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; raises what stopped the run, too."""
        try:
            with self._halt.calling():
                return await self._llms.complete(request)
        except CallError:
            raise
        except Exception as error:
            self._halt.report(error, self._task)
            raise
