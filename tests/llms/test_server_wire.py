"""The two wire formats: any body is read or refused, and what our clients send is read back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.llms import server_anthropic, server_openai
from hieramas_lib.llms.anthropic_client import request_parameters
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import sampling_parameters
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.server_wire import Asked, BadRequest, WireFormat

FORMATS: list[WireFormat] = [server_openai, server_anthropic]
both = pytest.mark.parametrize("wire", FORMATS)
SPEC = LLMSpec(
    name="m", client="openai", model="m", family="f", profile="p", base_url="http://localhost/v1"
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "model", "messages", "max_tokens", "temperature", "seed", "stream", "system", "tools", "n",
    "stop", "response_format", "stream_options", "thinking", "max_completion_tokens",
]  # fmt: skip
PARTS = st.fixed_dictionaries({"type": st.sampled_from(["text", "image"]), "text": TEXTS | JSON})
MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool"]),
        "content": TEXTS | st.lists(PARTS, max_size=2) | JSON,
    }
)
BODIES = st.fixed_dictionaries(
    {"model": TEXTS, "messages": st.lists(MESSAGES, max_size=3), "max_tokens": st.just(9) | JSON},
    optional={field: JSON for field in FIELDS[3:]},
)


@both
@given(body=BODIES | JSON)
def test_any_body_is_read_or_refused(wire: WireFormat, body: Any) -> None:
    try:
        asked = wire.read_request(body)
    except BadRequest as fault:
        assert fault.field
    else:
        assert isinstance(asked, Asked)
        assert all(isinstance(m.content, str) for m in asked.request.messages)


REQUESTS = st.builds(
    ChatRequest,
    model=st.just("m"),
    messages=st.builds(
        lambda system, turns: (*([Message("system", system)] if system else []), *turns),
        TEXTS,
        st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), TEXTS), min_size=1).map(
            tuple
        ),
    ),
    temperature=st.none() | st.floats(0, 1),
    max_tokens=st.integers(1, 10_000),
    sample=st.integers(0, 100),
)


@given(request=REQUESTS)
def test_what_our_clients_send_is_read_back(request: ChatRequest) -> None:
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    told = {"model": "m", "messages": messages, **sampling_parameters(SPEC, request)}
    assert server_openai.read_request(told) == Asked(request, False, False)
    fields = request_parameters(SPEC, request)
    asked = {**fields, **fields.pop("extra_body", {})}
    assert server_anthropic.read_request(asked) == Asked(request, False)


@both
@given(text=st.text(), read=st.integers(0, 10**6), written=st.integers(0, 10**6))
def test_replies_are_json_and_events_end(
    wire: WireFormat, text: str, read: int, written: int
) -> None:
    completion = Completion(text, "stop", read, written, 0.1, 1.0, False, "")
    reply = wire.write_reply(completion, "m", 7)
    assert json.loads(json.dumps(reply)) == reply
    events = wire.write_events(reply, True)
    assert all(event.endswith("\n\n") and event.count("\n\n") == 1 for event in events)
    assert events[-1] in (
        "data: [DONE]\n\n",
        'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    )
