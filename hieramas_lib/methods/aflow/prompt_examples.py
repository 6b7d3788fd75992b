"""The examples that a code task's own prompt gives, as far as they can be run and compared."""

import ast
import doctest
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hieramas_lib.tasks.grading import whole_program
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.sandbox import run_program
from hieramas_lib.tasks.task import Task

_RETURNS = re.compile(r"\s*(?:==>|==|=>|->|➞|→|=|should return|returns)\s*")

_TRUTH: Final = {"true": "True", "false": "False"}

LIMIT_S: Final = 5.0
"""Wall seconds for all examples of a prompt together."""

_FAILED: Final = "Example"

# Runs in the process that decides; a verdict carries an exception's name and nothing else.
_CHECK = """
for _number, (_call, _value) in enumerate([CASES]):
    try:
        _right = _call() == _value
    except Exception:
        _right = False
    if not _right:
        raise type("NAME" + str(_number), (Exception,), {})
""".replace("NAME", _FAILED)


@dataclass(frozen=True, slots=True)
class Example:
    """A call of the function that is asked for, and the literal that it is to return."""

    call: str
    value: str

    def __str__(self) -> str:
        """Print as ``f(1) == 2``."""
        return f"{self.call} == {self.value}"


def prompt_examples(task: Task) -> tuple[Example, ...]:
    """Return the examples in a code task's prompt whose results are literals.

    Doctests (``>>> f(1)``, and ``2`` on the next line) and lines such as ``f(1) ➞ 2``.
    """
    if task.tests is None:
        return ()
    return _examples(task.prompt, task.tests.entry_point)


def first_failure(task: Task, program: str) -> str:
    """Run ``program`` in the sandbox on the prompt's examples; return what fails, or nothing.

    Without examples nothing fails. Blocks while the program runs.

    Raises:
        SandboxUnusable: programs cannot be run safely here.
    """
    examples = prompt_examples(task)
    if not examples:
        return ""
    cases = ", ".join(f"(lambda: {each.call}, {each.value})" for each in examples)
    tests = _CHECK.replace("CASES", cases)
    result = run_program(whole_program(task, program), tests=tests, timeout_s=LIMIT_S)
    if result.status in ("passed", "error"):
        return ""  # an error is ours, and says nothing about the program
    if result.detail.startswith(_FAILED) and result.detail.removeprefix(_FAILED).isdigit():
        return f"this does not hold: {examples[int(result.detail.removeprefix(_FAILED))]}"
    return f"on the task's examples it ends with {result.detail or result.status}"


@lru_cache(maxsize=4096)
def _examples(prompt: str, name: str) -> tuple[Example, ...]:
    # A closing quote right below a doctest would count to its result.
    text = prompt.replace('"""', "\n\n").replace("'''", "\n\n")
    try:
        found = doctest.DocTestParser().get_examples(text)
    except ValueError:
        found = []
    # What follows the first line of a result is prose, or a result too long to be compared.
    pairs = [(of.source, of.want.partition("\n")[0]) for of in found]
    pairs += [pair for line in text.splitlines() if (pair := _split(line, name))]
    examples = (_read(call, value, name) for call, value in pairs)
    return tuple(dict.fromkeys(example for example in examples if example))


def _split(line: str, name: str) -> tuple[str, str] | None:
    """Part a line such as ``f(1) == 2`` at its sign; None if it is no such line."""
    start = line.find(f"{name}(")
    if start < 0 or line.lstrip().startswith(("def ", ">>>")):
        return None
    sign = _RETURNS.search(line, line.rfind(")", start, _sign_at(line, start)) + 1)
    return (line[start : sign.start()], line[sign.end() :].rstrip(". ")) if sign else None


def _sign_at(line: str, start: int) -> int:
    """Return where the last sign of a line is, its end if there is none."""
    return max((found.start() for found in _RETURNS.finditer(line, start)), default=len(line))


def _read(source: str, want: str, name: str) -> Example | None:
    value = _TRUTH.get(want.strip(), want.strip())
    try:
        call, result = _expression(source.strip()), _expression(value)
        ast.literal_eval(result)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            ast.literal_eval(argument)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None
    return Example(ast.unparse(call), value) if call.func.id == name else None


def _expression(source: str) -> ast.expr:
    body = parse_program(source).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ValueError("no expression")
    return body[0].value
