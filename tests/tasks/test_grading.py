"""The verdict on answers, end to end."""

import json
import random
import time
from dataclasses import replace

import pytest

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks import grading
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.maths_grading import GraderError
from hieramas_lib.tasks.sandbox import ProgramResult
from hieramas_lib.tasks.task import LETTERS, CodeTests, Task

SHARED = ROOT.parent / "shared" / "data"
shared = pytest.mark.skipif(not SHARED.exists(), reason=f"no folder {SHARED} with real samples")

CHOICE = Task("c", "b", "choice", "s", "Which?", "B", ("Paris", "Rome", "Bonn", "Oslo"))
MATHS = Task("m", "b", "maths", "s", "How many?", r"\frac{1}{2}")
CODE = Task(
    "p", "b", "code", "s",
    'from typing import List\n\n\ndef add(a: List[int]) -> int:\n    """Add up."""\n',
    "def add(a):\n    return sum(a)\n",
    tests=CodeTests("add", "def check(f):\n    assert f([1, 2]) == 3\n"),
)  # fmt: skip

REFUSALS = ["", " \n ", "I am sorry, I cannot answer that.", "<think>It must be B, 1/2 or"]


@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("task", [CHOICE, MATHS, CODE], ids=["choice", "maths", "code"])
def test_empty_and_refused_answers_are_never_correct(task: Task, text: str) -> None:
    verdict = grade(task, text)
    assert verdict.status == ("unparsed" if text.strip() else "empty")
    assert verdict.extracted is None


def test_choice() -> None:
    assert grade(CHOICE, "Answer: B").correct
    assert grade(CHOICE, "Answer: C").status == "wrong"
    assert grade(CHOICE, "Answer: B or C").status == "unparsed"
    assert grade(CHOICE, "<think>Answer: C</think>Answer: B").correct


def test_maths() -> None:
    assert grade(MATHS, r"Answer: \boxed{0.5}").correct
    assert grade(MATHS, r"Answer: \boxed{2}").status == "wrong"
    assert grade(MATHS, r"Answer: \boxed{\foo(}").status == "wrong"


def test_a_gold_answer_that_is_no_expression_is_our_error() -> None:
    task = Task("m2", "b", "maths", "s", "?", ")(")
    assert grade(task, "Answer: 4").status == "error"


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (replace(CHOICE, gold=""), "Answer: B"),
        (replace(MATHS, gold=""), r"Answer: $\frac{1}{2}$"),
        (replace(CODE, tests=None), CODE.gold),
        (replace(CODE, tests=CodeTests("add", "")), CODE.gold),
    ],
)
def test_a_question_without_gold_answer_has_no_verdict(task: Task, text: str) -> None:
    """It can be asked, and whatever is answered is never counted as wrong, or as right."""
    verdict = grade(task, text)
    assert (verdict.status, verdict.detail) == ("error", f"task {task.id} has nothing to grade by")


def test_code() -> None:
    program = "```python\ndef add(a: List[int]) -> int:\n    return sum(a)\n```"
    assert grade(CODE, program).correct
    wrong = grade(CODE, program.replace("sum(a)", "0"))
    assert (wrong.status, wrong.detail) == ("wrong", "AssertionError")
    assert grade(CODE, program.replace("add", "plus")).status == "unparsed"


def test_a_failure_of_the_sandbox_is_not_the_answers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ProgramResult("error", "no server")
    monkeypatch.setattr(grading, "run_program", lambda *args, **named: broken)
    verdict = grade(CODE, "```python\ndef add(a):\n    return 1234\n```")
    assert (verdict.status, verdict.detail) == ("error", "the sandbox failed: no server")
    monkeypatch.undo()  # and it is not remembered
    assert grade(CODE, "```python\ndef add(a):\n    return 1234\n```").status == "wrong"


