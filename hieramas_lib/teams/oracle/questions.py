"""More questions than are shipped, and halves of them to search on and to judge on."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hieramas_lib.tasks.task import Task


def more_questions(tasks: Sequence[Task], copies: int) -> list[Task]:
    """Return ``copies`` of every task that a simulated world takes for other questions.

    Subject, level, answers and length are those of the task. Everything that belongs to a single
    question is drawn anew: difficulty, who knows it, and which wrong answer tempts whom.
    """
    return [
        replace(task, id=f"{task.id}/copy-{n}", prompt=f"{task.prompt}\n# Version {n}")
        for n in range(1, copies + 1)
        for task in tasks
    ]


def original_text(prompt: str) -> str:
    """Return the prompt that :func:`more_questions` made a copy's ``prompt`` from.

    What is no copy is returned as it is.
    """
    return re.sub(r"\n# Version \d+$", "", prompt)


def halves(tasks: Sequence[Task], seed: int) -> tuple[list[Task], list[Task]]:
    """Split ``tasks`` at random, each subject as evenly as it goes.

    Teams are searched on one half and judged on the other, as the best of many on the half that
    they were chosen on looks better than it is.
    """
    rng = np.random.default_rng(seed)
    shuffled = [tasks[i] for i in rng.permutation(len(tasks))]
    shuffled.sort(key=lambda task: task.subject)
    return shuffled[::2], shuffled[1::2]


def by_subject(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Group ``tasks`` by subject, subjects in alphabetical order."""
    groups: dict[str, list[Task]] = {}
    for task in sorted(tasks, key=lambda task: task.subject):
        groups.setdefault(task.subject, []).append(task)
    return groups
