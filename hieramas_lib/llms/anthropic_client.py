"""Anthropic's models, by their own SDK."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider import (
    MAX_RETRIES,
    TIMEOUT_S,
    PerLoop,
    clean,
    fetch_reply,
    malformed,
    token_count,
)

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_FINISH: dict[object, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def request_parameters(request: ChatRequest) -> dict[str, Any]:
    """Map a request to the arguments of ``messages.create``, the model aside.

    System messages go into an argument of their own. The SDK has no ``temperature`` argument;
    the service takes it in the body.
    """
    system = "\n\n".join(m.content for m in request.messages if m.role == "system")
    chat = [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"]
    parameters: dict[str, Any] = {"max_tokens": request.max_tokens, "messages": chat}
    if system:
        parameters["system"] = system
    if request.temperature is not None:
        parameters["extra_body"] = {"temperature": request.temperature}
    return parameters


class AnthropicClient:
    """One LLM behind the official ``anthropic`` SDK.

    Args:
        spec: The LLM; ``base_url`` None is the SDK's default.
        key: Sent in a header, and nowhere else.
        timeout_s: Seconds that one attempt may be silent.
        max_retries: Further attempts after 408, 409, 429, 5xx and lost connections.
    """

    def __init__(
        self,
        spec: LLMSpec,
        key: str,
        *,
        timeout_s: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self.spec = spec
        self._key = key
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._sdks: PerLoop = PerLoop()

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; ``options`` are ignored.

        Raises:
            CallError: no usable completion came back after all attempts.
        """
        began = time.perf_counter()
        reply = await fetch_reply(
            self._sdk().messages.with_raw_response.create(
                model=self.spec.model, **request_parameters(request)
            ),
            name=self.spec.name,
            key=self._key,
            deadline_s=self._timeout_s * (self._max_retries + 1),
        )
        return self._read(reply, time.perf_counter() - began)

    def _sdk(self) -> "AsyncAnthropic":
        """Return the SDK of the running event loop."""
        from anthropic import AsyncAnthropic

        loop = asyncio.get_running_loop()
        if loop not in self._sdks:
            self._sdks[loop] = AsyncAnthropic(
                api_key=self._key,
                base_url=self.spec.base_url,
                timeout=self._timeout_s,
                max_retries=self._max_retries,
            )
        sdk: AsyncAnthropic = self._sdks[loop]
        return sdk

    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        """Read a message; raises CallError for a reply that has no content."""
        blocks = reply.get("content")
        if not isinstance(blocks, list):
            raise malformed(self.spec.name, "the reply has no content")
        texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
        prompt, completion = _tokens(reply.get("usage"))
        return Completion(
            text=clean("".join(text for text in texts if isinstance(text, str))),
            finish_reason=_FINISH.get(reply.get("stop_reason"), "other"),
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=None,
            latency_s=latency_s,
            cached=False,
            request_key="",
        )


def _tokens(usage: object) -> tuple[int, int]:
    """Return prompt and completion tokens, cached input included; both 0 if either is unknown."""
    if not isinstance(usage, dict):
        return 0, 0
    prompt = token_count(usage.get("input_tokens"))
    completion = token_count(usage.get("output_tokens"))
    if prompt is None or completion is None:
        return 0, 0
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return prompt + sum(token_count(usage.get(field)) or 0 for field in cached), completion
