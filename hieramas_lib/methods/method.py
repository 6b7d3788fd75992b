"""The one protocol behind which every method stands."""

from collections.abc import Sequence
from typing import Protocol

from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout


class Method(Protocol):
    """A way to answer tasks, possibly learned."""

    @property
    def name(self) -> str:
        """Name shown in tables and figures."""
        ...

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Learn from graded tasks; methods without learning do nothing."""
        ...

    async def answer(self, task: Task) -> Rollout:
        """Answer one task and have the answer graded."""
        ...
