"""Majority votes over the answers of several calls."""

import ast
from collections.abc import Sequence

from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.maths_grading import maths_verdict
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import CallRecord


def vote(task: Task, calls: Sequence[CallRecord]) -> CallRecord:
    """Return the first call that gives the most frequent answer.

    Truncated, refused and unreadable answers do not vote. Answers that mean the same are one:
    equal expressions, programs that differ in layout and comments only. Among equally frequent
    answers the first given wins. Without any answer, the first call that came back is returned,
    else the first call.
    """
    classes: list[tuple[str, list[CallRecord]]] = []
    for call in calls:
        answer = _answer(task, call)
        if answer is None:
            continue
        for known, members in classes:
            if same_answer(task, known, answer):
                members.append(call)
                break
        else:
            classes.append((answer, [call]))
    if classes:
        return max(classes, key=lambda entry: len(entry[1]))[1][0]
    return next((call for call in calls if call.completion), calls[0])


def same_answer(task: Task, first: str, second: str) -> bool:
    """Return whether two extracted answers to ``task`` mean the same."""
    if first == second:
        return True
    if task.kind == "maths":
        return maths_verdict(first, second) == "equal"
    if task.kind == "code":
        return ast.dump(ast.parse(first)) == ast.dump(ast.parse(second))
    return False


def _answer(task: Task, call: CallRecord) -> str | None:
    if call.completion is None or call.completion.finish_reason in ("length", "refusal"):
        return None
    return extract_answer(task, call.text)
