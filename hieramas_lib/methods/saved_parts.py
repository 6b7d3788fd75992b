"""What a method is built of, besides what it learned: taken from a method, or from its folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import MINILM, Encoder, MiniLM
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.world import World
from hieramas_lib.methods.system_files import SpaceFile, SystemFile, WorldFile, read_json
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.roles import RoleSet

SYSTEM: Final = "system.json"
GRAPHS: Final = "graphs.json"
WORLD: Final = "world.json"

VECTOR_TOLERANCE = 2e-3
"""By how much a vector may differ from the one trained on; shipped ones have half precision."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a class of methods is given to build one of them.

    Attributes:
        settings: Those of the class.
        seed: None for a method that draws nothing.
        given_space, given_encoder: None where the method has none; builders that need them read
            :attr:`space` and :attr:`encoder`.
    """

    settings: Any
    llms: LLMService
    roles: RoleSet
    seed: int | None
    given_space: TeamSpace | None
    given_encoder: Encoder | None

    @property
    def space(self) -> TeamSpace:
        """The space of teams.

        Raises:
            ConfigError: there is none.
        """
        if self.given_space is None:
            raise ConfigError("space: missing, and this method chooses teams")
        return self.given_space

    @property
    def encoder(self) -> Encoder:
        """What makes text vectors.

        Raises:
            ConfigError: there is none.
        """
        if self.given_encoder is None:
            raise ConfigError("encoder: missing, and this method reads text vectors")
        return self.given_encoder

    @property
    def drawn(self) -> int:
        """The seed of a method that draws.

        Raises:
            ConfigError: there is none.
        """
        if self.seed is None:
            raise ConfigError("seed: missing, and this method draws at random")
        return self.seed


def parts_of(method: Any) -> Parts:
    """Take a method apart.

    Raises:
        ConfigError: it is not on the LLMs of a pool.
    """
    llms = getattr(method, "llms", None)
    if not isinstance(llms, LLMService):
        raise ConfigError(f"{method.name}: only a method on the LLMs of a pool can be saved")
    space: TeamSpace | None = getattr(method, "space", None)
    return Parts(
        settings=method.settings,
        llms=llms,
        roles=space.roles if space else method.roles,
        seed=getattr(method, "seed", None),
        given_space=space,
        given_encoder=getattr(method, "encoder", None),
    )


def named_llms(settings: Any) -> tuple[str, ...]:
    """Return the LLMs that a method's settings name, each once."""
    one = [getattr(settings, name, None) for name in ("llm", "aggregator")]
    several = [getattr(settings, name, ()) for name in ("llms", "proposers")]
    named = [*one, *(llm for llms in several for llm in llms)]
    return tuple(dict.fromkeys(llm for llm in named if llm))


def check_named(settings: Any, llms: LLMService) -> None:
    """Make sure that the pool has all LLMs that ``settings`` name.

    Raises:
        ConfigError: it lacks one.
    """
    for llm in named_llms(settings):
        if llm not in llms.pool.names:
            raise ConfigError(
                f"settings: no LLM {llm!r} in pool {llms.pool.name!r}, which has "
                f"{', '.join(llms.pool.names)}"
            )


def space_file(space: TeamSpace | None) -> SpaceFile | None:
    """Return what ``system.json`` says of ``space``."""
    if space is None:
        return None
    return SpaceFile(
        llms=space.actions.llms,
        width=space.actions.width,
        decision=space.decision,
        reads=space.reads,
    )


def read_parts(
    folder: Path,
    about: SystemFile[Any],
    llms: LLMService | None,
    encoder: Encoder | None,
    budget: Budget | None,
) -> Parts:
    """Build the parts of the method saved in ``folder``; see :func:`.saved.load_method`."""
    encoder = encoder or _encoder(folder / SYSTEM, about.encoder)
    llms = llms or _connected(folder, about, budget)
    _check_llms(folder / SYSTEM, about, llms)
    return Parts(about.settings, llms, about.roles, about.seed, _space(folder, about), encoder)


def encoder_name(encoder: Encoder | None) -> str | None:
    """Name the model of text vectors."""
    return None if encoder is None else getattr(encoder, "model", type(encoder).__name__)


def role_vectors(encoder: Encoder, roles: RoleSet) -> Tensor:
    """Return the vectors of the roles' profiles, by which an encoder is known again."""
    return torch.from_numpy(encoder.encode([role.profile for role in roles.roles]))


def check_encoder(path: Path, encoder: Encoder, roles: RoleSet, trained: Tensor) -> None:
    """Make sure that ``encoder`` gives the role profiles the vectors that were trained on."""
    vectors, before = role_vectors(encoder, roles).numpy(), trained.numpy()
    if vectors.shape != before.shape or np.abs(vectors - before).max() > VECTOR_TOLERANCE:
        raise ConfigError(
            f"{path}: encoder: {encoder_name(encoder)} gives the roles other text vectors than "
            "those that were trained on"
        )


def _space(folder: Path, about: SystemFile[Any]) -> TeamSpace | None:
    if about.space is None:
        return None
    return TeamSpace(
        roles=about.roles,
        actions=ActionSpace(about.space.llms, about.space.width),
        graphs=GraphPool.load(folder / GRAPHS),
        decision=about.space.decision,
        reads=about.space.reads,
    )


def _check_llms(path: Path, about: SystemFile[Any], llms: LLMService) -> None:
    """Make sure that all LLMs are there which the space and the settings name."""
    space = about.space
    named = [*space.llms, space.decision] if space else []
    for llm in (*named, *named_llms(about.settings)):
        if llm not in llms.pool.names:
            raise ConfigError(
                f"{path}: llms: {about.method} needs {llm!r}, and pool {llms.pool.name!r} has "
                f"{', '.join(llms.pool.names)}"
            )


def _connected(folder: Path, about: SystemFile[Any], budget: Budget | None) -> LLMService:
    """Connect to the saved pool, simulated LLMs in the saved world."""
    world = None
    if WORLD in about.files:
        saved = read_json(folder / WORLD, WorldFile)
        world = World(saved.tasks, saved.settings, about.pool, saved.seed)
    llms = connect(about.pool, budget=budget, world=world)
    for llm, origin in about.origins.items():
        if llms.origins.get(llm) != origin:
            raise ConfigError(
                f"{folder / SYSTEM}: origins.{llm}: trained with {origin or 'the default server'}"
                f", here it is {llms.origins.get(llm) or 'the default server'}; to use that all "
                "the same, give `llms=`"
            )
    return llms


def _encoder(path: Path, name: str | None) -> Encoder | None:
    if name is None:
        return None
    if name != MINILM:
        raise ConfigError(f"{path}: encoder: trained with {name}; give it as `encoder=`")
    return MiniLM()
