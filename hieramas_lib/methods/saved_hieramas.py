"""A trained HieraMAS as one folder of JSON and safetensors, without pickles.

- ``system.json``: format, seed, settings, roles, positions, LLM pool, learning curve;
- ``graphs.json``: the graph pool;
- ``weights.safetensors``: policy, graph classifier, feature scale;
- ``world.json``: seed, settings and questions of the simulated world, if there is one.

``system.json`` holds a hash of each of the others, so that a damaged file, or one of another
system, is noticed. Keys are not saved: they come from the environment, as the pool says.
"""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import MINILM, Encoder, MiniLM
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.tensor_file import read_tensors, write_tensors
from hieramas_lib.learning.training_state import part
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.world import World
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.system_files import (
    SystemFile,
    WorldFile,
    empty_part,
    put_in_place,
    read_json,
    read_system,
    sha256,
    write_json,
)
from hieramas_lib.teams.graph_pool import GraphPool

VECTOR_TOLERANCE = 2e-3
"""By how much a vector may differ from the one trained on; shipped ones have half precision."""

_SYSTEM = "system.json"
_GRAPHS = "graphs.json"
_WEIGHTS = "weights.safetensors"
_WORLD = "world.json"


def save_hieramas(system: HieraMAS, folder: Path) -> None:
    """Write ``system`` to ``folder``; see :meth:`HieraMAS.save`."""
    if folder.exists() and not (folder / _SYSTEM).exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder}: holds other files than a saved system; name a new folder")
    tensors, space, llms = learned(system), system.space, system.llms
    new = empty_part(folder)
    write_tensors(new / _WEIGHTS, tensors, {})
    space.graphs.save(new / _GRAPHS)
    if llms.world is not None:
        world = llms.world
        known = WorldFile(seed=world.seed, settings=world.settings, tasks=world.tasks)
        write_json(new / _WORLD, known)
    about = SystemFile(
        library=version("hieramas-lib"),
        seed=system.seed,
        settings=system.settings,
        encoder=_name(system.encoder),
        roles=space.roles,
        llms=space.actions.llms,
        width=space.actions.width,
        decision=space.decision,
        reads=space.reads,
        pool=llms.pool,
        origins=llms.origins,
        history=tuple(system.history),
        files={file.name: sha256(file) for file in sorted(new.iterdir())},
    )
    write_json(new / _SYSTEM, about)
    put_in_place(new, folder)


def load_hieramas(
    folder: Path, llms: LLMService | None, encoder: Encoder | None, budget: Budget | None
) -> HieraMAS:
    """Read a system back; see :meth:`HieraMAS.load`."""
    about = read_system(folder / _SYSTEM)
    encoder = encoder or _encoder(folder / _SYSTEM, about.encoder)
    llms = llms or _connected(folder, about, budget)
    for llm in (*about.llms, about.decision):
        if llm not in llms.pool.names:
            raise ConfigError(
                f"{folder / _SYSTEM}: llms: the team needs {llm!r}, and pool {llms.pool.name!r} "
                f"has {', '.join(llms.pool.names)}"
            )
    space = TeamSpace(
        roles=about.roles,
        actions=ActionSpace(about.llms, about.width),
        graphs=GraphPool.load(folder / _GRAPHS),
        decision=about.decision,
        reads=about.reads,
    )
    system = HieraMAS(space, llms, encoder, about.settings, about.seed)
    tensors, _ = read_tensors(folder / _WEIGHTS)
    try:
        _restore(system, tensors)
    except (KeyError, RuntimeError) as error:
        fault = " ".join(str(error).split())  # torch's messages have several lines
        raise ConfigError(f"{folder / _WEIGHTS}: does not fit {_SYSTEM}: {fault}") from None
    _check_encoder(folder / _SYSTEM, encoder, about, tensors)
    system.history = list(about.history)
    return system


def learned(system: HieraMAS) -> dict[str, Tensor]:
    """Return all that ``system`` learned, and the scale of its features, by name.

    Raises:
        ConfigError: nothing was, or the policy is not of the form that its settings name.
    """
    if system.featurizer is None:
        raise ConfigError("HieraMAS: call fit() or start() before saving")
    policy = system.policy.state_dict()
    if policy.keys() != system.untrained_policy().state_dict().keys():
        raise ConfigError(f"HieraMAS: the policy is not of the form {system.settings.form!r}")
    parts = {"policy": policy, "features": system.featurizer.state()}
    if system.classifier is not None:
        parts["classifier"] = system.classifier.state_dict()
    return {f"{name}.{key}": value for name, of in parts.items() for key, value in of.items()}


def _restore(system: HieraMAS, tensors: Mapping[str, Tensor]) -> None:
    features, classifier = part(tensors, "features"), part(tensors, "classifier")
    system.policy.load_state_dict(part(tensors, "policy"))
    system.featurizer = Featurizer.restored(system.encoder, features)
    if classifier:
        system.classifier = system.untrained_classifier(features["role"].shape[1])
        system.classifier.load_state_dict(classifier)


def _connected(folder: Path, about: SystemFile, budget: Budget | None) -> LLMService:
    """Connect to the saved pool, simulated LLMs in the saved world."""
    world = None
    if _WORLD in about.files:
        saved = read_json(folder / _WORLD, WorldFile)
        world = World(saved.tasks, saved.settings, about.pool, saved.seed)
    llms = connect(about.pool, budget=budget, world=world)
    for llm, origin in about.origins.items():
        if llms.origins.get(llm) != origin:
            raise ConfigError(
                f"{folder / _SYSTEM}: origins.{llm}: trained with {origin or 'the default server'}"
                f", here it is {llms.origins.get(llm) or 'the default server'}; to use that all "
                "the same, give `llms=`"
            )
    return llms


def _name(encoder: Encoder) -> str:
    return getattr(encoder, "model", type(encoder).__name__)


def _encoder(path: Path, name: str) -> Encoder:
    if name != MINILM:
        raise ConfigError(f"{path}: encoder: trained with {name}; give it as `encoder=`")
    return MiniLM()


def _check_encoder(
    path: Path, encoder: Encoder, about: SystemFile, tensors: Mapping[str, Tensor]
) -> None:
    """Make sure that ``encoder`` gives the role profiles the vectors that were trained on."""
    trained = tensors["features.role"].numpy()
    vectors = encoder.encode([role.profile for role in about.roles.roles])
    if vectors.shape != trained.shape or np.abs(vectors - trained).max() > VECTOR_TOLERANCE:
        raise ConfigError(
            f"{path}: encoder: trained with {about.encoder}, and {_name(encoder)} gives the roles "
            "other text vectors"
        )
