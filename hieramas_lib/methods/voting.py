"""Majority votes over the answers of several calls."""

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hieramas_lib.tasks.behaviour import behaviour
from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.maths_grading import maths_verdict
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import CallRecord


@dataclass(frozen=True, slots=True)
class Vote:
    """The outcome of a vote.

    Attributes:
        winner: The first call that gave the winning answer.
        tied: Whether another answer was given as often, so that the tie rule decided.
    """

    winner: CallRecord
    tied: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """Calls whose answers mean the same, in the order given."""

    answer: str
    calls: tuple[CallRecord, ...]


async def vote(task: Task, calls: Sequence[CallRecord]) -> Vote:
    """Return the most frequent answer among those of ``calls``.

    Failed calls and truncated, refused and unreadable answers do not vote. Answers that mean the
    same are one: equal letters, equal expressions, and programs that return the same on the
    examples in the task's own prompt (:func:`~hieramas_lib.tasks.behaviour.behaviour`). A program
    that does not get through the examples votes only where none does. There, and where the prompt
    has no example that can be read, programs are one if they differ in layout and comments only.

    Tie rule: among equally frequent answers the one given first wins. Without any answer, the
    first call that came back is the winner, else the first call.

    Raises:
        SandboxUnusable: programs cannot be run safely here.
    """
    answers = [(call, _answer(task, call)) for call in calls]
    given = [(call, answer) for call, answer in answers if answer is not None]
    if not given:
        return Vote(next((call for call in calls if call.completion), calls[0]))
    if task.kind == "choice":
        groups = _alike(task, given)
    else:
        # Expressions and programs are compared in worker processes: not on the event loop.
        groups = await asyncio.to_thread(_alike, task, given)
    if task.kind == "code" and len(groups) > 1:
        groups = await _by_behaviour(task, groups)
    most = max(len(group.calls) for group in groups)
    first, *others = [group for group in groups if len(group.calls) == most]
    return Vote(first.calls[0], tied=bool(others))


def same_answer(task: Task, first: str, second: str) -> bool:
    """Return whether two extracted answers to ``task`` mean the same, as far as texts tell."""
    if first == second:
        return True
    if task.kind == "maths":
        return maths_verdict(first, second) == "equal"
    if task.kind == "code":
        return ast.dump(parse_program(first)) == ast.dump(parse_program(second))
    return False


def _answer(task: Task, call: CallRecord) -> str | None:
    if call.completion is None or call.completion.finish_reason in ("length", "refusal"):
        return None
    return extract_answer(task, call.text)


def _alike(task: Task, given: Sequence[tuple[CallRecord, str]]) -> list[_Group]:
    """Group answers that mean the same, groups in the order of their first answers."""
    groups: list[_Group] = []
    for call, answer in given:
        for index, group in enumerate(groups):
            if same_answer(task, group.answer, answer):
                groups[index] = _Group(group.answer, (*group.calls, call))
                break
        else:
            groups.append(_Group(answer, (call,)))
    return groups


async def _by_behaviour(task: Task, groups: Sequence[_Group]) -> list[_Group]:
    """Merge groups of programs that do the same on the prompt's examples, if any can be told."""
    found = await asyncio.gather(
        *(asyncio.to_thread(behaviour, task, group.answer) for group in groups)
    )
    merged: dict[str, _Group] = {}
    for does, group in zip(found, groups, strict=True):
        if does is not None:
            known = merged.get(does, _Group(group.answer, ()))
            merged[does] = _Group(known.answer, (*known.calls, *group.calls))
    return list(merged.values()) or list(groups)
