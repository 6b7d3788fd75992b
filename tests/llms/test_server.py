"""The server, asked by both official SDKs as any other framework would."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
import pytest
from serving import serving

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError, ReplayMiss
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.server import Served, make_app
from hieramas_lib.llms.server_uvicorn import bind

HELLO = [{"role": "user", "content": "2 + 2 = ?"}]


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@dataclass
class Stub:
    """Answers what it was told to, and keeps what it was asked."""

    end: Any = "4"
    finish: Any = "stop"
    cost: float | None = 0.25
    asked: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked.append(request)
        if isinstance(self.end, Exception):
            raise self.end
        return Completion(self.end, self.finish, 12, 3, self.cost, 0.5, False, "")


@dataclass
class Door:
    url: str
    stub: Stub
    log: list[Served]

    @property
    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(api_key="sk-planted", base_url=f"{self.url}/v1", max_retries=0)

    @property
    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key="sk-planted", base_url=self.url, max_retries=0)

    def chat(self, **fields: Any) -> Any:
        asked = {"model": "m", "messages": HELLO} | fields
        return self.openai.chat.completions.create(**asked)

    def message(self, **fields: Any) -> Any:
        asked = {"model": "m", "messages": HELLO, "max_tokens": 50} | fields
        return self.anthropic.messages.create(**asked)

    def post(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=5)
        connection.request("POST", path, body)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


@pytest.fixture(scope="module")
def running() -> Iterator[Door]:
    stub, log = Stub(), []
    with serving(make_app({"m": stub, "other": Stub("5")}, log=log.append)) as url:
        yield Door(url, stub, log)


@pytest.fixture
def door(running: Door) -> Door:
    running.stub.__init__()
    running.log.clear()
    return running


def test_openai_request_and_reply(door: Door) -> None:
    reply = door.chat(
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [part("a"), part("é")]},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c", "name": "critic"},
        ],
        temperature=0.5,
        max_tokens=50,
        seed=7,
        top_p=1.0,
    )  # fmt: skip
    messages = (
        Message("system", "Be brief."),
        Message("user", "a\n\né"),
        Message("assistant", "b"),
        Message("user", "c"),
    )
    assert door.stub.asked == [ChatRequest("m", messages, 0.5, max_tokens=50, sample=7)]
    assert (reply.model, reply.object) == ("m", "chat.completion")
    choice = reply.choices[0]
    assert (choice.message.role, choice.message.content) == ("assistant", "4")
    assert choice.finish_reason == "stop"
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (12, 3, 15)
    assert usage.cost == 0.25
    assert reply.id != door.chat().id


def test_anthropic_request_and_reply(door: Door) -> None:
    reply = door.message(
        system=[{"type": "text", "text": "Be brief."}],
        messages=[
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
            {"role": "user", "content": "c"},
        ],
        extra_body={"temperature": 0.5, "seed": 7},
    )
    messages = (
        Message("system", "Be brief."),
        Message("user", "a"),
        Message("assistant", "b"),
        Message("user", "c"),
    )
    assert door.stub.asked == [ChatRequest("m", messages, 0.5, max_tokens=50, sample=7)]
    assert (reply.type, reply.role, reply.model) == ("message", "assistant", "m")
    assert [block.text for block in reply.content] == ["4"]
    assert (reply.stop_reason, reply.stop_sequence) == ("end_turn", None)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (12, 3)


def test_what_is_left_out_stays_open(door: Door) -> None:
    door.chat()
    door.message()
    plain = ChatRequest("m", (Message("user", "2 + 2 = ?"),))
    assert door.stub.asked[0] == plain
    assert door.stub.asked[1] == ChatRequest("m", plain.messages, max_tokens=50)


def test_max_completion_tokens(door: Door) -> None:
    door.chat(max_completion_tokens=60)
    assert door.stub.asked[0].max_tokens == 60


@pytest.mark.parametrize(
    ("finish", "at_openai", "at_anthropic"),
    [
        ("stop", "stop", "end_turn"),
        ("length", "length", "max_tokens"),
        ("refusal", "content_filter", "refusal"),
        ("other", None, None),
    ],
)
def test_finish_reasons(door: Door, finish: str, at_openai: Any, at_anthropic: Any) -> None:
    door.stub.finish = finish
    assert door.chat().choices[0].finish_reason == at_openai
    assert door.message().stop_reason == at_anthropic


@pytest.mark.parametrize(
    "text", ["", "naïve ∑ 中文 🙂", 'a "b"\n\\', "\u2028\u2029", "x" * 100_000]
)
def test_any_text_comes_through(door: Door, text: str) -> None:
    door.stub.end = text
    assert (
        door.chat(messages=[{"role": "user", "content": text}]).choices[0].message.content == text
    )
    assert door.message().content[0].text == text
    assert door.stub.asked[0].messages[0].content == text


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_lone_surrogate_is_replaced(door: Door, path: str) -> None:
    content = '[{"role": "user", "content": "\\ud83d?"}]'
    body = f'{{"model": "m", "max_tokens": 9, "messages": {content}}}'
    assert door.post(path, body.encode())[0] == 200
    assert door.stub.asked[0].messages[0].content == "\ufffd?"


def test_an_unknown_price_is_not_named(door: Door) -> None:
    door.stub.cost = None
    assert not hasattr(door.chat().usage, "cost")


def test_openai_stream(door: Door) -> None:
    chunks = list(door.chat(stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "4"
    assert [c.choices[0].finish_reason for c in chunks if c.choices] == [None, "stop"]
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (12, 3)
    assert all(chunk.usage is None for chunk in door.chat(stream=True))


def test_anthropic_stream(door: Door) -> None:
    with door.anthropic.messages.stream(model="m", messages=HELLO, max_tokens=50) as stream:
        assert "".join(stream.text_stream) == "4"
        whole = stream.get_final_message()
    assert whole.stop_reason == "end_turn"
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (12, 3)


def test_models_and_health(door: Door) -> None:
    assert [model.id for model in door.openai.models.list()] == ["m", "other"]
    assert [model.id for model in door.anthropic.models.list()] == ["m", "other"]
    assert door.openai.models.retrieve("other").id == "other"
    assert door.anthropic.models.retrieve("other").id == "other"
    with pytest.raises(openai.NotFoundError, match="no model 'x/y'; there are m, other"):
        door.openai.models.retrieve("x/y")
    assert door.chat(model="other").choices[0].message.content == "5"


def test_a_wrong_base_url_is_told(door: Door) -> None:
    sdk = openai.OpenAI(api_key="none", base_url=door.url)
    with pytest.raises(openai.NotFoundError, match="an OpenAI base URL ends in /v1"):
        sdk.chat.completions.create(model="m", messages=HELLO)
    other = anthropic.Anthropic(api_key="none", base_url=f"{door.url}/v1")
    with pytest.raises(anthropic.NotFoundError, match="nothing at /v1/v1/messages"):
        other.messages.create(model="m", messages=HELLO, max_tokens=9)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"n": 2}, "n"),
        ({"stop": ["\n"]}, "stop"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "messages.0.role"),
        ({"messages": [*HELLO, {"role": "user", "content": None}]}, "messages.1.content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages.0.content.0",
        ),
    ],
)
def test_what_openai_bodies_are_refused_for(door: Door, fields: dict, named: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        door.chat(**fields)
    assert caught.value.param == named
    assert caught.value.body["type"] == "invalid_request_error"
    assert door.stub.asked == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": [{"name": "f", "input_schema": {}}]}, "tools"),
        ({"stop_sequences": ["x"]}, "stop_sequences"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"system": [{"type": "image"}]}, "system.0"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages.0.content.0"),
    ],
)
def test_what_anthropic_bodies_are_refused_for(door: Door, fields: dict, named: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=f"{named}:") as caught:
        door.message(**fields)
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert door.stub.asked == []


def test_fields_that_ask_for_nothing_are_no_hindrance(door: Door) -> None:
    """Frameworks send many of them always."""
    door.chat(
        tools=[], stop=None, n=1, response_format={"type": "text"}, frequency_penalty=0, user="u"
    )
    door.message(tools=[], stop_sequences=[], thinking={"type": "disabled"})
    assert len(door.stub.asked) == 2


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_bodies_that_are_no_request(door: Door, path: str, body: bytes) -> None:
    status, reply = door.post(path, body)
    assert status == 400
    assert "body" in reply["error"]["message"]


def test_an_unknown_model_names_those_there_are(door: Door) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'x'; there are m, other") as caught:
        door.chat(model="x")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(anthropic.NotFoundError, match="there are m, other") as found:
        door.message(model="x")
    assert found.value.body["type"] == "error"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CallError("rejected", "too long"), 400),
        (CallError("rate_limit", "slow down"), 429),
        (CallError("timeout", "gone"), 504),
        (CallError("server", "broken"), 502),
        (ConfigError("no key"), 403),
        (ReplayMiss("not on the tape"), 400),
        (BudgetExceeded("limit of 2 calls reached"), 402),
    ],
)
def test_errors_of_the_client_behind(door: Door, error: Exception, status: int) -> None:
    door.stub.end = error
    with pytest.raises(openai.APIStatusError, match=str(error)) as caught:
        door.chat()
    assert caught.value.status_code == status
    with pytest.raises(anthropic.APIStatusError, match=str(error)) as found:
        door.message()
    assert found.value.status_code == status
    assert found.value.body["type"] == "error"


def test_a_bug_behind_shows_no_inside(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.stub.end = KeyError("secret inside")
    with pytest.raises(openai.InternalServerError) as caught:
        door.chat()
    assert "secret inside" not in str(caught.value)
    assert "secret inside" in caplog.text


def test_the_log_has_every_request_and_no_key(door: Door) -> None:
    door.chat(user="log")
    door.chat(user="log")
    with pytest.raises(openai.BadRequestError):
        door.chat(user="log", n=2)
    first, second, third = door.log
    assert (first.attempt, second.attempt, third.attempt) == (0, 1, 0)
    assert first.digest == second.digest != third.digest
    assert [served.status for served in door.log] == [200, 200, 400]
    assert first.completion is not None and first.completion.text == "4"
    assert third.completion is None
    assert "sk-planted" not in repr(door.log)


def test_a_client_that_hangs_up_in_the_middle_is_no_fault(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    with socket.create_connection(door.url.removeprefix("http://").split(":"), timeout=5) as line:
        line.sendall(head)
        time.sleep(0.1)
    time.sleep(0.1)
    assert door.chat().choices[0].message.content == "4"
    assert len(door.log) == 1
    assert caplog.text == ""


def test_replies_are_not_held_back() -> None:
    """By Nagle's algorithm, for 40 ms, which asyncio switches off only for such a socket."""
    with bind() as listening:
        assert listening.proto == socket.IPPROTO_TCP