def test_a_failure_of_the_maths_worker_is_not_the_answers_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(gold: str, answer: str) -> str:
        raise GraderError("timeout")

    monkeypatch.setattr(grading, "maths_verdict", fail)
    assert grade(MATHS, r"\boxed{77}").status == "error"


def test_tasks_of_one_id_and_different_golds_are_graded_apart() -> None:
    other = Task("m", "b", "maths", "s", "How many?", "77")
    text = r"Answer: \boxed{154/2}"
    assert [grade(task, text).correct for task in (MATHS, other, MATHS)] == [False, True, False]
    strict = Task(
        "p", "b", "code", "s", CODE.prompt, CODE.gold,
        tests=CodeTests("add", "def check(f):\n    assert f([]) == 1\n"),
    )  # fmt: skip
    program = f"```python\n{CODE.gold}```"
    assert [grade(task, program).correct for task in (CODE, strict, CODE)] == [True, False, True]


@pytest.mark.parametrize("benchmark", ["knowledge", "maths"])
def test_every_gold_answer_is_correct(benchmark: str) -> None:
    pattern = "Answer: {}" if benchmark == "knowledge" else "Answer: \\boxed{{{}}}"
    for task in load_tasks(benchmark):
        assert grade(task, pattern.format(task.gold)).correct, task.id


def test_every_other_option_is_wrong() -> None:
    for task in load_tasks("knowledge"):
        for letter, text in zip(LETTERS, task.choices, strict=False):
            for answer in (f"Answer: {letter}", f"Answer: {text}"):
                assert grade(task, answer).correct == (letter == task.gold), (task.id, answer)


@pytest.mark.parametrize("count", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_tempting_answers_are_wrong(count: int) -> None:
    for task in load_tasks("maths"):
        for slip in task.tempting[:count]:
            verdict = grade(task, f"Answer: \\boxed{{{slip}}}")
            assert (verdict.status, verdict.detail) == ("wrong", ""), (task.id, slip)


def test_order_does_not_matter() -> None:
    tasks = random.Random(0).sample(load_tasks("maths"), 20)
    pairs = [
        (task, f"Answer: {answer}") for task in tasks for answer in (task.gold, task.tempting[0])
    ]
    first = [grade(task, text) for task, text in pairs]
    assert [grade(task, text) for task, text in reversed(pairs)] == first[::-1]


@shared
def test_real_gold_answers_are_correct_and_each_others_are_not() -> None:
    lines = (SHARED / "math500.jsonl").read_text(encoding="utf-8").splitlines()
    golds = [json.loads(line)["answer"] for line in random.Random(1).sample(lines, 100)]
    tasks = [Task(f"math500/{i}", "math500", "maths", "s", "?", g) for i, g in enumerate(golds)]
    for task, other in zip(tasks, tasks[1:] + tasks[:1], strict=True):
        assert grade(task, f"So it is $\\boxed{{{task.gold}}}$.").correct, task.gold
        assert grade(task, f"Answer: ${task.gold}$").correct, task.gold
        if task.gold != other.gold:
            assert not grade(task, f"Answer: ${other.gold}$").correct, (task.gold, other.gold)


@shared
def test_real_gsm8k_golds_are_correct() -> None:
    for line in (SHARED / "gsm8k_test_200.jsonl").read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)["answer"]
        task = Task("g", "gsm8k", "maths", "s", "?", answer.split("####")[-1].strip())
        assert grade(task, answer).correct


@pytest.mark.parametrize("task", [CHOICE, MATHS], ids=["choice", "maths"])
def test_speed(task: Task, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"Step {k}: think.\n" * 20 + f"Answer: {task.gold}" for k in range(300)]
    grade(task, texts[0])
    started = time.process_time()
    for text in texts:
        grade(task, text)
    rate = len(texts) / (time.process_time() - started)
    with capsys.disabled():
        print(f"\n{task.kind} grades per CPU second, answer seen before: {rate:.0f}")
    assert rate > 200
