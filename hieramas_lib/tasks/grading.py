"""The verdict on an answer. Depends on nothing but the task and the text."""

from functools import lru_cache

from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.maths_grading import GraderError, maths_verdict
from hieramas_lib.tasks.sandbox import ProgramResult, run_program
from hieramas_lib.tasks.task import CodeTests, Grade, Task


def grade(task: Task, text: str) -> Grade:
    """Grade ``text`` as an answer to ``task``.

    Thread-safe; the work on one (reference, answer) pair is done once. A failure of the
    grader gives status ``"error"``, never ``"wrong"``.
    """
    if not text or not text.strip():
        return Grade("empty")
    extracted = extract_answer(task, text)
    if extracted is None:
        return Grade("unparsed")
    try:
        if task.kind == "choice":
            return Grade("correct" if extracted == task.gold else "wrong", extracted)
        if task.kind == "maths":
            return _grade_maths(task.gold, extracted)
        return _grade_code(task, extracted)
    except GraderError as error:
        return Grade("error", extracted, str(error))


def _grade_maths(gold: str, extracted: str) -> Grade:
    verdict = maths_verdict(gold, extracted)
    if verdict == "unreadable gold":
        return Grade("error", extracted, f"the gold answer {gold!r} is no expression")
    if verdict == "equal":
        return Grade("correct", extracted)
    return Grade("wrong", extracted, "" if verdict == "different" else verdict)


def _grade_code(task: Task, extracted: str) -> Grade:
    if task.tests is None:
        return Grade("error", extracted, f"task {task.id} has no tests")
    program = _given_code(task.prompt, task.tests.entry_point, extracted) + extracted
    result = _run_tests(task.tests, program)
    if result.status == "passed":
        return Grade("correct", extracted)
    return Grade("wrong", extracted, result.detail or result.status)


def _given_code(prompt: str, entry_point: str, extracted: str) -> str:
    """Return what the prompt gives before the function: imports and helpers an answer may omit."""
    lines = prompt.split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith(f"def {entry_point}(")]
    if not starts or "from __future__" in extracted:  # that must be a program's first line
        return ""
    return "\n".join(lines[: starts[-1]]) + "\n"


@lru_cache(maxsize=20_000)
def _run_tests(tests: CodeTests, program: str) -> ProgramResult:
    """Run a program against tests (memoised); raises GraderError, not memoised, if ours failed."""
    result = run_program(program, tests=f"{tests.program}\n\ncheck({tests.entry_point})\n")
    if result.status == "error":
        raise GraderError(f"the sandbox failed: {result.detail}")
    return result
