"""Any OpenAI-compatible server: OpenRouter, OpenAI, vLLM, Ollama, llama-server."""

import re
from collections.abc import Awaitable
from math import inf
from typing import Any

from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider import ProviderClient, clean, sampling_of, token_count
from hieramas_lib.llms.provider_http import AttemptCounter

_REASONING = re.compile(r"(gpt-5|o[134])(?![0-9a-z])")
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refusal",
}


def sampling_parameters(spec: LLMSpec, request: ChatRequest) -> dict[str, Any]:
    """Map a request's sampling parameters to what the model and its server take.

    OpenAI's reasoning models take no temperature, and count their hidden tokens within
    ``max_completion_tokens``.
    """
    limit, sampling = spec.token_limit(request), sampling_of(spec, request)
    if _REASONING.match(spec.model.rsplit("/", 1)[-1]):
        sampling.pop("temperature", None)
        return {"max_completion_tokens": limit, **sampling}
    return {"max_tokens": limit, **sampling}


class OpenAIClient(ProviderClient):
    """One LLM behind the official ``openai`` SDK."""

    def _open(self, longest_wait_s: float, **settings: Any) -> Any:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        class CountingClient(AttemptCounter, DefaultAsyncHttpxClient): ...

        return AsyncOpenAI(http_client=CountingClient(longest_wait_s=longest_wait_s), **settings)

    def _sdk_error(self) -> type[Exception]:
        from openai import OpenAIError

        return OpenAIError

    def _send(self, sdk: Any, request: ChatRequest) -> Awaitable[Any]:
        reply: Awaitable[Any] = sdk.chat.completions.with_raw_response.create(
            model=self.spec.model,
            messages=[{"role": m.role, "content": clean(m.content)} for m in request.messages],
            extra_body=_extra_body(self.spec.base_url),
            **sampling_parameters(self.spec, request),
        )
        return reply

    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict) and isinstance(choice.get("error"), dict):
            raise self._faults.reported(choice["error"])
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise self._faults.malformed("the reply has no choice with a message")
        refusal = _text(message.get("refusal"))
        finish = "refusal" if refusal else _FINISH.get(_text(choice.get("finish_reason")), "other")
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
