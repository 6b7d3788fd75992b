"""What a text gives as its answer: one function for the three kinds of task."""

from hieramas_lib.tasks.choice_extraction import extract_choice
from hieramas_lib.tasks.code_extraction import extract_code
from hieramas_lib.tasks.maths_extraction import extract_expression
from hieramas_lib.tasks.task import Task
from hieramas_lib.tasks.thoughts import without_thoughts

MAX_CHARACTERS = 20_000
"""How much of the end of a choice or maths answer is read; bounds the time taken."""


def extract_answer(task: Task, text: str) -> str | None:
    """Read the answer out of ``text``: a letter, an expression or a program by ``task.kind``.

    None means that no answer is stated, or several at once. Total: no text raises. Text
    between ``<think>`` tags is no answer; where only the closing tag is there, what precedes
    it is none either.
    """
    said = without_thoughts(text).strip()
    if not said:
        return None
    if task.kind == "choice":
        return extract_choice(said[-MAX_CHARACTERS:], task.choices)
    if task.kind == "maths":
        return extract_expression(said[-MAX_CHARACTERS:])
    return extract_code(said, task.tests.entry_point) if task.tests else None
