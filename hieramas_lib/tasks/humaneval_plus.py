"""HumanEval+ from a file of EvalPlus: HumanEval's problems with many more tests.

EvalPlus publishes two formats. A *release* row (``HumanEvalPlus.jsonl.gz``, full or mini) has
inputs, and its reference program says what is right for each. An *OriginFmt* row, which is
also the hub's, has a ``check`` like HumanEval's own. Both compare by EvalPlus's rule: equal,
or floats within ``atol + 1e-7 * abs(expected)``, where ``atol`` is the task's or 1e-6.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.task import CodeTests, Task

PlusTests = Literal["plus", "base"]

# The rule without numpy, whose import takes longer than the tests of most programs. Unlike
# numpy's allclose it does not take [1.0], or 1.0, for [], nor 1.0 for [1.0, 1.0].
_COMPARISON = """
def assertion(out, exp, atol):
    values = exp if isinstance(exp, (list, tuple)) else [exp]
    if atol == 0 and all(isinstance(value, float) for value in values):
        atol = 1e-6
    assert out == exp or atol != 0 and is_close(out, exp, atol)


def is_close(out, exp, atol):
    if isinstance(exp, (list, tuple)):
        alike = type(out) is type(exp) and len(out) == len(exp)
        return alike and all(is_close(a, b, atol) for a, b in zip(out, exp))
    if not isinstance(exp, (int, float)) or not isinstance(out, (int, float)):
        return out == exp
    gap = abs(out - exp)
    return out == exp or gap < float("inf") and gap <= atol + 1e-7 * abs(exp)
"""

_CHECK = """
def check(candidate):
    for inputs in INPUTS:
        out = candidate(*copy.deepcopy(inputs))
        assertion(out, reference[ENTRY_POINT](*copy.deepcopy(inputs)), ATOL)
"""

# Any root will do, so the reference's is no oracle.
_ROOT_CHECK = """
def check(candidate):
    for inputs in INPUTS:
        root = candidate(*copy.deepcopy(inputs))
        assert abs(reference["poly"](*inputs, root)) <= ATOL
"""

# What OriginFmt has for these two. With its own, no answer to HumanEval/32 passes
# (evalplus/evalplus#125).
_NUMPY_START, _NUMPY_END = "import numpy as np\n", "        assert exact_match\n"
_FAULTY_ROOT = "_poly(*candidate(*inp), inp)"
_MEANT_ROOT = "abs(_poly(*inp, candidate(*inp)))"


class _Row(BaseModel):
    """A row of either format; fields that no test needs are ignored."""

    model_config = ConfigDict(frozen=True)

    task_id: str = Field(pattern=r"^HumanEval/\d+$")
    prompt: str
    canonical_solution: str
    entry_point: str

    @property
    def number(self) -> int:
        return int(self.task_id.split("/")[1])

    @property
    def reference(self) -> str:
        return self.prompt + self.canonical_solution


class _ReleaseRow(_Row):
    base_input: list[list[Any]]
    plus_input: list[list[Any]]
    atol: float = Field(ge=0)

    def program(self, tests: PlusTests) -> str:
        # Some plus inputs repeat base inputs (evalplus/evalplus#23); text tells 1 from 1.0.
        inputs = [json.dumps(item) for item in self.base_input]
        inputs += [json.dumps(item) for item in self.plus_input] if tests == "plus" else []
        listed = f"[{', '.join(dict.fromkeys(inputs))}]"
        return "\n".join([
            "import copy, json",
            f"ENTRY_POINT, ATOL = {self.entry_point!r}, {self.atol!r}",
            f"INPUTS = json.loads({listed!r})",
            'reference = {"__name__": "reference"}',
            f"exec({self.reference!r}, reference)",
            _COMPARISON,
            _ROOT_CHECK if self.entry_point == "find_zero" else _CHECK,
        ])  # fmt: skip


class _OriginRow(_Row):
    test: str

    def program(self, tests: PlusTests) -> str:
        if tests == "base":
            raise ValueError("test: OriginFmt does not tell base tests from others")
        return originfmt_program(self.test)


def load_humaneval_plus(path: Path, tests: PlusTests = "plus") -> tuple[Task, ...]:
    """Return the problems of a file of EvalPlus, ``humaneval_plus/000`` and so on.

    Subjects and tempting wrong programs are those of HumanEval.

    Args:
        path: A JSONL file, or one packed by gzip, of either format.
        tests: ``"plus"``: base and plus inputs; ``"base"``: base inputs only, which an
            OriginFmt file does not tell apart.

    Raises:
        ConfigError: the file is missing or a row is not as it should be; it names line and
            field.
    """
    known = {task.id: task for task in load_humaneval()}
    tasks: dict[str, Task] = {}
    for number, line in enumerate(_lines(path), start=1):
        try:
            task = _task(json.loads(line), tests, known)
            if task.id in tasks:
                raise ValueError("task_id: occurs twice")
        except ValidationError as error:
            fault = error.errors()[0]
            field = ".".join(map(str, fault["loc"])) or "row"
            raise ConfigError(f"{path}: line {number}: {field}: {fault['msg']}") from None
        except ValueError as error:
            raise ConfigError(f"{path}: line {number}: {error}") from None
        tasks[task.id] = task
    return tuple(tasks.values())


def _lines(path: Path) -> Iterator[str]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    return (line for line in text.split("\n") if line.strip())


def _task(fields: Any, tests: PlusTests, known: dict[str, Task]) -> Task:
    kind = _OriginRow if isinstance(fields, dict) and "test" in fields else _ReleaseRow
    row = kind.model_validate(fields)
    plain = known.get(f"humaneval/{row.number:03d}")
    if plain is None:
        raise ValueError(f"task_id: HumanEval has no problem {row.number}")
    return Task(
        id=f"humaneval_plus/{row.number:03d}",
        benchmark="humaneval_plus",
        kind="code",
        subject=plain.subject,
        prompt=row.prompt,
        gold=row.reference,
        tempting=plain.tempting,
        tests=CodeTests(row.entry_point, row.program(tests)),
    )


def originfmt_program(test: str) -> str:
    """Return OriginFmt's tests with HumanEval/32 mended and without numpy."""
    start, end = test.find(_NUMPY_START), test.find(_NUMPY_END)
    if start != -1 and end != -1:
        test = test[:start] + _COMPARISON + test[end + len(_NUMPY_END) :]
    return test.replace(_FAULTY_ROOT, _MEANT_ROOT)
