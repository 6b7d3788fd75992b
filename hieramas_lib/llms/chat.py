"""The one boundary to an LLM: a request in, a completion out."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, Protocol

FinishReason = Literal["stop", "length", "refusal", "other"]


def key_of(canonical: str) -> str:
    """Return the key of a request's canonical text."""
    # A lone surrogate has no UTF-8 form; it must not stop a run.
    return hashlib.blake2b(canonical.encode(errors="surrogatepass"), digest_size=16).hexdigest()


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
        max_tokens: Upper limit of completion tokens, or None for the LLM's own.
        sample: Index of the repetition, so that samples of one prompt stay distinct.
        options: Texts to choose among; a client that can constrain decoding answers with
            exactly one of them, others ignore it.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    sample: int = 0
    options: tuple[str, ...] = ()

    def canonical(self, client: str, model_id: str, origin: str | None = None) -> str:
        """Write the request as sent to ``client`` for ``model_id``: JSON with sorted keys.

        The pool's own name for the model is left out, as it does not change the answer.

        Args:
            client: How the LLM is reached.
            model_id: The provider's id of the LLM.
            origin: What tells apart LLMs of one id: address of the server, identity of the
                file, simulated world. None for the provider's own server.
        """
        fields = {
            "client": client,
            "max_tokens": self.max_tokens,
            "messages": [{"content": m.content, "role": m.role} for m in self.messages],
            "model": model_id,
            "options": self.options,
            "origin": origin,
            "sample": self.sample,
            "temperature": self.temperature,
        }
        return json.dumps(fields, ensure_ascii=False)

    def key(self, client: str, model_id: str, origin: str | None = None) -> str:
        """Hash :meth:`canonical`: 32 hex digits."""
        return key_of(self.canonical(client, model_id, origin))


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
            ConfigError: no call to this LLM can succeed.
        """
        ...
