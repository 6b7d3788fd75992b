"""All benchmarks as tasks: those that ship, those on the hub, and a user's own files."""

import functools
import json
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import ROOT, data_path
from hieramas_lib.tasks.hub import hub_set, load_hub
from hieramas_lib.tasks.hub_rows import Labels
from hieramas_lib.tasks.hub_sets import HUB_SETS
from hieramas_lib.tasks.humaneval import load_humaneval
from hieramas_lib.tasks.split_file import read_splits
from hieramas_lib.tasks.task import Task
from hieramas_lib.tasks.user_file import SUFFIXES, load_user_file

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


def load_tasks(
    benchmark: str | Path,
    split: str | None = None,
    *,
    splits: str | Path = "default",
    labels: Labels = "ok",
    source: str | Path | None = None,
) -> tuple[Task, ...]:
    """Return the tasks of a benchmark, or of one of its splits.

    Args:
        benchmark: ``"knowledge"``, ``"maths"`` or ``"humaneval"``, which ship; a public
            benchmark of :data:`~hieramas_lib.tasks.hub_sets.HUB_SETS`, such as ``"gsm8k"``; or
            the path of a ``.jsonl`` or ``.csv`` file with your own questions
            (:mod:`~hieramas_lib.tasks.user_file`).
        split: ``"train"``, ``"val"``, ``"test"``, for some also ``"unseen"`` (subjects that no
            other split has); None for all tasks, also those in no split.
        splits: Which split file: ``"default"``; ``"paper"``, with the test sizes of HieraMAS;
            or the path of one that :func:`~hieramas_lib.tasks.splits.make_splits` made. Where a
            public benchmark has no default file, its own splits are meant.
        labels: What to do about MMLU-Redux's label errors: ``"ok"`` leaves the rows out,
            ``"corrected"`` keeps those with a usable correction, ``"original"`` keeps all.
        source: A folder with a copy of a public benchmark's repository, instead of the hub.

    Raises:
        ConfigError: unknown name, or a file is missing, malformed or changed, or the hub
            cannot be reached.
    """
    name, public = str(benchmark), hub_set(str(benchmark))
    if labels != "ok" and name != "mmlu_redux":
        raise ConfigError(f"labels: only mmlu_redux has them, not {name!r}")
    if source is not None and public is None:
        raise ConfigError(f"source: only a public benchmark has one, not {name!r}")
    if public is None:
        tasks = load_user_file(name) if _is_file(benchmark) else load_all(name)
        file = None if split is None else _split_file(name, splits)
    else:
        file = None if split is None else _split_file(name, splits)
        tasks = load_hub(name, split if file is None else None, labels=labels, source=source)
    if split is None or file is None:
        return tasks
    by_split = read_splits(tasks[0].benchmark, tasks, file).splits
    if split not in by_split:
        raise ConfigError(f"{name!r} has no split {split!r}; it has {', '.join(by_split)}")
    by_id = {task.id: task for task in tasks}
    return tuple(by_id[i] for i in by_split[split])


def _is_file(benchmark: str | Path) -> bool:
    return isinstance(benchmark, Path) or Path(benchmark).suffix in SUFFIXES


def _split_file(name: str, splits: str | Path) -> Path | None:
    """Return the split file that is meant, None for a public benchmark's own splits."""
    if isinstance(splits, Path) or splits.endswith(".json"):
        return Path(splits)
    if splits not in ("default", "paper"):
        raise ConfigError(f"splits: default, paper or a path that ends in .json, not {splits!r}")
    shipped = f"{name}.json" if splits == "default" else f"{name}.{splits}.json"
    if name in BENCHMARKS:
        return data_path("splits", shipped)
    if hub_set(name) is not None and splits == "default":
        path = ROOT / "data" / "splits" / shipped
        return path if path.exists() else None
    raise ConfigError(
        f"splits: {name!r} has no {splits} splits; make some with "
        "hieramas_lib.tasks.splits.make_splits, save them, and give splits=PATH"
    )


@functools.cache
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
    public = ", ".join(each.name for each in HUB_SETS)
    raise ConfigError(
        f"no benchmark {benchmark!r}; there are {', '.join(BENCHMARKS)}, on the hub {public}, "
        f"and files that end in {' or '.join(SUFFIXES)}"
    )


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
