"""Everything that changes while stage 1 trains: what a checkpoint has to hold."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.policy import PolicyLearner


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What one batch of training looked like.

    Attributes:
        rollouts: Rollouts made so far, this batch included.
        accuracy, utility, cost: Means over the batch's rollouts; cost in reference calls.
        entropy: Mean entropy of a role's choice, in nats.
        kept_roles: Mean number of roles kept.
    """

    rollouts: int
    accuracy: float
    utility: float
    cost: float
    entropy: float
    kept_roles: float


@dataclass
class TrainingState:
    """The learner under way; the number of batches done is the length of ``history``.

    Attributes:
        policy: Trained in place.
        optimizer: With its running means.
        rng: Draws the order of questions and the graphs.
        generator: Draws the actions.
        history: One entry for each batch done.
    """

    policy: PolicyLearner
    optimizer: torch.optim.Optimizer
    rng: np.random.Generator
    generator: torch.Generator
    history: list[TrainingStep] = field(default_factory=list)

    @classmethod
    def begin(cls, policy: PolicyLearner, learning_rate: float, seed: int) -> "TrainingState":
        """Return the state before the first batch, with Adam."""
        return cls(
            policy=policy,
            optimizer=torch.optim.Adam(policy.parameters(), lr=learning_rate),
            rng=np.random.default_rng(seed),
            generator=torch.Generator().manual_seed(seed),
        )

    def set_rate(self, rate: float) -> None:
        """Change the learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def tensors(self) -> dict[str, Tensor]:
        """Return weights, Adam's running means and the state of the actions' generator."""
        moments = self.optimizer.state_dict()["state"]
        return {
            **{f"policy.{name}": value for name, value in self.policy.state_dict().items()},
            **{f"adam.{i}.{name}": t for i, of in moments.items() for name, t in of.items()},
            "generator": self.generator.get_state(),
        }

    def facts(self) -> dict[str, Any]:
        """Return the rest as JSON values: the state of ``rng``, and the history."""
        return {
            "rng": self.rng.bit_generator.state,
            "history": [asdict(step) for step in self.history],
        }

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Go back to where :meth:`tensors` and :meth:`facts` were taken.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: they are of another learner.
        """
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("adam."):
                _, index, moment = name.split(".")
                moments.setdefault(int(index), {})[moment] = tensor
        history = [TrainingStep(**step) for step in facts["history"]]
        self.policy.load_state_dict(part(tensors, "policy"))
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.generator.set_state(tensors["generator"])
        self.rng.bit_generator.state = facts["rng"]
        self.history = history


def part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors named ``<prefix>.<name>``, by their names."""
    start = f"{prefix}."
    return {n.removeprefix(start): t for n, t in tensors.items() if n.startswith(start)}


def history_tensor(history: Sequence[TrainingStep]) -> Tensor:
    """Return a learning curve as ``[steps, fields]``, in double precision: nothing is rounded."""
    rows = [astuple(step) for step in history]
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, len(fields(TrainingStep)))


def history_of(tensor: Tensor) -> list[TrainingStep]:
    """Return the learning curve that :func:`history_tensor` wrote."""
    return [TrainingStep(int(rollouts), *rest) for rollouts, *rest in tensor.tolist()]
