"""Checkpoints of stage 1: a training that was stopped goes on as if it never had been."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import PolicyLearner
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.tensor_file import digest_of, read_tensors, write_tensors
from hieramas_lib.learning.training_state import TrainingState
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task

Identity = Mapping[str, str]
"""All that a training follows from, by name; long things as a digest."""


class Checkpoints:
    """The file ``stage1.safetensors`` in a folder, replaced whole after every batch."""

    def __init__(self, folder: str | Path) -> None:
        """Keep checkpoints in ``folder``; it is made when the first is written."""
        self.path = Path(folder) / "stage1.safetensors"

    def save(self, state: TrainingState, identity: Identity) -> None:
        """Write ``state``, in place of the last one."""
        about = {"identity": dict(identity), **state.facts()}
        write_tensors(self.path, state.tensors(), about)

    def resume(self, state: TrainingState, identity: Identity) -> None:
        """Bring ``state`` to where the last checkpoint was written; leave it if there is none.

        Raises:
            ConfigError: the file is damaged, or of a training with another ``identity``; names
                what differs.
        """
        if not self.path.exists():
            return
        tensors, about = read_tensors(self.path)
        before = about.get("identity", {})
        for name, now in identity.items():
            if before.get(name) != now:
                raise ConfigError(
                    f"{self.path}: {name}: {before.get(name, 'unknown')} when this checkpoint was "
                    f"written, {now} now; use another folder, or remove the file to begin anew"
                )
        try:
            state.restore(tensors, about)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ConfigError(f"{self.path}: not a checkpoint of stage 1: {error}") from None


def training_identity(
    policy: PolicyLearner,
    space: TeamSpace,
    train: Sequence[Task],
    llms: LLMService,
    featurizer: Featurizer,
    settings: object,
    seed: int,
) -> Identity:
    """Return all that a training follows from; ``policy`` is the one that it starts with.

    ``settings`` is a dataclass. The call store is not part of it: a call gives the same answer
    from the store.
    """
    assert is_dataclass(settings) and not isinstance(settings, type)
    return {
        **{f"settings.{name}": repr(value) for name, value in asdict(settings).items()},
        "seed": str(seed),
        "train": f"{len(train)} tasks, {_digest(list(train))}",
        "space": _digest([space.roles.model_dump_json(), space.graphs.ids]),
        "space.actions": f"{', '.join(space.actions.llms)}; {space.actions.width} proposers",
        "space.decision": space.decision,
        "space.reads": space.reads,
        "llms": f"{llms.pool.name}, {_digest([llms.pool.model_dump_json(), llms.origins])}",
        "featurizer": digest_of(featurizer.state()),
        "policy": digest_of(policy.state_dict()),
    }


def _digest(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(errors="surrogatepass"), digest_size=8).hexdigest()
