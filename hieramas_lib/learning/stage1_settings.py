"""How stage 1 is trained."""

from dataclasses import dataclass
from typing import get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.credit import CreditMode


@dataclass(frozen=True, slots=True)
class Stage1Settings:
    """How the policy is trained; defaults are the recipe measured to work on few questions.

    Attributes:
        passes: Times each training question is used. From about 1,000 questions on, 1 is better:
            after many thousand rollouts arg-max keeps one role in eight (simulated, measured).
        batch: Questions a batch.
        group: Rollouts a question and batch; at least 2, for the leave-one-out baseline.
        steps: Gradient steps a batch.
        learning_rate: Of Adam.
        max_ratio: Limit of the importance weight pi_new / pi_old of a role.
        price: Factor on the expected price of a team in the loss. Above 1 it makes up for what
            the entropy bonus and the node's credit pay for every role kept, and for dear LLMs,
            beyond what they do for the final answer. It falls to 1 after ``annealed``.
        entropy: Weight of the entropy at the first batch and from ``annealed`` on (or at the last
            one), in units of utility; geometric in between.
        annealed: Batches until the policy explores little. In a longer training the factor on the
            price then falls in a straight line to 1 at the last batch: little is left for it to
            make up for, and what it takes beyond the price itself prunes roles that pay.
        credit, alpha: See :func:`hieramas_lib.learning.credit.advantages`. ``reference`` is the
            published update with its faults, :mod:`hieramas_lib.learning.reference_update`; use
            :meth:`published`.
        max_grad_norm: Gradient clipping.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    passes: int = 4
    batch: int = 12
    group: int = 4
    steps: int = 3
    learning_rate: float = 1e-2
    max_ratio: float = 8.0
    price: float = 2.0
    entropy: tuple[float, float] = (0.01, 0.001)
    annealed: int = 96
    credit: CreditMode = "multi_level"
    alpha: float = 0.4
    max_grad_norm: float = 1.0

    @classmethod
    def published(cls, passes: int = 1) -> "Stage1Settings":
        """Return the published code's settings: one rollout a question and pass, no baseline.

        A pass over 72 questions is all that it trains on.
        """
        return cls(
            passes=passes, batch=6, group=1, steps=1, learning_rate=5e-3, entropy=(1.0, 1.0),
            credit="reference", alpha=0.5,
        )  # fmt: skip

    def __post_init__(self) -> None:
        published = self.credit == "reference"
        least_of = {"passes": 1, "batch": 1, "group": 2 - published, "steps": 1, "annealed": 1}
        for name, least in least_of.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: at least {least}, got {getattr(self, name)}")
        if self.credit not in get_args(CreditMode):
            modes = ", ".join(get_args(CreditMode))
            raise ConfigError(f"credit: {self.credit!r} is not one of {modes}")
        if published and self.steps != 1:
            raise ConfigError(f"steps: the reference update takes 1 a batch, got {self.steps}")
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"alpha: between 0 and 1, got {self.alpha}")
        if self.price < 0:
            raise ConfigError(f"price: 0 or more, got {self.price}")
        if min(self.entropy) <= 0:
            raise ConfigError(f"entropy: both weights must be above 0, got {self.entropy}")
