"""The JSON files of a saved method: what is in them, and how they are written and checked."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.team import Reads

FORMAT = 2
"""Number of the layout; a folder of another one is refused."""

Settings = TypeVar("Settings")
Model = TypeVar("Model", bound=BaseModel)


class SpaceFile(BaseModel):
    """The space of teams that a method chooses among, but for its graphs.

    Attributes:
        llms: Actions, in their order, without SKIP.
        width: Proposers of a supernode.
        decision: LLM that gives the final answer.
        reads: What the decision reads.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    llms: tuple[str, ...]
    width: int
    decision: str
    reads: Reads


class SystemFile(BaseModel, Generic[Settings]):
    """``system.json``: all that a method is made of but what it learned, graphs and world.

    Attributes:
        method: Its class, one of those in :mod:`.saved_kinds`.
        library: Version that wrote it.
        seed: Of its draws; None for a method without any.
        settings: The settings of that class.
        encoder: Which model its text vectors are of; None for a method without any.
        space: None for a method that does not choose teams.
        origins: What the LLMs' answers depend on besides their names: world, file or address.
        files: SHA-256 of the other files of the folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    format: Literal[2] = 2
    library: str
    seed: int | None
    settings: Settings
    encoder: str | None
    roles: RoleSet
    space: SpaceFile | None
    pool: LLMPool
    origins: dict[str, str | None]
    files: dict[str, str]


class WorldFile(BaseModel):
    """``world.json``: the simulated world, with all questions that its LLMs know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    settings: WorldSettings
    tasks: tuple[Task, ...]


class _Format(BaseModel):
    """The two fields that every format has."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    method: str
    format: int


def read_method(path: Path) -> str:
    """Return which method ``system.json`` is about.

    Raises:
        ConfigError: another format; names file and field.
    """
    found = read_json(path, _Format)
    if found.format != FORMAT:
        raise ConfigError(
            f"{path}: format: {found.format}; this version of the library reads format {FORMAT}"
        )
    return found.method


def read_system(path: Path, settings: type) -> SystemFile[Any]:
    """Read ``system.json`` and make sure that the files beside it are those that it names.

    Raises:
        ConfigError: a field or a file is missing or damaged; names file and field.
    """
    about: SystemFile[Any] = read_json(path, SystemFile[settings])  # type: ignore[valid-type]
    for name, digest in about.files.items():
        file = path.with_name(name)
        if not file.is_file():
            raise ConfigError(f"{file}: missing")
        if sha256(file) != digest:
            raise ConfigError(f"{file}: damaged, or of another system than {path.name}")
    return about


def read_json(path: Path, model: type[Model]) -> Model:
    """Read a file that :func:`write_json` wrote; ConfigError names the file and the first fault."""
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: damaged: not UTF-8 text") from None
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"])) or "file"
        raise ConfigError(f"{path}: {field}: {fault['msg']}") from None


def write_json(path: Path, model: BaseModel) -> None:
    """Write ``model`` as JSON."""
    path.write_text(model.model_dump_json(indent=1) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file: 64 hex digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def empty_part(folder: Path) -> Path:
    """Return an empty folder beside ``folder``, to be filled and put in its place."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    return part


def put_in_place(part: Path, folder: Path) -> None:
    """Rename ``part`` to ``folder``; what was there goes when the new one is whole."""
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    if folder.exists():
        os.replace(folder, old)
    os.replace(part, folder)
    shutil.rmtree(old, ignore_errors=True)
