"""The verdict on an answer.

Depends on the task and the text, and for programs on one thing more: time limits are wall time,
``max(the tests' limit, LIMIT_FACTOR * the reference's time)``, where the reference is measured
once in this process. A program near its limit may pass on one run and time out on another.
"""

import ast
from functools import lru_cache

from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.maths_grading import GraderError, maths_verdict
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.sandbox import ProgramResult, run_program
from hieramas_lib.tasks.sandbox_wire import NOT_PLAIN
from hieramas_lib.tasks.task import CodeTests, Grade, Task

LIMIT_FACTOR = 4.0
"""How many times as long as the reference program a program may take."""

REFERENCE_LIMIT_S = 300.0
"""How long a reference program may take, in wall seconds."""


def grade(task: Task, text: str) -> Grade:
    """Grade ``text`` as an answer to ``task``.

    Thread-safe; the work on one (reference, answer) pair is done once. A failure of the
    grader gives status ``"error"``, never ``"wrong"``.

    A program has the time limit of its task's tests, or ``LIMIT_FACTOR`` times what the
    reference program took in this process, whichever is more. So slow machines and slow tasks
    fail no right program; a reference that fails here makes every grade of its task an error.

    Raises:
        SandboxUnusable: programs cannot be run safely here, see :mod:`.sandbox`.
    """
    if not text or not text.strip():
        return Grade("empty")
    if not _gradable(task):
        return Grade("error", detail=f"task {task.id} has nothing to grade by")
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


def _gradable(task: Task) -> bool:
    """Whether there is a gold answer, or tests for a program; a question of a chat has neither."""
    if task.kind == "code":
        return task.tests is not None and bool(task.tests.program.strip())
    return bool(task.gold)


class _NotPlainData(GraderError):
    """Tests and program would have to exchange what the sandbox cannot pass on."""


def _grade_maths(gold: str, extracted: str) -> Grade:
    verdict = maths_verdict(gold, extracted)
    if verdict == "unreadable gold":
        return Grade("error", extracted, f"the gold answer {gold!r} is no expression")
    if verdict == "equal":
        return Grade("correct", extracted)
    return Grade("wrong", extracted, "" if verdict == "different" else verdict)


def _grade_code(task: Task, extracted: str) -> Grade:
    assert task.tests is not None
    limit_s = task.tests.time_limit_s
    has_gold = bool(task.gold.strip())
    if has_gold:
        limit_s = _time_limit_s(task.tests, whole_program(task, task.gold))
    try:
        result = _run_tests(task.tests, whole_program(task, extracted), limit_s)
    except _NotPlainData as error:
        if has_gold:  # whose results the tests can read: the answer returns another kind
            return Grade("wrong", extracted, str(error))
        raise
    if result.status == "passed":
        return Grade("correct", extracted)
    return Grade("wrong", extracted, _cause(result))


def _cause(result: ProgramResult) -> str:
    # Not the limit itself, which differs from machine to machine.
    return "timeout" if result.status == "timeout" else result.detail or result.status


@lru_cache(maxsize=20_000)
def _time_limit_s(tests: CodeTests, reference: str) -> float:
    """Return the limit for programs (memoised); raises GraderError if the reference fails."""
    result = _run_tests(tests, reference, REFERENCE_LIMIT_S)
    if result.status != "passed":
        raise GraderError(f"the reference program fails on this machine: {_cause(result)}")
    return max(tests.time_limit_s, LIMIT_FACTOR * result.seconds)


def whole_program(task: Task, program: str) -> str:
    """Put before a program what the prompt gives: imports and helpers that it may omit."""
    assert task.tests is not None
    lines = task.prompt.split("\n")
    start = f"def {task.tests.entry_point}("
    starts = [i for i, line in enumerate(lines) if line.startswith(start)]
    if not starts or "from __future__" in program:  # that must be a program's first line
        return program
    head = "\n".join(lines[: starts[-1]]) + "\n"
    return head + program if _is_code(head) else program


_CODE = (ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
         | ast.Assign | ast.If | ast.Try)  # fmt: skip


@lru_cache(maxsize=20_000)
def _is_code(head: str) -> bool:
    """Whether text is Python that defines something: ``Hint`` parses, and is prose."""
    try:
        body = parse_program(head).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(node, _CODE)
        or (isinstance(node, ast.AnnAssign) and node.value is not None)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in body
    )


@lru_cache(maxsize=20_000)
def _run_tests(tests: CodeTests, program: str, timeout_s: float) -> ProgramResult:
    """Run a program against tests (memoised); raises GraderError, not memoised, if ours failed."""
    source = f"{tests.program}\n\ncheck({tests.entry_point})\n"
    result = run_program(program, tests=source, timeout_s=timeout_s)
    if result.status == "error" and result.detail.startswith(NOT_PLAIN):
        raise _NotPlainData(result.detail)
    if result.status == "error":
        raise GraderError(f"the sandbox failed: {result.detail}")
    return result
