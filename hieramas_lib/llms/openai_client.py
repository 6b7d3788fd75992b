"""Any OpenAI-compatible server: OpenRouter, OpenAI, vLLM, Ollama, llama-server."""

import asyncio
import re
import time
from math import inf
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
    reported,
    token_count,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONING = re.compile(r"(gpt-5|o[134])(?![0-9a-z])")
_FINISH: dict[object, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refusal",
}


def sampling_parameters(model_id: str, request: ChatRequest) -> dict[str, Any]:
    """Map a request's sampling parameters to what the model takes.

    OpenAI's reasoning models take no temperature, and count their hidden tokens within
    ``max_completion_tokens``.
    """
    if _REASONING.match(model_id.rsplit("/", 1)[-1]):
        return {"max_completion_tokens": request.max_tokens}
    temperature = {} if request.temperature is None else {"temperature": request.temperature}
    return {"max_tokens": request.max_tokens, **temperature}


class OpenAIClient:
    """One LLM behind the official ``openai`` SDK.

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
            self._sdk().chat.completions.with_raw_response.create(
                model=self.spec.model,
                messages=[{"role": m.role, "content": m.content} for m in request.messages],  # type: ignore[misc]
                extra_body=_extra_body(self.spec.base_url),
                **sampling_parameters(self.spec.model, request),
            ),
            name=self.spec.name,
            key=self._key,
            deadline_s=self._timeout_s * (self._max_retries + 1),
        )
        return self._read(reply, time.perf_counter() - began)

    def _sdk(self) -> "AsyncOpenAI":
        """Return the SDK of the running event loop."""
        from openai import AsyncOpenAI

        loop = asyncio.get_running_loop()
        if loop not in self._sdks:
            self._sdks[loop] = AsyncOpenAI(
                api_key=self._key,
                base_url=self.spec.base_url,
                timeout=self._timeout_s,
                max_retries=self._max_retries,
            )
        sdk: AsyncOpenAI = self._sdks[loop]
        return sdk

    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        """Read a chat reply; raises CallError for one that has no message."""
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict) and isinstance(choice.get("error"), dict):
            raise reported(self.spec.name, choice["error"], self._key)
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise malformed(self.spec.name, "the reply has no choice with a message")
        refusal = _text(message.get("refusal"))
        finish = "refusal" if refusal else _FINISH.get(choice.get("finish_reason"), "other")
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        prompt, completion = _tokens(usage)
        return Completion(
            text=clean(_text(message.get("content")) or refusal),
            finish_reason=finish,
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=_reported_cost(usage),
            latency_s=latency_s,
            cached=False,
            request_key="",
        )


def _extra_body(base_url: str | None) -> dict[str, Any] | None:
    """Ask OpenRouter to say what it charged; others may not know the field."""
    return {"usage": {"include": True}} if "//openrouter.ai/" in (base_url or "") else None


def _text(content: object) -> str:
    """Return the text of a message: a string, a list of parts, or nothing."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _tokens(usage: dict[str, Any]) -> tuple[int, int]:
    """Return prompt and completion tokens, reasoning included; both 0 if either is unknown.

    Some servers leave reasoning out of the completion tokens but not out of the total.
    """
    prompt = token_count(usage.get("prompt_tokens"))
    completion = token_count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return 0, 0
    total = token_count(usage.get("total_tokens")) or 0
    return prompt, max(completion, total - prompt)


def _reported_cost(usage: dict[str, Any]) -> float | None:
    """Return the price in US dollars that a router charged, if it says so."""
    cost = usage.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < inf:
        return float(cost)
    return None
