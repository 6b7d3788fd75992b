"""The Anthropic wire format, ``POST /v1/messages``: bodies, replies, events, errors."""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason, Message
from hieramas_lib.llms.server_wire import Asked, refuse, text_of, validated

_UNSUPPORTED: Final = {
    "tools": ([],),
    "stop_sequences": ([],),
    "thinking": ({"type": "disabled"},),
    "mcp_servers": ([],),
}
_STOP: dict[FinishReason, str | None] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
    "other": None,
}
_ERROR_TYPES = {
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class _Message(BaseModel):
    role: Literal["user", "assistant"]
    content: Any


class _Body(BaseModel):
    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    system: Any = None
    temperature: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    seed: int | None = None
    stream: bool | None = None


def read_request(body: Any) -> Asked:
    """Read the body of a message request.

    ``seed``, which the SDK sends by ``extra_body``, is the sample index; the provider's own
    service has no such field. Others that cannot change an answer here are ignored.

    Raises:
        BadRequest: a field is missing, malformed or not supported.
    """
    fields = validated(_Body, body)
    refuse(body, _UNSUPPORTED)
    messages = [
        Message(m.role, text_of(m.content, f"messages.{number}.content"))
        for number, m in enumerate(fields.messages)
    ]
    if fields.system:
        messages.insert(0, Message("system", text_of(fields.system, "system")))
    request = ChatRequest(
        fields.model,
        tuple(messages),
        fields.temperature,
        max_tokens=fields.max_tokens,
        sample=fields.seed or 0,
    )
    return Asked(request, bool(fields.stream))


def write_reply(completion: Completion, model: str, number: int) -> dict[str, Any]:
    """Write a message."""
    return {
        "id": f"msg_{number:08d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": completion.text}],
        "stop_reason": _STOP[completion.finish_reason],
        "stop_sequence": None,
        "usage": {
            "input_tokens": completion.prompt_tokens,
            "output_tokens": completion.completion_tokens,
        },
    }


def write_events(reply: dict[str, Any], stream_usage: bool) -> list[str]:
    """Write a reply as events: the whole text in one delta; the usage is always there."""
    text = reply["content"][0]["text"]
    usage = reply["usage"]
    opened = reply | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 0}}
    ended = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": opened},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": usage},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def write_error(status: int, message: str, field: str | None) -> dict[str, Any]:
    """Write the body of an error; the format has no place of its own for the field."""
    default = "api_error" if status >= 500 else "invalid_request_error"
    error = {"type": _ERROR_TYPES.get(status, default), "message": message}
    return {"type": "error", "error": error}
