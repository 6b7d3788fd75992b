"""The OpenAI wire format, ``POST /v1/chat/completions``: bodies, replies, events, errors."""

import json
import time
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason, Message
from hieramas_lib.llms.server_wire import Asked, refuse, text_of, validated

_UNSUPPORTED: Final = {
    "tools": ([],),
    "functions": ([],),
    "n": (1,),
    "stop": ([], ""),
    "logprobs": (False,),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
_FINISH: dict[FinishReason, str | None] = {
    "stop": "stop",
    "length": "length",
    "refusal": "content_filter",
    "other": None,
}
_ERROR_TYPES = {
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: Any = None


class _StreamOptions(BaseModel):
    include_usage: bool | None = None


class _Body(BaseModel):
    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def read_request(body: Any) -> Asked:
    """Read the body of a chat completion; ``seed`` is the sample index.

    Fields that cannot change an answer here (``user``, ``top_p``, penalties, ...) are ignored.

    Raises:
        BadRequest: a field is missing, malformed or not supported.
    """
    fields = validated(_Body, body)
    refuse(body, _UNSUPPORTED)
    messages = tuple(
        Message(
            "system" if m.role == "developer" else m.role,
            # An assistant message with a refusal or a tool call has no content.
            "" if m.content is None and m.role == "assistant"
            else text_of(m.content, f"messages.{number}.content"),
        )
        for number, m in enumerate(fields.messages)
    )  # fmt: skip
    limit = fields.max_completion_tokens or fields.max_tokens
    request = ChatRequest(
        fields.model, messages, fields.temperature, max_tokens=limit, sample=fields.seed or 0
    )
    options = fields.stream_options
    return Asked(request, bool(fields.stream), bool(options and options.include_usage))


def write_reply(completion: Completion, model: str, number: int) -> dict[str, Any]:
    """Write a chat completion; ``usage.cost`` is the price in US dollars, where it is known."""
    read, written = completion.prompt_tokens, completion.completion_tokens
    usage: dict[str, Any] = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }
    if completion.cost_usd is not None:
        usage["cost"] = completion.cost_usd
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": completion.text, "refusal": None},
        "finish_reason": _FINISH[completion.finish_reason],
        "logprobs": None,
    }
    return {
        "id": f"chatcmpl-{number:08d}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def write_events(reply: dict[str, Any], stream_usage: bool) -> list[str]:
    """Write a reply as events: the whole text in one delta, then the finish reason."""
    choice = reply["choices"][0]
    frame = {key: reply[key] for key in ("id", "created", "model")}
    frame["object"] = "chat.completion.chunk"
    deltas = [
        ({"role": "assistant", "content": choice["message"]["content"]}, None),
        ({}, choice["finish_reason"]),
    ]
    chunks: list[dict[str, Any]] = [
        frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in deltas
    ]
    if stream_usage:
        chunks.append(frame | {"choices": [], "usage": reply["usage"]})
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def write_error(status: int, message: str, field: str | None) -> dict[str, Any]:
    """Write the body of an error."""
    default = "server_error" if status >= 500 else "invalid_request_error"
    kind = _ERROR_TYPES.get(status, default)
    code = {402: "insufficient_quota", 404: "model_not_found"}.get(status)
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}
