"""The JSON files of a saved system: what is in them, and how they are written and checked."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.training_state import TrainingStep
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.methods.hieramas import HieraMASSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.team import Reads

FORMAT = 1
"""Number of the layout; a folder of another one is refused."""


class SystemFile(BaseModel):
    """``system.json``: all that a system is made of but weights, graphs and world.

    Attributes:
        library: Version that wrote it.
        encoder: Which model its text vectors are of.
        llms: Actions of the policy, in their order, without SKIP.
        origins: What the LLMs' answers depend on besides their names: world, file or address.
        history: The learning curve of stage 1.
        files: SHA-256 of the other files of the folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Literal["HieraMAS"] = "HieraMAS"
    format: Literal[1] = 1
    library: str
    seed: int
    settings: HieraMASSettings
    encoder: str
    roles: RoleSet
    llms: tuple[str, ...]
    width: int
    decision: str
    reads: Reads
    pool: LLMPool
    origins: dict[str, str | None]
    history: tuple[TrainingStep, ...]
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


Model = TypeVar("Model", bound=BaseModel)


def read_system(path: Path) -> SystemFile:
    """Read ``system.json`` and make sure that the files beside it are those that it names.

    Raises:
        ConfigError: another format, a file missing or damaged; names file and field.
    """
    found = read_json(path, _Format)
    if (found.method, found.format) != ("HieraMAS", FORMAT):
        raise ConfigError(
            f"{path}: format: {found.method} {found.format}; this version of the library reads "
            f"HieraMAS {FORMAT}"
        )
    about = read_json(path, SystemFile)
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
