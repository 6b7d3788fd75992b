"""What programs do on the examples of their prompt."""

from dataclasses import replace

import pytest

from hieramas_lib.tasks.behaviour import behaviour, example_calls
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import CodeTests, Task

CHOICE = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
MATHS = Task("m", "toy", "maths", "s", "How much?", "1/2")
CODE = Task("c", "toy", "code", "s", "def f(): ...", "", tests=CodeTests("f", ""))
DOUBLE = replace(
    CODE,
    prompt='def f(x):\n    """Twice x.\n    >>> f(1)\n    2\n    f([1, 2]) gives [1, 2, 1, 2]"""',
)


def test_results_that_tests_find_equal_are_equal_behaviour():
    def does(body: str) -> str | None:
        return behaviour(DOUBLE, f"def f(x):\n    {body}")

    for first, second in (
        ("return 2", "return 2.0"),
        ("return 1 / 3", "return 0.333333333"),
        ("return {1, 2}", "return {2, 1}"),
        ("return {'a': 1, 'b': 2}", "return {'b': 2, 'a': True}"),
        ("yield 1", "yield 1.0"),
    ):
        assert does(first) == does(second) is not None, (first, second)
    for first, second in (
        ("return 2", "return '2'"),
        ("return [1]", "return (1,)"),
        ("return 10**20", "return 10**20 + 1"),
        ("return 1 / 0", "return x.nothing"),
        ("return None", "return 0"),
    ):
        assert does(first) != does(second), (first, second)
    assert does("import os; os._exit(0)") is None


def test_the_examples_of_a_prompt_are_its_own_calls_with_plain_arguments():
    prompt = """def f(x=2, y=0):
        '''f(x) is g(f(1)) unless f is called with nothing, as f().
        >>> f([1, (2, 3)], y="a)b")
        f( 1 ) == 2 and off(3), o.f(4), f(5
        f(1) again, f(n - 1) and f(-2.5)
        '''"""
    task = replace(CODE, prompt=prompt)
    assert example_calls(task) == ("f(1)", "f([1, (2, 3)], y='a)b')", "f(-2.5)")


def test_most_of_humaneval_has_examples_and_references_get_through_them():
    tasks = load_tasks("humaneval")
    assert sum(bool(example_calls(task)) for task in tasks) == 141
    for task in tasks[:6]:
        assert behaviour(task, task.gold)
        wrong = [behaviour(task, program) for program in task.tempting]
        assert any(does != behaviour(task, task.gold) for does in wrong)


@pytest.mark.parametrize("task", [CHOICE, MATHS, CODE])
def test_without_examples_there_is_no_behaviour(task: Task):
    assert behaviour(task, "def f(x):\n    return 1") is None
