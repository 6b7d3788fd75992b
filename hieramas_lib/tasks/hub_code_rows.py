"""Rows of the public programming benchmarks: HumanEval+ and LiveCodeBench."""

import base64
import functools
import io
import json
import pickle
import re
import zlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from hieramas_lib.paths import data_path
from hieramas_lib.tasks.hub_rows import HubRow, LeftOut, Place, slug
from hieramas_lib.tasks.humaneval_plus import originfmt_program
from hieramas_lib.tasks.task import CodeTests, Task

LEVELS = {"easy": 1, "medium": 3, "hard": 5}
"""LiveCodeBench's difficulties as levels."""

CASE_LIMIT_S = 6.0
"""LiveCodeBench's time limit for one test, in wall seconds."""

_STDIN_REQUEST = """
Write a function `solve(text: str) -> str`. Its argument is all of the standard input described \
above, as one string; it returns all that the program would print, as one string. It neither \
reads input nor prints."""

_FUNCTION_REQUEST = """
Write a function `{signature}` at the top level of the program, not in a class. Import what you \
use."""

_CASES = """\
import base64, decimal, json, signal, zlib

CASES = json.loads(zlib.decompress(base64.b64decode("{packed}")))


class CaseTimeout(BaseException):
    pass


def ring(number, frame):
    raise CaseTimeout


def limited(candidate, *arguments):
    if not hasattr(signal, "setitimer"):
        return candidate(*arguments)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, {limit})
    try:
        return candidate(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
"""

_FUNCTION_CHECK = """

def check(candidate):
    for arguments, expected in CASES:
        result = limited(candidate, *arguments)
        assert (list(result) if isinstance(result, tuple) else result) == expected
"""

# LiveCodeBench's own rule: line by line, without surrounding space; numbers by their value.
_STDIN_CHECK = """

def check(candidate):
    for text, expected in CASES:
        ours = limited(candidate, text).strip().split("\\n")
        theirs = expected.strip().split("\\n")
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs):
            assert our.strip() == their.strip() or decimals(our) == decimals(their)


def decimals(line):
    try:
        return [decimal.Decimal(word) for word in line.split()]
    except decimal.InvalidOperation:
        return line.strip()
"""


class HumanEvalPlusRow(HubRow):
    """HumanEval+: HumanEval's problems with EvalPlus's tests, base tests included.

    The published check of HumanEval/32 passes the arguments in the wrong order, so that no
    answer passes (evalplus issue 125); it is mended here.
    """

    task_id: str
    prompt: str
    canonical_solution: str
    entry_point: str
    test: str

    def task(self, at: Place) -> Task | LeftOut:
        number = int(self.task_id.rsplit("/", 1)[-1])
        return Task(
            id=f"{at.benchmark}/{number:03d}", benchmark=at.benchmark, kind="code",
            subject=_humaneval_subjects()[f"humaneval/{number:03d}"], prompt=self.prompt,
            gold=self.prompt + self.canonical_solution,
            tests=CodeTests(self.entry_point, originfmt_program(self.test)),
        )  # fmt: skip


@functools.cache
def _humaneval_subjects() -> dict[str, str]:
    path = data_path("tasks", "humaneval_subjects.json")
    subjects: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return subjects


class _Case(BaseModel):
    model_config = ConfigDict(frozen=True)

    input: str
    output: str
    testtype: Literal["stdin", "functional"]


class LiveCodeBenchRow(HubRow):
    """LiveCodeBench, code generation: contest problems with public and hidden tests.

    Every problem is asked as a function, as the team's prompts and the sandbox want it: one
    that maps the standard input to the output, or the method of ``class Solution`` without the
    class. The tests and the comparison are LiveCodeBench's. There is no reference solution:
    ``gold`` is empty.
    """

    question_content: str
    platform: str
    question_id: str
    starter_code: str
    difficulty: Literal["easy", "medium", "hard"]
    public_test_cases: str
    private_test_cases: str
    metadata: str

    def task(self, at: Place) -> Task | LeftOut:
        cases = [
            _Case.model_validate(case)
            for case in (*json.loads(self.public_test_cases), *_private(self.private_test_cases))
        ]
        if len({case.testtype for case in cases}) != 1:
            raise ValueError("public_test_cases: no tests, or tests of two types")
        request, tests = (
            self._function(cases) if cases[0].testtype == "functional" else _program(cases)
        )
        return Task(
            id=f"{at.benchmark}/{self.question_id}", benchmark=at.benchmark, kind="code",
            subject=slug(self.platform), prompt=f"{self.question_content.strip()}\n{request}",
            gold="", level=LEVELS[self.difficulty], tests=tests,
        )  # fmt: skip

    def _function(self, cases: list[_Case]) -> tuple[str, CodeTests]:
        name = json.loads(self.metadata).get("func_name", "")
        pattern = rf"def ({re.escape(name)}\()self,?\s*([^\n]*):\s*$"
        found = re.search(pattern, self.starter_code, re.MULTILINE)
        if not name or found is None:
            raise ValueError(f"starter_code: no method {name!r} in it")
        signature = re.sub(
            r"\b(List|Dict|Tuple|Set)\[", lambda match: match[0].lower(), found[1] + found[2]
        )
        pairs = [
            ([json.loads(line) for line in case.input.splitlines() if line.strip()],
             json.loads(case.output))
            for case in cases
        ]  # fmt: skip
        request = _FUNCTION_REQUEST.format(signature=signature)
        return request, _tests(name, pairs, _FUNCTION_CHECK)


def _program(cases: list[_Case]) -> tuple[str, CodeTests]:
    pairs = [(case.input, case.output) for case in cases]
    return _STDIN_REQUEST, _tests("solve", pairs, _STDIN_CHECK)


def _tests(entry_point: str, pairs: list[tuple[Any, Any]], check: str) -> CodeTests:
    """Return the tests with the cases compressed, as some have megabytes."""
    packed = base64.b64encode(zlib.compress(json.dumps(pairs).encode(), level=6)).decode()
    cases = _CASES.format(packed=packed, limit=CASE_LIMIT_S)
    # Each case has its own limit; that for all is only there to end.
    return CodeTests(entry_point, cases + check, time_limit_s=CASE_LIMIT_S * len(pairs) + 5.0)


def _private(text: str) -> list[Any]:
    """Read the hidden tests: JSON, or JSON in a pickled string, compressed, in base 64."""
    try:
        cases = json.loads(text)
    except json.JSONDecodeError:
        data = zlib.decompress(base64.b64decode(text))
        cases = json.loads(_PlainUnpickler(io.BytesIO(data)).load())
    if not isinstance(cases, list):
        raise ValueError("private_test_cases: not a list")
    return cases


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values only: a pickle from elsewhere could otherwise run any program."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise ValueError(f"private_test_cases: the pickle asks for {module_name}.{global_name}")
