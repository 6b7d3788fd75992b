"""Grades of programs: time limits, faulty references, and faults reported of other graders."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hieramas_lib.tasks import grading
from hieramas_lib.tasks.grading import LIMIT_FACTOR, grade
from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.sandbox import ProgramResult, SandboxUnusable
from hieramas_lib.tasks.task import CodeTests, Grade, Task

TASK = Task(
    "p", "b", "code", "s", "def add(a):\n    '''Add up.'''\n", "def add(a):\n    return sum(a)\n",
    tests=CodeTests("add", "def check(f):\n    assert f([1, 2]) == 3\n"),
)  # fmt: skip


def _with(tests: str, gold: str = TASK.gold, time_limit_s: float = 5.0) -> Task:
    return replace(TASK, gold=gold, tests=CodeTests("add", tests, time_limit_s))


def _grade(task: Task, program: str) -> Grade:
    return grade(task, f"```python\n{program}\n```")


def _forget() -> None:
    grading._run_tests.cache_clear()
    grading._time_limit_s.cache_clear()


def _add_in(seconds: float) -> str:
    return f"import time\n\n\ndef add(a):\n    time.sleep({seconds})\n    return sum(a)\n"


def test_a_slow_reference_gives_more_time() -> None:
    tests = "def check(f):\n    assert f([1, 2]) == 3  # slow\n"
    slow = _with(tests, _add_in(0.3), time_limit_s=0.1)
    assert _grade(slow, _add_in(0.31)).correct
    hangs = _grade(slow, "def add(a):\n    while True: pass")
    assert (hangs.status, hangs.detail) == ("wrong", "timeout")
    quick = _with(tests, time_limit_s=0.1)
    assert _grade(quick, _add_in(0.31)).detail == "timeout"
    unknown = _with(tests, gold="", time_limit_s=0.1)
    assert _grade(unknown, _add_in(0.31)).detail == "timeout"
    assert _grade(unknown, "def add(a):\n    return 3").correct


def test_the_limit_is_a_multiple_of_the_references_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def run(program: str, *, tests: str, timeout_s: float) -> ProgramResult:
        limits.append(timeout_s)
        return ProgramResult("passed", seconds=54.0 if "slow = 1" in program else 0.01)

    monkeypatch.setattr(grading, "run_program", run)
    slow = _with("def check(f): f([1]) == 1  # multiple", gold="slow = 1")
    assert _grade(slow, "def add(a): return 1").correct
    assert _grade(slow, "def add(a): return 2").correct
    assert limits == [grading.REFERENCE_LIMIT_S, 54.0 * LIMIT_FACTOR, 54.0 * LIMIT_FACTOR]
    quick = _with("def check(f): f([1]) == 1  # multiple")
    assert _grade(quick, "def add(a): return 1").correct
    assert limits[3:] == [grading.REFERENCE_LIMIT_S, 5.0]
    _forget()


def test_a_reference_that_fails_here_is_our_error() -> None:
    # As HumanEval/32 of EvalPlus's OriginFmt, whose check no answer passes (evalplus#125).
    faulty = _with("def check(f):\n    assert f([1, 2]) == 4\n")
    for program in (TASK.gold, "def add(a):\n    return 4", "def add(a):\n    return 0"):
        verdict = _grade(faulty, program)
        assert verdict.status == "error"
        assert verdict.detail == "the reference program fails on this machine: AssertionError"


def test_a_reference_may_omit_what_the_prompt_gives() -> None:
    prompt = f"import math\n\n\n{TASK.prompt}"
    gold = "def add(a):\n    return math.fsum(a)\n"
    assert _grade(replace(TASK, prompt=prompt, gold=gold), TASK.gold).correct
    assert _grade(replace(TASK, gold=gold), TASK.gold).status == "error"


def test_tests_that_are_never_called_pass_nothing() -> None:
    # confident-ai/deepeval#1102: ``check`` is defined and never called, so all answers pass.
    for body in ("pass", "def test():\n        assert f([1]) == 1"):
        task = _with(f"def check(f):\n    {body}\n")
        verdict = _grade(task, "def add(a):\n    return 'wrong'")
        assert verdict.status == "error" and "never call" in verdict.detail


def test_an_unusable_sandbox_stops_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **named: object) -> ProgramResult:
        raise SandboxUnusable("self-test")

    monkeypatch.setattr(grading, "run_program", refuse)
    with pytest.raises(SandboxUnusable):
        _grade(_with("def check(f):\n    assert f([2]) == 2\n"), TASK.gold)


def test_a_renamed_function_is_unparsed_not_emptied() -> None:
    # evalplus/evalplus#92: the cleaner deletes the program, and the empty one counts as wrong.
    assert _grade(TASK, "def add_up(a):\n    return sum(a)").status == "unparsed"
    assert _grade(TASK, "def add_up(a):\n    return sum(a)\n\n\nadd = add_up").correct
    method = "class Solution:\n    def add(self, a):\n        return sum(a)"
    assert _grade(TASK, method).status == "unparsed"


@pytest.mark.parametrize(
    "thought",
    [
        "<think>\nFirst idea:\n```python\ndef add(a):\n    return 0\n```\nNo.\n</think>\n",
        "First idea: def add(a): return 0? No, that is wrong.\n</think>\n",
        "I think `def add(a)` must sum.\n\nLet me check: add([1, 2]) -> 3. So:\n\n",
        "<thinking>if a: return a[0]\nelse:</thinking>",
    ],
)
@pytest.mark.parametrize("fence", [True, False])
def test_thinking_aloud_does_not_get_into_the_program(thought: str, fence: bool) -> None:
    # evalplus/evalplus#297
    program = f"```python\n{TASK.gold}```" if fence else TASK.gold
    assert grade(TASK, f"{thought}{program}").correct


@pytest.mark.parametrize("number", [10, 32, 38, 50])
def test_the_function_asked_for_is_not_the_prompts_first(number: int) -> None:
    task = load_humaneval()[number]
    assert task.tests is not None
    start = task.gold.index(f"def {task.tests.entry_point}(")
    assert task.gold.index("def ") < start
    assert _grade(task, task.gold).correct
    assert _grade(task, task.gold[start:]).correct, "without the helper, which the prompt gives"
    assert _grade(task, task.gold[:start]).status == "unparsed"
    assert _grade(task, task.prompt).status == "wrong"


def test_a_program_may_start_from_the_future() -> None:
    future = f"from __future__ import annotations\n\n\n{TASK.gold}"
    assert _grade(replace(TASK, prompt=f"import math\n\n\n{TASK.prompt}"), future).correct


ANSWERS: dict[str, tuple[str, Grade | None]] = {
    "right": ("def add(a):\n    return sum(a)", Grade("correct")),
    "right, other way": ("def add(a):\n    return a[0] + a[1]", Grade("correct")),
    "wrong": ("def add(a):\n    return 0", Grade("wrong", detail="AssertionError")),
    "raises": ("def add(a):\n    return a[9]", Grade("wrong", detail="IndexError")),
    "hangs": ("def add(a):\n    while True: pass", Grade("wrong", detail="timeout")),
    "sleeps": ("import time\ndef add(a): time.sleep(9)", Grade("wrong", detail="timeout")),
    "leaves": ("import os\ndef add(a): os._exit(0)", Grade("wrong", detail="exit 0")),
    "leaves a mark": (
        "import builtins, random\ndef add(a):\n    builtins.sum = lambda a: 3\n"
        "    random.seed(1)\n    open('mark', 'w').write('3')\n    return 0",
        Grade("wrong", detail="AssertionError"),
    ),
    "looks for the mark": (
        "import os\ndef add(a):\n    if os.path.exists('mark'): return 3\n    return sum([])",
        Grade("wrong", detail="AssertionError"),
    ),
    "guesses": (
        "import random\ndef add(a):\n    return 3 if random.random() < 0.5 else 0",
        Grade("wrong", detail="AssertionError"),
    ),
    "depends on hashes": (
        "def add(a):\n    return 3 if next(iter({'x', 'y'})) == 'x' else 0",
        None,
    ),
    "allocates": ("def add(a):\n    return bytes(2**40)", Grade("wrong", detail="MemoryError")),
    "no program": ("I do not know", Grade("unparsed")),
}


def test_a_grade_depends_on_nothing_but_task_and_answer() -> None:
    task = _with("def check(f):\n    assert f([1, 2]) == 3\n", time_limit_s=0.25)
    order = random.Random(0).sample(sorted(ANSWERS), len(ANSWERS))
    seen: list[dict[str, Grade]] = []
    for names, workers in ((order, 1), (order[::-1], 1), (order * 2, 4)):
        _forget()  # else the later rounds only read what the first remembered
        with ThreadPoolExecutor(workers) as threads:
            verdicts = threads.map(lambda name: _grade(task, ANSWERS[name][0]), names)
            seen.append(dict(zip(names, verdicts, strict=True)))
    assert seen[1] == seen[0] and seen[2] == seen[0]
    for name, (_, expected) in ANSWERS.items():
        if expected is not None:
            assert replace(seen[0][name], extracted=None) == expected, name


def test_prose_of_the_prompt_is_not_put_before_the_program() -> None:
    for head in ("Write a function.", "Hint", "```python"):
        prompt = f"{head}\n\ndef add(a: list) -> int:\n    ..."
        for gold in ("", TASK.gold):
            assert _grade(replace(TASK, prompt=prompt, gold=gold), TASK.gold).correct, head


@pytest.mark.parametrize(
    ("tests", "program", "said"),
    [
        ("assert f(1)(2) == 3", "def add(a):\n    return lambda b: a + b", "call a returned"),
        ("assert f().n == 1", "class add:\n    n = 1", "read 'n' of a returned add"),
        ("xs = [2, 1]; f(xs); assert xs == [1, 2]", "def add(a): a.sort()", "in place"),
        ("np.array(1); f(1)", "def add(a): return a", "NameError: name 'np'"),
        ("import nopkg; f(1)", "def add(a): return a", "No module named 'nopkg'"),
        ("next(f(1))", "import itertools\ndef add(a): return itertools.count()", "more than 1"),
        ("len(f(1))", "def add(a): return (0,) * 1_000_001", "more than 1000000 items"),
    ],
)
def test_a_limit_of_ours_is_an_error_not_wrong(tests: str, program: str, said: str) -> None:
    verdict = _grade(_with(f"def check(f):\n    {tests}\n", gold=""), program)
    assert verdict.status == "error" and said in verdict.detail


@pytest.mark.parametrize(
    "program",
    [
        "def add(a): return 0",
        "def add(a): a.clear(); raise ValueError",
        "def add(a):\n    a.append(0)\n    if len(a) > 2: raise KeyError",
        "add = 5",
        "add = 5\ndel add",
        "def add(a): return object()",
    ],
)
def test_a_wrong_program_stays_wrong_without_a_reference(program: str) -> None:
    tests = "def check(f):\n    f([1])\n    assert f([1, 2]) == 3\n"
    assert _grade(_with(tests, gold=""), program).status == "wrong"


def test_a_result_that_is_not_plain_is_wrong_where_the_references_is() -> None:
    task = _with("def check(f):\n    assert f([1, 2]).bit_length() == 2\n")
    assert _grade(task, TASK.gold).correct
    assert _grade(task, "def add(a):\n    return lambda: 3").status == "wrong"
