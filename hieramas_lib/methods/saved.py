"""A method as one folder of JSON and safetensors, without pickles.

- ``system.json``: format, method, seed, settings, roles, space of teams, LLM pool;
- ``graphs.json``: the graph pool, for a method that chooses teams;
- ``weights.safetensors`` or ``learned.json``: what it learned, and the vectors of the roles;
- ``world.json``: seed, settings and questions of the simulated world, if there is one.

``system.json`` holds a hash of each of the others, so that a damaged file, or one of another
system, is noticed. Keys are not saved: they come from the environment, as the pool says.
"""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.tensor_file import read_tensors, write_tensors
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.saved_kinds import Kind, kind_of
from hieramas_lib.methods.saved_parts import (
    GRAPHS,
    SYSTEM,
    WORLD,
    Parts,
    check_encoder,
    encoder_name,
    parts_of,
    read_parts,
    role_vectors,
    space_file,
)
from hieramas_lib.methods.system_files import (
    SystemFile,
    WorldFile,
    empty_part,
    put_in_place,
    read_method,
    read_system,
    sha256,
    write_json,
)

_WEIGHTS: Final = "weights.safetensors"
_LEARNED: Final = "learned.json"
_ROLES: Final = "encoder.roles"


@runtime_checkable
class LearnsTensors(Protocol):
    """A method whose learned state is tensors by name."""

    def tensors(self) -> dict[str, Tensor]:
        """Return all that was learned; ConfigError before anything was."""
        ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take what :meth:`tensors` returned in place of learning."""
        ...


@runtime_checkable
class LearnsText(Protocol):
    """A method whose learned state is a JSON text."""

    def learned_json(self) -> str:
        """Return all that was learned; ConfigError before anything was."""
        ...

    def restore_json(self, text: str) -> None:
        """Take what :meth:`learned_json` returned in place of learning."""
        ...


def save_method(method: Method, folder: str | Path) -> None:
    """Write ``method`` to ``folder``, in place of one saved there before.

    Raises:
        ConfigError: it is not trained, is none of the methods that can be saved (see
            :mod:`.saved_kinds`), or ``folder`` holds other files.
    """
    folder, name = Path(folder), type(method).__name__
    if folder.exists() and not (folder / SYSTEM).exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder}: holds other files than a saved system; name a new folder")
    kind, parts = kind_of(name), parts_of(method)
    new = _written(method, parts, folder)
    about: SystemFile[Any] = SystemFile[kind.settings](  # type: ignore[name-defined]
        method=name,
        library=version("hieramas-lib"),
        seed=parts.seed,
        settings=parts.settings,
        encoder=encoder_name(parts.given_encoder),
        roles=parts.roles,
        space=space_file(parts.given_space),
        pool=parts.llms.pool,
        origins=parts.llms.origins,
        files={file.name: sha256(file) for file in sorted(new.iterdir())},
    )
    write_json(new / SYSTEM, about)
    put_in_place(new, folder)


def load_method(
    folder: str | Path,
    *,
    llms: LLMService | None = None,
    encoder: Encoder | None = None,
    budget: Budget | None = None,
) -> Method:
    """Read a method that :func:`save_method` wrote; it answers as the saved one did.

    Args:
        folder: Where it is.
        llms: Who answers; by default the pool it was trained with: a simulated one in its
            saved world, real ones with the keys in the environment.
        encoder: By default MiniLM; any other has to be given again.
        budget: Limit on the calls, where ``llms`` is not given.

    Raises:
        ConfigError: not a saved method, one of another format, damaged, or one whose LLMs or
            text vectors are others here; names file and field.
    """
    folder = Path(folder)
    kind = _kind(folder / SYSTEM)
    about = read_system(folder / SYSTEM, kind.settings)
    parts = read_parts(folder, about, llms, encoder, budget)
    try:
        method = kind.build(parts)
    except ConfigError as error:
        raise ConfigError(f"{folder / SYSTEM}: {error}") from None
    _restore(folder, method, parts)
    return method


def _kind(path: Path) -> Kind:
    name = read_method(path)
    try:
        return kind_of(name)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _written(method: Method, parts: Parts, folder: Path) -> Path:
    """Write all files but ``system.json`` beside ``folder``; return where."""
    tensors = method.tensors() if isinstance(method, LearnsTensors) else {}
    text = method.learned_json() if isinstance(method, LearnsText) else None
    if parts.given_encoder:
        tensors = tensors | {_ROLES: role_vectors(parts.given_encoder, parts.roles)}
    new = empty_part(folder)
    if tensors:
        write_tensors(new / _WEIGHTS, tensors, {})
    if text is not None:
        (new / _LEARNED).write_text(text, encoding="utf-8")
    if parts.given_space:
        parts.given_space.graphs.save(new / GRAPHS)
    if (world := parts.llms.world) is not None:
        known = WorldFile(seed=world.seed, settings=world.settings, tasks=world.tasks)
        write_json(new / WORLD, known)
    return new


def _restore(folder: Path, method: Method, parts: Parts) -> None:
    """Give ``method`` what was learned."""
    weights, learned = folder / _WEIGHTS, folder / _LEARNED
    tensors = read_tensors(weights)[0] if weights.exists() else {}
    trained = tensors.pop(_ROLES, None)
    file = weights
    try:
        if isinstance(method, LearnsTensors):
            method.restore(tensors)
        if isinstance(method, LearnsText):
            file = learned
            method.restore_json(learned.read_text(encoding="utf-8"))
    except (KeyError, RuntimeError, ValueError, OSError, ConfigError) as error:
        fault = " ".join(str(error).split())  # torch's messages have several lines
        raise ConfigError(f"{file}: does not fit {SYSTEM}: {fault}") from None
    if parts.given_encoder and trained is not None:
        check_encoder(folder / SYSTEM, parts.given_encoder, parts.roles, trained)
