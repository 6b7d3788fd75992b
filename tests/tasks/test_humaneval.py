import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.sandbox import WORKERS, ProgramResult, run_program
from hieramas_lib.tasks.task import Task


def _run(task: Task, program: str) -> ProgramResult:
    assert task.tests is not None
    return run_program(program, tests=f"{task.tests.program}\ncheck({task.tests.entry_point})\n")


def _task(number: int) -> Task:
    return load_humaneval()[number]


def test_all_problems_are_there() -> None:
    tasks = load_humaneval()
    assert [task.id for task in tasks] == [f"humaneval/{i:03d}" for i in range(164)]
    assert {task.benchmark for task in tasks} == {"humaneval"}
    assert {task.kind for task in tasks} == {"code"}
    subjects = {"lists", "logic", "maths", "numbers", "parsing", "strings"}
    assert {task.subject for task in tasks} == subjects


def test_a_task_holds_prompt_reference_and_tests() -> None:
    task = _task(53)
    assert task.prompt.lstrip().startswith("def add(x: int, y: int):")
    assert task.gold == task.prompt + "    return x + y\n"
    assert task.tests is not None and task.tests.entry_point == "add"
    assert task.statement.rstrip() == task.prompt.rstrip()


def test_every_reference_passes(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = load_humaneval()
    run_program("assert True")
    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as threads:
        results = list(threads.map(lambda task: _run(task, task.gold), tasks))
    seconds = time.perf_counter() - started
    with capsys.disabled():
        print(f"\n{len(tasks)} HumanEval references in {seconds:.1f} s on {WORKERS} workers")
    assert [t.id for t, r in zip(tasks, results, strict=True) if r.status != "passed"] == []


def test_prompts_alone_fail() -> None:
    # The body is a docstring: the function returns None.
    assert all(_run(task, task.prompt).status == "failed" for task in load_humaneval()[:164:12])


def test_functions_of_the_prompt_come_with_the_tests() -> None:
    task = _task(38)
    only_answer = """
def decode_cyclic(s):
    groups = [s[i:i + 3] for i in range(0, len(s), 3)]
    return ''.join(g[-1] + g[:-1] if len(g) == 3 else g for g in groups)
"""
    assert _run(task, only_answer).status == "passed"
    redefined = "def poly(xs, x): return 0\ndef find_zero(xs): return 0"
    assert _run(_task(32), redefined).status == "failed"


@pytest.mark.parametrize("number", [0, 41, 86, 119, 163])
def test_mutants_fail(number: int) -> None:
    task = _task(number)
    assert len(task.tempting) == 3
    assert [_run(task, program).status for program in task.tempting] == ["failed"] * 3


@pytest.mark.slow
def test_every_mutant_fails_quickly() -> None:
    pairs = [(task, program) for task in load_humaneval() for program in task.tempting]
    assert len(pairs) == 492
    with ThreadPoolExecutor(WORKERS) as threads:
        results = list(threads.map(lambda pair: _run(*pair), pairs))
    assert {result.status for result in results} == {"failed"}
