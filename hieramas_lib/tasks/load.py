"""The shipped benchmarks as tasks."""

import functools
import json
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.split_file import read_splits
from hieramas_lib.tasks.task import Task

BENCHMARKS = ("knowledge", "maths", "humaneval")


class _KnowledgeRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    subject: str = Field(min_length=1)
    area: Literal["STEM", "humanities", "social sciences", "other"]
    question: str = Field(min_length=1)
    choices: tuple[str, str, str, str]
    answer: Literal["A", "B", "C", "D"]
    level: int = Field(ge=1, le=5)

    @model_validator(mode="after")
    def _check_choices(self) -> "_KnowledgeRecord":
        if len(set(self.choices)) < 4 or not all(self.choices):
            raise ValueError("choices: four different texts are needed")
        return self

    def task(self) -> Task:
        return Task(
            id=self.id, benchmark="knowledge", kind="choice", subject=self.subject,
            prompt=self.question, gold=self.answer, choices=self.choices, level=self.level,
        )  # fmt: skip


class _MathsRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    subject: str = Field(min_length=1)
    level: int = Field(ge=1, le=5)
    prompt: str = Field(min_length=1)
    gold: str = Field(min_length=1)
    tempting: tuple[str, ...]

    def task(self) -> Task:
        return Task(
            id=self.id, benchmark="maths", kind="maths", subject=self.subject,
            prompt=self.prompt, gold=self.gold, level=self.level, tempting=self.tempting,
        )  # fmt: skip


Record = TypeVar("Record", _KnowledgeRecord, _MathsRecord)


@functools.cache
def load_tasks(benchmark: str, split: str | None = None) -> tuple[Task, ...]:
    """Return the tasks of a shipped benchmark, or of one of its splits.

    Args:
        benchmark: ``"knowledge"``, ``"maths"`` or ``"humaneval"``.
        split: ``"train"``, ``"val"``, ``"test"``, for knowledge also ``"unseen"`` (subjects
            that no other split has); None for all tasks, also those in no split.

    Raises:
        ConfigError: unknown name, or a shipped file is missing, malformed or changed.
    """
    tasks = load_all(benchmark)
    if split is None:
        return tasks
    splits = read_splits(benchmark, tasks).splits
    if split not in splits:
        raise ConfigError(f"{benchmark!r} has no split {split!r}; it has {', '.join(splits)}")
    by_id = {task.id: task for task in tasks}
    return tuple(by_id[i] for i in splits[split])


def load_all(benchmark: str) -> tuple[Task, ...]:
    """Return all tasks of a shipped benchmark, without looking at its splits.

    Raises:
        ConfigError: as :func:`load_tasks`.
    """
    if benchmark == "humaneval":
        return load_humaneval()
    if benchmark == "knowledge":
        rows = _read(data_path("tasks", "knowledge.jsonl"), _KnowledgeRecord)
        return tuple(row.task() for row in rows)
    if benchmark == "maths":
        return tuple(row.task() for row in _read(data_path("tasks", "maths.jsonl"), _MathsRecord))
    raise ConfigError(f"no benchmark {benchmark!r}; there are {', '.join(BENCHMARKS)}")


def _read(path: Path, record: type[Record]) -> list[Record]:
    """Read a JSONL file; no row is dropped, and no id occurs twice."""
    records: dict[str, Record] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = _read_row(f"{path}: line {number}", line, record)
        if row.id in records:
            raise ConfigError(f"{path}: line {number}: id: {row.id!r} occurs twice")
        records[row.id] = row
    return list(records.values())


def _read_row(place: str, line: str, record: type[Record]) -> Record:
    try:
        return record.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{place}: not valid JSON: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"])) or "row"
        raise ConfigError(f"{place}: {field}: {fault['msg']}") from None
