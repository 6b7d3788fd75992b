"""How AFlow searches."""

from dataclasses import dataclass
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError

ProposerName = Literal["random", "llm"]


@dataclass(frozen=True, slots=True)
class AFlowSettings:
    """How long is searched, and by whom.

    Attributes:
        llm: Of the workflow that the search starts with, one call.
        rounds: Most rounds, the start included.
        spend: Most that the search may cost, in usual calls of the reference LLM, validation and
            proposals together.
        proposer: Who proposes edits: chance, which needs no key, or an LLM.
        optimiser: The LLM that proposes; empty for chance.
        parents: Rounds among which a parent is drawn, the start included.
        tries: Edits that are asked for in a round until one is valid and new.
        repeats: How often each validation task is answered for a score.
        patience: Rounds in which the mean of the best three may stand still.
        cost_weight: What a reference call takes off the score; 0 in the paper.

    Raises:
        ConfigError: names the field.
    """

    llm: str
    rounds: int = 20
    spend: float = 2000.0
    proposer: ProposerName = "random"
    optimiser: str = ""
    parents: int = 4
    tries: int = 5
    repeats: int = 1
    patience: int = 5
    cost_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rounds", "parents", "tries", "repeats", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: at least 1, got {getattr(self, name)}")
        if not self.spend > 0:
            raise ConfigError(f"spend: above 0 reference calls, got {self.spend}")
        if not self.cost_weight >= 0:
            raise ConfigError(f"cost_weight: at least 0, got {self.cost_weight}")
        if self.proposer not in get_args(ProposerName):
            raise ConfigError(f"proposer: {self.proposer!r} is not random or llm")
        if (self.proposer == "llm") != bool(self.optimiser):
            raise ConfigError("optimiser: an LLM for proposer llm, and empty for proposer random")
