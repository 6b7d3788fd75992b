"""Which LLMs there are, and what they cost."""

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from hieramas_lib.errors import ConfigError

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ClientName = Literal["simulated", "openai", "anthropic", "local"]


class Price(BaseModel):
    """List price in US dollars per million tokens, with the day and place it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Amount
    output: Amount
    date: date
    source: str


class LLMSpec(BaseModel):
    """One LLM of a pool.

    Attributes:
        name: Short name used everywhere in the project.
        client: How it is reached.
        model: The provider's id, or the path of a GGUF file for ``local``.
        family: LLMs of one family share mistakes.
        profile: A few lines on strengths, weaknesses and price; the policy embeds them.
        price: None where unknown; its calls are then counted as unpriced, never as free.
        base_url: Address of an OpenAI-compatible server; None is the SDK's default.
        key_env: Environment variable holding the key; None where no key is needed.
        max_concurrency: Calls in flight at once.
        usual_tokens: Typical completion tokens of a short answer and of a reasoned one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    client: ClientName
    model: str
    family: str
    profile: str
    price: Price | None = None
    base_url: str | None = None
    key_env: str | None = None
    max_concurrency: PositiveInt = 16
    usual_tokens: tuple[PositiveInt, PositiveInt] = (60, 350)

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Return the price in US dollars of a call with so many tokens, None if unknown."""
        if self.price is None:
            return None
        return (prompt_tokens * self.price.input + completion_tokens * self.price.output) / 1e6


class LLMPool(BaseModel):
    """The LLMs a method may choose from.

    ``reference`` names the LLM whose usual single call (400 prompt tokens, a reasoned answer)
    is the unit of cost, so that utilities do not depend on the currency of the day.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    skip_profile: str
    reference: str
    llms: tuple[LLMSpec, ...]

    @model_validator(mode="after")
    def _check_names(self) -> "LLMPool":
        names = self.names
        if len(set(names)) != len(names):
            raise ValueError(f"llms: names must be distinct, got {sorted(names)}")
        if self.reference not in names:
            raise ValueError(f"reference: {self.reference!r} is not one of {sorted(names)}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the LLMs in the pool's order."""
        return tuple(spec.name for spec in self.llms)

    def __getitem__(self, name: str) -> LLMSpec:
        """Return the LLM called ``name``; raises ConfigError with the names there are."""
        for spec in self.llms:
            if spec.name == name:
                return spec
        raise ConfigError(f"pool {self.name!r} has no LLM {name!r}; it has {', '.join(self.names)}")

    @property
    def reference_cost(self) -> float:
        """Price in US dollars of one usual call of the reference LLM.

        In a pool where nothing costs anything it is 1: no cost is 0 in any unit.

        Raises:
            ConfigError: the reference LLM has no price, or is free where others are not.
        """
        spec = self[self.reference]
        cost = spec.cost(400, spec.usual_tokens[1])
        if cost is None:
            raise ConfigError(f"pool {self.name!r}: give the reference {spec.name!r} a price")
        if cost > 0:
            return cost
        if any(other.cost(1, 1) != 0 for other in self.llms):
            raise ConfigError(
                f"pool {self.name!r}: the reference {spec.name!r} is free and others are not; "
                "name one with a price"
            )
        return 1.0

    def simulated(self) -> "LLMPool":
        """Return the twin of this pool whose answers are simulated, at the same prices."""
        changed = {"client": "simulated", "key_env": None}
        twins = tuple(spec.model_copy(update=changed) for spec in self.llms)
        return self.model_copy(update={"name": f"simulated {self.name}", "llms": twins})


def load_pool(path: Path) -> LLMPool:
    """Read a pool file.

    Raises:
        ConfigError: the file is missing or malformed; names file, field and fault.
    """
    try:
        return LLMPool.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such pool file") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()
        )
        raise ConfigError(f"{path}: {faults}") from None
