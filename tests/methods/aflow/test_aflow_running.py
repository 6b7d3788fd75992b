"""What each operator does on one task, with scripted LLMs."""

import asyncio

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Header, parse_sections
from hieramas_lib.methods.aflow.prompt_examples import first_failure, prompt_examples
from hieramas_lib.methods.aflow.running import run_workflow
from hieramas_lib.methods.aflow.workflow import (
    Generate,
    Review,
    Revise,
    RunExamples,
    Select,
    Workflow,
)
from hieramas_lib.tasks.task import CodeTests, Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import Rollout

TASK = Task("t", "toy", "choice", "s", "Which?", "A", ("one", "two", "three", "four"))
PROMPT = '''def f(x):
    """Double it.
    >>> f(1)
    2
    f(2) ==> 4
    f(3) should return 6.
    >>> f(y)
    1
    """
'''
CODE = Task(
    "c", "toy", "code", "s", PROMPT, "def f(x):\n    return 2 * x",
    tests=CodeTests("f", "def check(f):\n    assert f(5) == 10"),
)  # fmt: skip


class Script:
    """Gives the answers of a role one after another; None is a call that fails."""

    def __init__(self, **answers: list[str | None]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, list, ChatRequest]] = []

    async def complete(self, request: ChatRequest) -> Completion:
        header = Header.parse(request.messages[0].content)
        sections = [s for s in parse_sections(request.messages[1].content) if s.tag != "task"]
        self.asked.append((header.role, request.model, sections, request))
        text = self.answers[header.role].pop(0)
        if text is None:
            raise CallError("timeout", "too slow")
        return Completion(text, "stop", 10, 5, 0.5, 2.0, False, "")


def answer(script: Script, *operators, task: Task = TASK, repetition: int = 0) -> Rollout:
    roles = load_roles(task.kind)
    workflow = Workflow(operators=operators)
    return asyncio.run(run_workflow(workflow, task, roles, script, repetition=repetition))


def test_generate_draws_distinct_samples_and_the_majority_answers():
    script = Script(Assistant=["Answer: B", "Answer: A", "Answer: A"])
    rollout = answer(script, Generate(llm="m", samples=3))
    assert rollout.grade.correct and rollout.usage.calls == 3 and rollout.latency_s == 2.0
    assert [of[3].sample for of in script.asked] == [0, 1, 2]
    assert {of[3].temperature for of in script.asked} == {1.0}


def test_repetitions_and_equal_operators_are_other_calls():
    script = Script(Assistant=["Answer: A"] * 4)
    answer(script, Generate(llm="m"), Generate(llm="m"))
    answer(script, Generate(llm="m"), Generate(llm="m"), repetition=1)
    assert [of[3].sample for of in script.asked] == [0, 1, 100, 101]


def test_select_reads_all_candidates():
    script = Script(Assistant=["Answer: B", "Answer: C"], Selector=["Answer: A"])
    rollout = answer(script, Generate(llm="m"), Generate(llm="n"), Select(llm="o"))
    role, llm, sections, _ = script.asked[-1]
    assert (role, llm) == ("Selector", "o")
    assert [(s.tag, s.source, s.text) for s in sections] == [
        ("proposal", "1", "Answer: B"), ("proposal", "2", "Answer: C")
    ]  # fmt: skip
    assert rollout.grade.correct and rollout.latency_s == 6.0 and rollout.usage.cost_usd == 1.5


def test_review_is_read_by_the_next_revise_only():
    script = Script(
        Assistant=["Answer: B"], Reviewer=["Not so."], Reviser=["Answer: C", "Answer: A"]
    )
    rollout = answer(script, Generate(llm="m"), Review(llm="n"), Revise(llm="m"), Revise(llm="m"))
    first, second = script.asked[2][2], script.asked[3][2]
    assert [(s.tag, s.text) for s in first] == [("proposal", "Answer: B"), ("message", "Not so.")]
    assert [(s.tag, s.text) for s in second] == [("proposal", "Answer: C")]
    assert rollout.grade.correct


def test_what_fails_changes_nothing():
    script = Script(Assistant=["Answer: A", None], Reviewer=[None], Reviser=[None], Selector=[""])
    rollout = answer(
        script, Generate(llm="m", samples=2), Select(llm="m"), Review(llm="m"), Revise(llm="m")
    )
    assert rollout.grade.correct
    assert [call.completion is None for call in rollout.calls] == [False, True, False, True, True]


def test_without_any_answer_nobody_else_is_asked():
    rollout = answer(Script(Assistant=[None]), Generate(llm="m"), Review(llm="m"), Select(llm="m"))
    assert rollout.grade.status == "error" and rollout.usage.calls == 1


def test_a_spent_budget_is_raised():
    class Empty:
        async def complete(self, request: ChatRequest) -> Completion:
            raise BudgetExceeded("no money left")

    with pytest.raises(BudgetExceeded):
        answer(Empty(), Generate(llm="m"))


def code(body: str) -> str:
    return f"```python\ndef f(x):\n    return {body}\n```"


def test_examples_are_read_out_of_the_prompt():
    assert [str(each) for each in prompt_examples(CODE)] == ["f(1) == 2", "f(2) == 4", "f(3) == 6"]
    assert prompt_examples(TASK) == ()


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("def f(x):\n    return 2 * x", ""),
        ("def f(x):\n    return x + 1", "this does not hold: f(2) == 4"),
        ("def f(x):\n    raise KeyError(x)", "this does not hold: f(1) == 2"),
        ("import sys\nsys.exit()", "on the task's examples it ends with"),
        ("def g(x):\n    return 2 * x", "this does not hold: f(1) == 2"),
    ],
)
def test_a_program_is_run_on_the_examples_in_the_sandbox(program: str, failure: str):
    found = first_failure(CODE, program)
    assert found.startswith(failure) and bool(found) == bool(failure)


def test_test_mends_what_fails_and_leaves_what_passes():
    script = Script(Assistant=[code("x + 1")], Tester=[code("x * 2")])
    rollout = answer(script, Generate(llm="m"), RunExamples(llm="n", repairs=3), task=CODE)
    role, llm, sections, _ = script.asked[1]
    assert (role, llm) == ("Tester", "n")
    assert sections[1].text == "this does not hold: f(2) == 4"
    assert rollout.grade.correct and rollout.usage.calls == 2
    script = Script(Assistant=[code("x * 2")])
    passes = answer(script, Generate(llm="m"), RunExamples(llm="n"), task=CODE)
    assert passes.grade.correct and passes.usage.calls == 1


def test_test_looks_at_the_prompt_s_examples_and_not_at_the_tests():
    """A program that passes the examples and fails the tests is not sent back."""
    script = Script(Assistant=[code("2 * x if x < 5 else 0")])
    rollout = answer(script, Generate(llm="m"), RunExamples(llm="n"), task=CODE)
    assert rollout.grade.status == "wrong" and rollout.usage.calls == 1
