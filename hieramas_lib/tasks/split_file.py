"""Split files: which task of a benchmark is for training, validation and test."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.task import Task

REBUILD = (
    "make the split file anew (`python -m hieramas_lib.tasks.splits` for those that ship, "
    "hieramas_lib.tasks.splits.make_splits for your own)"
)

Covers = Literal["content", "ids"]


class SplitFile(BaseModel):
    """The contents of a split file, such as ``data/splits/<benchmark>.json``.

    Attributes:
        seed: What the builder drew the splits with.
        covers: What the hash is of: the ids with all that is asked and graded of these tasks,
            or, where the tasks are not ours and may be mended by their owners, the ids alone.
        hash: :func:`content_hash` of the splits and the tasks they were made from.
        splits: Task ids by split.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    seed: int
    covers: Covers = "content"
    hash: str
    splits: dict[str, tuple[str, ...]]

    def save(self, path: str | Path) -> None:
        """Write the file."""
        text = self.model_dump_json(indent=1) + "\n"
        Path(path).write_text(text, encoding="utf-8", newline="\n")


def content_hash(
    splits: Mapping[str, Sequence[str]], tasks: Sequence[Task], covers: Covers = "content"
) -> str:
    """Hash the splits with what :attr:`SplitFile.covers` says: 16 hex digits."""
    by_id = {task.id: task for task in tasks}
    content = {
        name: [_content(by_id[i]) for i in ids] if covers == "content" else list(ids)
        for name, ids in splits.items()
    }
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def _content(task: Task) -> list[str | None]:
    tests = [task.tests.entry_point, task.tests.program] if task.tests else [None]
    return [task.id, task.statement, task.gold, *tests]


def read_splits(benchmark: str, tasks: Sequence[Task], path: Path) -> SplitFile:
    """Read the splits of a benchmark and check them against its tasks.

    Raises:
        ConfigError: the file is missing or malformed, a task is in it twice, or the tasks are
            not those that it was made from; names file, field and fix.
    """
    file = _read(path)
    if file.benchmark != benchmark:
        raise ConfigError(f"{path}: benchmark: {file.benchmark!r}, and {benchmark!r} is loaded")
    known = {task.id for task in tasks}
    seen: dict[str, str] = {}
    for name, ids in file.splits.items():
        if missing := [i for i in ids if i not in known]:
            raise ConfigError(
                f"{path}: splits.{name}: {missing[0]!r} ({len(missing)} in all) is no task of "
                f"{benchmark!r}; {REBUILD}"
            )
        for task_id in ids:
            if task_id in seen:
                raise ConfigError(
                    f"{path}: splits.{name}: {task_id!r} is in {seen[task_id]} too; {REBUILD}"
                )
            seen[task_id] = name
    if file.hash != content_hash(file.splits, tasks, file.covers):
        raise ConfigError(
            f"{path}: hash: the tasks or ids of {benchmark!r} have changed since the splits "
            f"were made; undo the change, or {REBUILD}"
        )
    return file


def _read(path: Path) -> SplitFile:
    try:
        return SplitFile.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "file"
        raise ConfigError(f"{path}: {field}: {error.errors()[0]['msg']}; {REBUILD}") from None
