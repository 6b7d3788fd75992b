"""Plans of simulated planning roles: sound or not, which only the wording tells.

Each task has one approach that works and one that only looks so, both drawn from the same list.
A reader knows which is which by the task; the text itself does not say.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hieramas_lib.llms.world_draws import uniforms
from hieramas_lib.tasks.task import Kind, Task

_APPROACHES: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        "choice": (
            "settle what the key term means and test every option against it",
            "rule out the options that contradict a well-known fact",
            "recall the standard example of the field and compare each option with it",
            "look for the option that stays true in the extreme case",
            "separate what is asked from what is merely mentioned",
            "work out the answer before reading the options",
        ),
        "maths": (
            "name the unknowns, write one equation for each condition and solve the system",
            "look for an invariant and reduce the problem to it",
            "count the complement and subtract",
            "work backwards from the required form of the answer",
            "try small cases, find the pattern and prove it",
            "change to variables in which the condition is symmetric",
        ),
        "code": (
            "make one pass over the input and keep a running state",
            "sort the input first and compare neighbours",
            "handle the empty and one-element cases, then reduce to a smaller input",
            "count occurrences in a dictionary and build the result from the counts",
            "generate all candidates and filter them by the stated condition",
            "walk over the input with two indices that move towards each other",
        ),
    }
)
_PLAN = re.compile(r"^Plan: (.+?)\.", re.MULTILINE)


def write_plan(task: Task, sound: bool, seed: int) -> str:
    """Write the plan of a planner that has, or has not, seen how to do ``task``."""
    approach = _approaches(task, seed)[0 if sound else 1]
    return f"Plan: {approach}. Then check the result against every condition of the task."


def judge_plan(task: Task, text: str, seed: int) -> bool | None:
    """Return whether the plan in ``text`` is sound for ``task``; None if there is no such plan."""
    found = _PLAN.search(text)
    if found is None:
        return None
    sound, unsound = _approaches(task, seed)
    return {sound: True, unsound: False}.get(found.group(1))


def _approaches(task: Task, seed: int) -> tuple[str, str]:
    """Return the approach that works and the one that does not."""
    options = _APPROACHES[task.kind]
    first, second = uniforms(2, seed, "plan", task.id)
    sound = int(first * len(options))
    unsound = (sound + 1 + int(second * (len(options) - 1))) % len(options)
    return options[sound], options[unsound]
