"""Answers as small integers, so that numpy can follow a simulated team without its texts.

The codes of a task: 0 is the right answer, 1 to C-1 the wrong ones that LLMs of the pool fall for
and what readers take these for, in the order of their texts (by which the simulated reader breaks
ties). Two more codes stand for replies without an answer: C (``mute``) for one that others read in
vain, C+1 (``empty``) for one that nobody can read. A planner's reply is 0 for a sound plan and 1
for another.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.simulated_answers import read_answer, render_answer
from hieramas_lib.llms.world import World
from hieramas_lib.tasks.task import Kind, Task

Codes = NDArray[np.int8]

MOST_ANSWERS: Final = 120
"""Codes are 8-bit numbers."""


class AnswerCodes:
    """The answers of ``tasks`` by code.

    Args:
        tasks: Questions of one kind.
        world: Who falls for which wrong answer.
        llms: Who is asked.

    Attributes:
        tasks: The questions; arrays over tasks are in this order.
        kind: Their kind.
        answers: For each task the texts of its codes 0, 1, ...
        count: C, the most answers that a task has.

    Raises:
        ConfigError: no tasks, tasks of several kinds, an LLM that the world does not know, or too
            many answers to one task.
    """

    def __init__(self, tasks: Sequence[Task], world: World, llms: Sequence[str]) -> None:
        if not tasks:
            raise ConfigError("tasks: at least one is needed")
        kinds = sorted({task.kind for task in tasks})
        if len(kinds) > 1:
            raise ConfigError(f"tasks: one kind at a time, got {', '.join(kinds)}")
        self.tasks = tuple(tasks)
        self.kind: Kind = tasks[0].kind
        for llm in llms:
            world.check(llm)
        wrong = [[world.wrong_answer(llm, task) for llm in llms] for task in tasks]
        self.answers = tuple(_answers(task, set(w)) for task, w in zip(tasks, wrong, strict=True))
        self.count = max(map(len, self.answers))
        if self.count > MOST_ANSWERS:
            raise ConfigError(f"tasks: at most {MOST_ANSWERS} answers each, got {self.count}")
        self._index: list[dict[str | None, int]] = [
            {text: i for i, text in enumerate(texts)} for texts in self.answers
        ]
        chosen = [[index[text] for text in w] for index, w in zip(self._index, wrong, strict=True)]
        self._own = dict(zip(llms, np.array(chosen, np.int8).T, strict=True))

    @property
    def mute(self) -> int:
        """Code of a reply that is read but gives no answer."""
        return self.count

    @property
    def empty(self) -> int:
        """Code of a reply that nobody can read."""
        return self.count + 1

    @property
    def replies(self) -> int:
        """How many codes there are, with those for no answer."""
        return self.count + 2

    def own_wrong(self, llm: str) -> Codes:
        """Return the code of the wrong answer that ``llm`` falls for, shape ``[tasks]``."""
        return self._own[llm]

    @cached_property
    def as_read(self) -> Codes | None:
        """What a reader takes each code for, shape ``[C, tasks]``; None if for itself.

        Two wrong programs that differ in brackets only are read as one, whichever that is.
        """
        table = np.tile(np.arange(self.count, dtype=np.int8)[:, None], (1, len(self.tasks)))
        for column, task in enumerate(self.tasks):
            for code, text in enumerate(self.answers[column]):
                table[code, column] = self._index[column].get(_read(task, text), self.mute)
        return None if (table == np.arange(self.count)[:, None]).all() else table

    def text(self, column: int, code: int) -> str | None:
        """Return the answer that ``code`` stands for in the task at ``column``; None if none."""
        return self.answers[column][code] if code < len(self.answers[column]) else None


def _answers(task: Task, wrong: set[str]) -> tuple[str, ...]:
    """Return the right answer, then the wrong ones and what readers take them for."""
    read = {text for text in (_read(task, one) for one in wrong) if text is not None}
    return (task.gold, *sorted((wrong | read) - {task.gold}))


def _read(task: Task, answer: str) -> str | None:
    return read_answer(task, render_answer(task, answer))
