"""Anthropic's models, by their own SDK."""

from collections.abc import Awaitable
from typing import Any

from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider import ProviderClient, clean, sampling_of, token_count
from hieramas_lib.llms.provider_http import AttemptCounter

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def request_parameters(spec: LLMSpec, request: ChatRequest) -> dict[str, Any]:
    """Map a request to the arguments of ``messages.create``.

    System messages go into an argument of their own. The SDK has no ``temperature`` argument;
    the service takes it in the body.
    """
    messages = [{"role": m.role, "content": clean(m.content)} for m in request.messages]
    system = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
    parameters: dict[str, Any] = {
        "model": spec.model,
        "max_tokens": spec.token_limit(request),
        "messages": [m for m in messages if m["role"] != "system"],
    }
    if system:
        parameters["system"] = system
    if sampling := sampling_of(spec, request):
        parameters["extra_body"] = sampling
    return parameters


class AnthropicClient(ProviderClient):
    """One LLM behind the official ``anthropic`` SDK."""

    def _open(self, longest_wait_s: float, **settings: Any) -> Any:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        class CountingClient(AttemptCounter, DefaultAsyncHttpxClient): ...

        return AsyncAnthropic(http_client=CountingClient(longest_wait_s=longest_wait_s), **settings)

    def _sdk_error(self) -> type[Exception]:
        from anthropic import AnthropicError

        return AnthropicError

    def _send(self, sdk: Any, request: ChatRequest) -> Awaitable[Any]:
        parameters = request_parameters(self.spec, request)
        reply: Awaitable[Any] = sdk.messages.with_raw_response.create(**parameters)
        return reply

    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        blocks = reply.get("content")
        if not isinstance(blocks, list):
            raise self._faults.malformed("the reply has no content")
        texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
        prompt, completion = _tokens(reply.get("usage"))
        stop = reply.get("stop_reason")
        return Completion(
            text=clean("".join(text for text in texts if isinstance(text, str))),
            finish_reason=_FINISH.get(stop, "other") if isinstance(stop, str) else "other",
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
