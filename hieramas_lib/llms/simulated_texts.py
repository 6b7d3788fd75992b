"""The wording of simulated replies: short, in the agreed answer format, readable in a notebook."""

from hieramas_lib.llms.layout import Duty, Header
from hieramas_lib.llms.simulated_answers import render_answer
from hieramas_lib.tasks.task import LETTERS, Task

_OPENINGS: dict[Duty, tuple[str, ...]] = {
    "solver": (
        "Working through the question step by step leads to one result.",
        "The conditions of the question, taken in turn, settle it.",
        "First what is given, then what follows from it.",
    ),
    "expert": (
        "From what is established in this field, the question can be settled.",
        "This is familiar ground, and one fact decides it.",
        "The usual reasoning of this field applies here.",
    ),
    "checker": (
        "Each step has been checked, and so has the result.",
        "Looking for a mistake before accepting anything.",
        "Compared with the conditions of the question, one result holds.",
    ),
    "planner": ("Having looked at how it would be done, this is the result.",),
}
_BLANKS = ("", "What is given does not let me settle this with confidence.")


def write_answer(task: Task, answer: str, header: Header, duty: Duty, wording: float) -> str:
    """Write a reply that gives ``answer``; ``wording`` in (0, 1) picks the phrase."""
    final = render_answer(task, answer)
    if header.style == "answer only":
        return final
    openings = _OPENINGS[duty]
    opening = openings[int(wording * len(openings))]
    if task.kind == "choice" and answer in LETTERS[: len(task.choices)]:
        chosen = task.choices[LETTERS.index(answer)]
        return f"{opening} The option that fits is: {chosen}\n\n{final}"
    return f"{opening}\n\n{final}"


def write_blank(wording: float) -> str:
    """Write a reply without an answer; ``wording`` in (0, 1) picks it."""
    return _BLANKS[int(wording * len(_BLANKS))]
