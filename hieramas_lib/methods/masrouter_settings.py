"""How MASRouter is trained and asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.task import Kind

Baseline = Literal["question", "none"]
"""Mean reward of the other rollouts of the same question; or 0, as in the paper's code."""

PAPER_COST_WEIGHTS: Final[Mapping[Kind, float]] = MappingProxyType(
    {"choice": 0.5, "maths": 0.1, "code": 0.2}
)
"""Their lambdas of 500 (MMLU), 100 (MATH) and 200 (HumanEval) per US dollar.

Here they are per usual call of the reference LLM, which in the papers' pool costs 0.001 dollars.
"""


@dataclass(frozen=True, slots=True)
class MASRouterSettings:
    """How it is trained and asked.

    Attributes:
        passes: Passes over the training questions.
        batch: Questions of one gradient step.
        group: Rollouts of a question in a pass; 1 in the paper's code.
        learning_rate: Of Adam.
        cost_weight: lambda, accuracy that one reference call must bring; None takes the paper's
            for the kind of question, :data:`PAPER_COST_WEIGHTS`.
        vae_weight: Weight of the autoencoders' loss.
        baseline: See :data:`Baseline`; ``question`` needs a group of at least 2.
        sampled: Whether the plan is drawn at test too, as in the paper's code, instead of the
            most probable one.
        hidden: Width of the network.

    Raises:
        ConfigError: names the field.
    """

    passes: int = 10
    batch: int = 16
    group: int = 4
    learning_rate: float = 0.01
    cost_weight: float | None = None
    vae_weight: float = 0.001
    baseline: Baseline = "question"
    sampled: bool = False
    hidden: int = 64

    def __post_init__(self) -> None:
        for name in ("passes", "batch", "group", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "vae_weight"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name}: above 0, got {getattr(self, name)}")
        if self.cost_weight is not None and not self.cost_weight >= 0:
            raise ConfigError(f"cost_weight: at least 0 or None, got {self.cost_weight}")
        if self.baseline not in get_args(Baseline):
            raise ConfigError(f"baseline: {self.baseline!r} is not question or none")
        if self.baseline == "question" and self.group < 2:
            raise ConfigError("group: at least 2 for baseline question, or take baseline none")
