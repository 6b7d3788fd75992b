"""Which LLMs there are, and what they cost."""

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    field_validator,
    model_validator,
)

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.addresses import checked_address, is_own_host
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.yaml_file import read_yaml
from hieramas_lib.paths import data_path

NO_LLM: Final = "skip"
"""Stands for no LLM wherever the name of one is expected; no LLM of a pool is called so."""

USUAL_PROMPT_TOKENS = 400
"""Prompt tokens of the usual call that costs are compared by."""

# Free of what separates names in records and messages, and of what figures and prompts read as
# markup.
_NAME = re.compile(r"[^\W_]([\w .:/@+()-]*[\w+)])?")
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ClientName = Literal["simulated", "openai", "anthropic", "local"]
Prompting = Literal["chat", "plain", "completion"]
"""How a local model is asked; see :mod:`hieramas_lib.llms.local_prompt`."""


class Price(BaseModel):
    """List price in US dollars per million tokens, with the day and place it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Amount
    output: Amount
    date: date
    source: str


class Example(BaseModel):
    """A question and its answer, shown to a model before the question that it is to answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    answer: str


class LLMSpec(BaseModel):
    """One LLM of a pool.

    Attributes:
        name: Short name used everywhere in the project.
        client: How it is reached.
        model: The provider's id, or the path of a GGUF file for ``local``.
        family: LLMs of one family share mistakes.
        profile: A few lines on strengths, weaknesses and price; the policy embeds them.
        price: None where unknown; its calls are then counted as unpriced, never as free.
        base_url: Address of the server; None is the SDK's default. It holds no user, password or
            key.
        key_env: Environment variable holding the key; None where no key is needed.
        max_concurrency: Calls in flight at once.
        max_per_minute: Calls that go out in a minute, evenly spaced, for each process; None for
            no limit. Repeats by the SDK after a failure are not counted.
        max_tokens: Completion tokens of a call that sets no limit itself. Reasoning models
            count their hidden tokens within it, and need more room than their answers do.
        usual_tokens: Typical completion tokens of a short answer and of a reasoned one.
        prompting: How a ``local`` model is asked: ``chat``, the messages as they are;
            ``plain``, for small models, the bare question; ``completion``, for models without a
            chat template, a text to go on with.
        examples: Questions with answers that such a model is shown first, unless ``chat``.
        takes_temperature: Whether the model may be sent a temperature. Some reasoning models
            refuse the request if it is.
    """

    # What a field holds is not shown in errors: a password in a place where none belongs.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str
    client: ClientName
    model: str
    family: str
    profile: str
    price: Price | None = None
    base_url: str | None = None
    key_env: str | None = None
    max_concurrency: PositiveInt = 16
    max_per_minute: PositiveInt | None = None
    max_tokens: PositiveInt = 1024
    usual_tokens: tuple[PositiveInt, PositiveInt] = (60, 350)
    prompting: Prompting = "chat"
    examples: tuple[Example, ...] = ()
    takes_temperature: bool = True

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name.casefold() == NO_LLM:
            raise ValueError(f"{name!r} stands for no LLM; choose another name")
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name: letters, digits, inner spaces and . _ - : / @ + ( ), "
                "beginning with a letter or a digit"
            )
        return name

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, url: str | None) -> str | None:
        return None if url is None else checked_address(url)

    @model_validator(mode="after")
    def _check_prompting(self) -> "LLMSpec":
        if self.prompting != "chat" and self.client != "local":
            raise ValueError(f"prompting: {self.prompting} is for client local, not {self.client}")
        if self.examples and self.prompting == "chat":
            raise ValueError("examples: they need prompting plain or completion")
        return self

    @property
    def address(self) -> str | None:
        """Where a provider's server is; None if that is left to the SDK."""
        return self.base_url if self.client in ("openai", "anthropic") else None

    @property
    def own_address(self) -> str | None:
        """Where its server is, if on this machine or in its own network; None for others."""
        return self.address if is_own_host(urlsplit(self.address or "").hostname or "") else None

    def token_limit(self, request: ChatRequest) -> int:
        """Return the most completion tokens that ``request`` may take."""
        return self.max_tokens if request.max_tokens is None else request.max_tokens

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Return the price in US dollars of a call with so many tokens, None if unknown."""
        if self.price is None:
            return None
        return (prompt_tokens * self.price.input + completion_tokens * self.price.output) / 1e6

    def usual_cost(self) -> float | None:
        """Return the price in US dollars of a usual call, with a reasoned answer; None if unknown.

        It has 400 prompt tokens, so that LLMs can be compared by what they cost.
        """
        return self.cost(USUAL_PROMPT_TOKENS, self.usual_tokens[1])


class LLMPool(BaseModel):
    """The LLMs a method may choose from.

    ``reference`` names the LLM whose usual call (:meth:`LLMSpec.usual_cost`) is the unit of
    cost, so that utilities do not depend on the currency of the day.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

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
        cost = spec.usual_cost()
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
        """Return the twin of this pool whose answers are simulated, at the same prices.

        How the real ones are reached and asked is left out. All have the default
        ``max_tokens``: that of a reasoning model is for hidden tokens, which no simulated one
        writes.
        """
        of_the_real_one = (
            "base_url", "key_env", "max_tokens", "prompting", "examples", "takes_temperature",
        )  # fmt: skip
        defaults = {name: LLMSpec.model_fields[name].default for name in of_the_real_one}
        changed = defaults | {"client": "simulated"}
        twins = tuple(spec.model_copy(update=changed) for spec in self.llms)
        return self.model_copy(update={"name": f"simulated {self.name}", "llms": twins})


def shipped_pools() -> tuple[Path, ...]:
    """Return the pool files that ship, the papers' first."""
    return data_path("llm_pool.yaml"), *sorted(data_path("pools").glob("*.yaml"))


def load_pool(path: Path) -> LLMPool:
    """Read a pool file.

    Raises:
        ConfigError: the file is missing or malformed; names file, field and fault.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such pool file")
    return read_yaml(path, LLMPool)
