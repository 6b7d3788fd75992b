"""The one boundary to an LLM: a request in, a completion out."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

FinishReason = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything that can change an answer; nothing else.

    Attributes:
        model: Name of the LLM in the pool.
        messages: The chat so far, oldest first.
        temperature: Sampling temperature, or None for the provider's default.
        max_tokens: Upper limit of completion tokens.
        sample: Index of the repetition, so that samples of one prompt stay distinct.
        options: Texts to choose among; a client that can constrain decoding answers with
            exactly one of them, others ignore it.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int = 1024
    sample: int = 0
    options: tuple[str, ...] = ()

    def key(self, client: str, model_id: str) -> str:
        """Hash the request as sent to ``client`` for ``model_id``: 32 hex digits.

        The pool's own name for the model is left out, as it does not change the answer.
        """
        fields = asdict(self) | {"model": model_id, "client": client}
        text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back, with what it cost.

    Attributes:
        text: The answer; empty when the model returned none.
        finish_reason: Why generation ended.
        prompt_tokens: Tokens read, as the provider counts them.
        completion_tokens: Tokens written, reasoning included.
        cost_usd: Price as if not cached, or None where the price is unknown.
        latency_s: Seconds the call took (when it was first made, if cached).
        cached: Whether it was served from the call store, and so paid nothing now.
        request_key: Key of the call in the store.
    """

    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_s: float
    cached: bool
    request_key: str


class LLMClient(Protocol):
    """Anything that answers chat requests."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``.

        Raises:
            CallError: no usable completion came back.
        """
        ...
