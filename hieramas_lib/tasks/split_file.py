"""Split files: which task of a benchmark is for training, validation and test."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Task

REBUILD = "rebuild the split files with `python -m hieramas_lib.tasks.splits`"


class SplitFile(BaseModel):
    """The contents of ``data/splits/<benchmark>.json``.

    Attributes:
        seed: What the builder drew the splits with.
        hash: :func:`content_hash` of the splits and the tasks they were made from.
        splits: Task ids by split.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    seed: int
    hash: str
    splits: dict[str, tuple[str, ...]]


def content_hash(splits: dict[str, Sequence[str]], tasks: Sequence[Task]) -> str:
    """Hash the splits with all that is asked and graded of the tasks in them: 16 hex digits."""
    by_id = {task.id: task for task in tasks}
    content = {
        name: [(i, by_id[i].statement, by_id[i].gold, repr(by_id[i].tests)) for i in ids]
        for name, ids in splits.items()
    }
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def read_splits(benchmark: str, tasks: Sequence[Task], path: Path | None = None) -> SplitFile:
    """Read the splits of a benchmark and check them against its tasks.

    Raises:
        ConfigError: the file is missing or malformed, or the tasks are not those that it was
            made from; names file, field and fix.
    """
    path = path or data_path("splits", f"{benchmark}.json")
    try:
        file = SplitFile.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "file"
        raise ConfigError(f"{path}: {field}: {error.errors()[0]['msg']}; {REBUILD}") from None
    known = {task.id for task in tasks}
    for name, ids in file.splits.items():
        if missing := [i for i in ids if i not in known]:
            raise ConfigError(
                f"{path}: splits.{name}: {missing[0]!r} ({len(missing)} in all) is no task of "
                f"{benchmark!r}; {REBUILD}"
            )
    if file.hash != content_hash(dict(file.splits), tasks):
        raise ConfigError(
            f"{path}: hash: the tasks or ids of {benchmark!r} have changed since the splits "
            f"were made; undo the change, or {REBUILD}"
        )
    return file
