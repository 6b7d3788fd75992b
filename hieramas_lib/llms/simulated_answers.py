"""The answers a simulated LLM can give to a task, and how it finds them in others' texts."""

import ast
import re
from functools import lru_cache
from itertools import count, islice

from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.task import LETTERS, Task

_STRAYS = 20
_LATEX_NOISE = re.compile(r"\s+|\$|\\left|\\right|\\,|\\!")


def render_answer(task: Task, answer: str) -> str:
    """Write ``answer`` in the format that is asked for."""
    if task.kind == "choice":
        return f"Answer: {answer}"
    if task.kind == "maths":
        return f"Answer: \\boxed{{{answer}}}"
    return f"```python\n{answer.strip()}\n```"


@lru_cache(maxsize=8192)
def wrong_answers(task: Task) -> tuple[str, ...]:
    """Return wrong answers to ``task`` in the form of its gold, most tempting first.

    Where the task names none: the other letters, numbers nearby, or a program that returns
    nothing.
    """
    if task.kind == "choice":
        letters = LETTERS[: len(task.choices)]
        others = [letter for letter in letters if letter not in (task.gold, *task.tempting)]
        # Starting at the letter after the gold one spreads the tempting answer over A, B, ...
        turn = letters.index(task.gold)
        others.sort(key=lambda letter: (letters.index(letter) - turn) % len(letters))
        return (*task.tempting, *others)
    if task.tempting:
        return task.tempting
    if task.kind == "maths":
        if re.fullmatch(r"-?\d+", task.gold):
            number = int(task.gold)
            near = (number + 1, number - 1, 2 * number + 3)
            return tuple(dict.fromkeys(str(n) for n in near if n != number))
        in_gold = _numbers_in(task.gold)
        return tuple(islice((text for text in map(str, count()) if text not in in_gold), 3))
    name = task.tests.entry_point if task.tests else "solution"
    return (f"def {name}(*arguments, **options):\n    return None",)


@lru_cache(maxsize=8192)
def stray_answers(task: Task) -> tuple[str, ...]:
    """Return 20 more wrong answers to a maths task, whole numbers; none to other tasks.

    They are near the gold answer where that is a whole number, else small.
    """
    if task.kind != "maths":
        return ()
    centre = int(task.gold) if re.fullmatch(r"-?\d+", task.gold) else 12
    taken = {*_numbers_in(task.gold), *wrong_answers(task), str(centre)}
    steps = (sign * step for step in range(2, 40) for sign in (1, -1))
    numbers = (str(centre + step) for step in steps)
    return tuple(islice((number for number in numbers if number not in taken), _STRAYS))


def _numbers_in(gold: str) -> set[str]:
    """Return numbers that a lenient grader might take for the right answer."""
    return set(re.findall(r"-?\d+", gold))


@lru_cache(maxsize=65536)
def read_answer(task: Task, text: str) -> str | None:
    """Return the answer that ``text`` gives, None if it gives none.

    An answer that is the gold or a known wrong one up to spelling is returned in that form;
    an answer never heard of is returned as it stands, and is taken to be wrong.
    """
    answer = extract_answer(task, text)
    return None if answer is None else _known(task).get(_normalise(task, answer), answer)


@lru_cache(maxsize=8192)
def _known(task: Task) -> dict[str, str]:
    """Map the normal form of every known answer, as extracted from a reply, to the answer."""
    known: dict[str, str] = {}
    for answer in (task.gold, *wrong_answers(task)):
        read = extract_answer(task, render_answer(task, answer))
        known.setdefault(_normalise(task, answer if read is None else read), answer)
    return known


def _normalise(task: Task, answer: str) -> str:
    if task.kind == "choice":
        return answer.strip().upper()
    if task.kind == "maths":
        return _LATEX_NOISE.sub("", answer).replace("dfrac", "frac").replace("tfrac", "frac")
    try:
        return ast.unparse(parse_program(answer))
    except (SyntaxError, ValueError, RecursionError):
        return answer.strip()
