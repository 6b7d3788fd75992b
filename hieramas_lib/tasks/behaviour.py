"""What a program does on the examples of its task's own prompt: how programs are told apart.

Texts of programs hardly ever agree, results do. Only the examples' inputs are used: what the
prompt says of the results decides nothing here, and no test is looked at.
"""

import ast
import re
from functools import lru_cache
from itertools import islice

from hieramas_lib.tasks.grading import whole_program
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.sandbox import run_program
from hieramas_lib.tasks.task import Task

MAX_EXAMPLES = 20
_MAX_CALL_CHARACTERS = 2000

_NAME = "Behaviour_"

# Runs in the process that decides, on values rebuilt from plain data. Values that tests would
# find equal get one text: 1 and 1.0, sets in any order, floats up to their sixth digit.
_REPORT = """
import hashlib as _hashlib
def _text(value):
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else format(value, ".6g")
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, (set, frozenset)):
        return "set(" + ", ".join(sorted(map(_text, value))) + ")"
    if isinstance(value, dict):
        items = (_text(key) + ": " + _text(item) for key, item in value.items())
        return "dict(" + ", ".join(sorted(items)) + ")"
    if hasattr(value, "__next__"):
        return "iterator" + _text(list(value))
    return repr(value)
_seen = []
for _call in (CALLS):
    try:
        _seen.append(_text(_call()))
    except Exception as _error:
        _seen.append("raises " + type(_error).__name__)
_digest = _hashlib.blake2b("\\n".join(_seen).encode(errors="surrogatepass"), digest_size=16)
raise type("NAME" + _digest.hexdigest(), (Exception,), {})
""".replace("NAME", _NAME)


def behaviour(task: Task, program: str) -> str | None:
    """Return a digest of what ``program`` returns or raises on the prompt's examples.

    None where that is not known: the prompt has no example, the program ends or hangs on one, or
    the sandbox could not run it. A verdict carries no more than an exception's name, so the
    digest comes as one. Blocks while the program runs; thread-safe; done once for one program.

    Raises:
        SandboxUnusable: programs cannot be run safely here.
    """
    calls = example_calls(task)
    if not calls or task.tests is None:
        return None
    tests = _REPORT.replace("CALLS", " ".join(f"lambda: {call}," for call in calls))
    try:
        return _reported(whole_program(task, program), tests, task.tests.time_limit_s)
    except _NotRun:
        return None


def example_calls(task: Task) -> tuple[str, ...]:
    """Return the calls of a code task's function that its prompt shows, each once.

    With plain arguments only, in doctests (``>>> f(1)``) as in prose (``f(1) should return 2``).
    """
    return () if task.tests is None else _calls_in(task.prompt, task.tests.entry_point)


class _NotRun(RuntimeError):
    """The sandbox failed, or could not pass a value on: nothing to remember."""


@lru_cache(maxsize=20_000)
def _reported(program: str, tests: str, timeout_s: float) -> str | None:
    result = run_program(program, tests=tests, timeout_s=timeout_s)
    if result.status == "error":
        raise _NotRun(result.detail)
    return result.detail if result.detail.startswith(_NAME) else None


@lru_cache(maxsize=4096)
def _calls_in(prompt: str, name: str) -> tuple[str, ...]:
    starts = re.finditer(rf"(?<![\w.])(?<!def ){re.escape(name)}\s*\(", prompt)
    found = (_call_at(prompt, start.start()) for start in islice(starts, 2 * MAX_EXAMPLES))
    return tuple(dict.fromkeys(call for call in found if call))[:MAX_EXAMPLES]


def _call_at(prompt: str, start: int) -> str | None:
    """Return the call that begins at ``start``, if it is complete and its arguments are plain."""
    text = prompt[start : start + _MAX_CALL_CHARACTERS]
    for end in (mark.end() for mark in re.finditer(r"\)", text)):
        try:
            statements = parse_program(text[:end]).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # a bracket within an argument
        if len(statements) != 1 or not isinstance(statements[0], ast.Expr):
            return None
        call = statements[0].value
        if not isinstance(call, ast.Call):
            return None
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        return ast.unparse(call) if arguments and all(map(_is_plain, arguments)) else None
    return None


def _is_plain(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
