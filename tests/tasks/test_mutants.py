import ast

import pytest

from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.mutants import PER_TASK, counting_tests, killed_mutants
from hieramas_lib.tasks.mutations import mutants_of
from hieramas_lib.tasks.sandbox import run_program
from hieramas_lib.tasks.task import CodeTests, Task

PROGRAM = '''def helper(x):
    return x < 1


def largest_even(numbers):
    """Return the largest even number above 3, or None."""
    best = None
    for number in numbers:
        if number > 3 and number % 2 == 0:
            if best is None or number > best:
                best = number
    return best
'''

TESTS = CodeTests(
    "largest_even",
    """
def check(candidate):
    assert candidate([]) is None
    assert candidate([3, 4]) == 4
    assert candidate([4, 8, 5, 6]) == 8
    assert candidate([2]) is None
""",
)


def _bodies() -> dict[str, str]:
    """Map the changed lines of each mutant to its kind of change."""
    old = PROGRAM.splitlines()
    return {
        line.strip(): mutant.change
        for mutant in mutants_of(PROGRAM, "largest_even")
        for line in mutant.program.splitlines()
        if line not in old
    }


def test_the_changes_are_those_of_hasty_programmers() -> None:
    changed = _bodies()
    assert changed["if number >= 3 and number % 2 == 0:"] == "comparison"
    assert changed["if number > 4 and number % 2 == 0:"] == "off by one"
    assert changed["if number > 3 and number // 2 == 0:"] == "operator"
    assert changed["if (number > 3 or number % 2 == 0):"] == "logic"
    assert changed["if (number % 2 == 0):"] == "dropped condition"
    assert changed["return best + 1"] == "off by one"


def test_mutants_differ_in_one_place_and_keep_signature_and_docstring() -> None:
    mutants = mutants_of(PROGRAM, "largest_even")
    programs = {mutant.program for mutant in mutants}
    assert len(programs) == len(mutants) and PROGRAM not in programs
    for program in programs:
        assert program.startswith(PROGRAM[: PROGRAM.index("    best = None")])


def test_columns_count_bytes() -> None:
    (first, *_) = mutants_of("def f(x):\n    return 'äö' if x < 1 else x\n", "f")
    changed = {m.program for m in mutants_of("def f(x):\n    return ('äö', x < 1)\n", "f")}
    assert "def f(x):\n    return ('äö', x <= 1)\n" in changed
    ast.parse(first.program)


def test_counting_tests_measure_how_many_assertions_fail() -> None:
    tests = counting_tests(TESTS)
    assert run_program(PROGRAM, tests=tests).status == "passed"
    one_of_four = PROGRAM.replace("number > best", "number < best")
    assert run_program(one_of_four, tests=tests).detail == "Failed_250_0"
    raising = PROGRAM.replace("if best is None or number", "if number")
    assert run_program(raising, tests=tests).detail == "Failed_500_2"


def test_killed_mutants_fail_and_the_most_subtle_comes_first() -> None:
    task = Task("x/1", "x", "code", "lists", "", PROGRAM, tests=TESTS)
    programs = killed_mutants(task)
    assert len(set(programs)) == PER_TASK
    tests = f"{TESTS.program}\ncheck(largest_even)\n"
    assert [run_program(p, tests=tests).detail for p in programs] == ["AssertionError"] * 3
    shares = [
        int(run_program(program, tests=counting_tests(TESTS)).detail.split("_")[1])
        for program in programs
    ]
    assert shares == sorted(shares) and shares[0] == 250


@pytest.mark.parametrize("number", [53, 23, 162])
def test_shipped_mutants_are_what_the_module_makes(number: int) -> None:
    task = load_humaneval()[number]
    assert task.tests is not None
    made = {mutant.program for mutant in mutants_of(task.gold, task.tests.entry_point)}
    assert len(task.tempting) == PER_TASK and set(task.tempting) <= made


def test_shipped_mutants_differ_in_more_than_brackets() -> None:
    for task in load_humaneval():
        read = {ast.unparse(ast.parse(program)) for program in (task.gold, *task.tempting)}
        assert len(read) == 1 + PER_TASK, task.id


def test_of_mutants_that_read_alike_one_is_taken() -> None:
    # range(len(x) - 1) is reached by way of the range and of the length.
    program = (
        "def total(x):\n    s = 0\n    for i in range(len(x)):\n        s += x[i]\n    return s\n"
    )
    cases = "[1, 2, 4]) == 7", "[1, 2, 0]) == 3", "[5, 0]) == 5", "[3, 0]) == 3"
    check = "".join(f"    assert c({case}\n" for case in cases)
    tests = CodeTests("total", f"def check(c):\n{check}")
    made = [m.program for m in mutants_of(program, "total") if "- 1)" in m.program]
    assert len(made) == 2 and len({ast.dump(ast.parse(one)) for one in made}) == 1
    killed = killed_mutants(Task("x/2", "x", "code", "lists", "", program, tests=tests))
    assert len({ast.dump(ast.parse(one)) for one in killed}) == PER_TASK
    assert len(set(killed) & set(made)) == 1
