"""A user's own questions, from JSON Lines or CSV.

One question a row. Every row is checked: a bad one is an error that names file, line and
field, and none is left out. The fields are those of :class:`UserRow`; in CSV the first line
names them, ``choices`` holds a JSON list (``["Paris", "Rome"]``), and an empty cell is a field
that is not given. Blank lines do not count.
"""

import ast
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.task import LETTERS, CodeTests, Kind, Task

SUFFIXES = (".jsonl", ".csv")

Place = tuple[int, Any]


class UserRow(BaseModel):
    """One question.

    Attributes:
        id: Unique in the file; the task's id is ``"<file name>/<id>"``.
        kind: ``"choice"``, ``"maths"`` or ``"code"``.
        prompt: The question, without its options.
        choices: Two to ten different options (choice only).
        answer: The letter of the right option; an expression in LaTeX or plain text (maths); a
            reference program, which may be left out (code).
        subject: Field of the question.
        level: Difficulty from 1 to 5.
        entry_point: Name of the function asked for (code only).
        tests: Python source that defines ``check(candidate)``, which is called with that
            function and raises where it is wrong (code only). Arguments and results are
            passed as copies and must be plain values (numbers, text, lists, dicts and the
            like): no functions, no objects of the answer's classes, no arguments changed in
            place.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    kind: Kind
    prompt: str = Field(min_length=1)
    choices: tuple[str, ...] = ()
    answer: str = ""
    subject: str = Field(default="general", min_length=1)
    level: int | None = Field(default=None, ge=1, le=5)
    entry_point: str | None = None
    tests: str | None = None

    @model_validator(mode="after")
    def _check(self) -> "UserRow":
        if fault := _choice_fault(self) or _code_fault(self):
            raise ValueError(fault)
        if self.kind == "maths" and not self.answer.strip():
            raise ValueError("answer: the right expression is needed")
        return self

    def task(self, benchmark: str) -> Task:
        """Return the row as a task of ``benchmark``."""
        tests = None
        if self.entry_point is not None and self.tests is not None:
            tests = CodeTests(self.entry_point, self.tests)
        return Task(
            id=f"{benchmark}/{self.id}", benchmark=benchmark, kind=self.kind,
            subject=self.subject, prompt=self.prompt, gold=self.answer, choices=self.choices,
            level=self.level, tests=tests,
        )  # fmt: skip


def _choice_fault(row: UserRow) -> str:
    """Say what is wrong with the options, naming the field; empty if nothing is."""
    if row.kind != "choice":
        return "choices: only a row of kind choice has them" if row.choices else ""
    if not 2 <= len(row.choices) <= len(LETTERS):
        return f"choices: 2 to {len(LETTERS)} are needed, there are {len(row.choices)}"
    if len(set(row.choices)) < len(row.choices) or not all(c.strip() for c in row.choices):
        return "choices: they must differ, and none be empty"
    if len(row.answer) != 1 or row.answer not in LETTERS[: len(row.choices)]:
        return f"answer: a letter from A to {LETTERS[len(row.choices) - 1]}, not {row.answer!r}"
    return ""


def _code_fault(row: UserRow) -> str:
    """Say what is wrong with the tests, naming the field; empty if nothing is."""
    for name in ("entry_point", "tests"):
        given = getattr(row, name)
        if row.kind != "code" and given is not None:
            return f"{name}: only a row of kind code has it"
        if row.kind == "code" and not given:
            return f"{name}: a row of kind code needs it"
    if row.kind != "code":
        return ""
    if not (row.entry_point or "").isidentifier():
        return f"entry_point: the name of a function, not {row.entry_point!r}"
    try:
        body = ast.parse(row.tests or "").body
    except (SyntaxError, ValueError) as error:
        return f"tests: not valid Python: {error}"
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in body):
        return "tests: they must define check(candidate)"
    return ""


def load_user_file(path: str | Path) -> tuple[Task, ...]:
    """Read the questions of a ``.jsonl`` or ``.csv`` file; the benchmark has the file's name.

    Raises:
        ConfigError: no such file, another suffix, no question in it, or a bad row; names file,
            line and field.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"{path}: a name that ends in {' or '.join(SUFFIXES)} is needed")
    try:
        # By hand: universal newlines would change the line ends inside a quoted CSV cell.
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}: line {line}: not UTF-8; save the file as UTF-8") from None
    rows = _csv_rows(path, text) if path.suffix == ".csv" else _json_rows(path, text)
    tasks: dict[str, Task] = {}
    first_lines: dict[str, int] = {}
    for line, content in rows:
        row = _validated(f"{path}: line {line}", content)
        if row.id in tasks:
            raise ConfigError(
                f"{path}: line {line}: id: {row.id!r} is also that of line {first_lines[row.id]}"
            )
        tasks[row.id], first_lines[row.id] = row.task(path.stem), line
    if not tasks:
        raise ConfigError(f"{path}: there is no question in it")
    return tuple(tasks.values())


def _json_rows(path: Path, text: str) -> Iterator[Place]:
    # Not splitlines: JSON strings may hold other line separators, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise ConfigError(f"{path}: line {number}: not valid JSON: {error}") from None


def _csv_rows(path: Path, text: str) -> Iterator[Place]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if header is None:
                    header = [cell.strip() for cell in cells]
                    _check_header(f"{path}: line {start}", header)
                else:
                    yield start, _fields(f"{path}: line {start}", header, cells)
            start = reader.line_num + 1
    except csv.Error as error:
        raise ConfigError(f"{path}: line {start}: not valid CSV: {error}") from None


def _check_header(place: str, header: list[str]) -> None:
    for name in header:
        if name not in UserRow.model_fields:
            known = ", ".join(UserRow.model_fields)
            raise ConfigError(f"{place}: {name!r} is no field; there are {known}")
        if header.count(name) > 1:
            raise ConfigError(f"{place}: {name!r} is named twice")


def _fields(place: str, header: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) != len(header):
        raise ConfigError(f"{place}: row: {len(cells)} cells, and the first line has {len(header)}")
    fields: dict[str, Any] = {n: c for n, c in zip(header, cells, strict=True) if c.strip()}
    if "choices" in fields:
        try:
            fields["choices"] = json.loads(fields["choices"])
        except json.JSONDecodeError:
            raise ConfigError(
                f'{place}: choices: a JSON list such as ["Paris", "Rome"] is needed'
            ) from None
    return fields


def _validated(place: str, content: Any) -> UserRow:
    try:
        return UserRow.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        message = fault["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{place}: {field + ': ' if field else ''}{message}") from None
