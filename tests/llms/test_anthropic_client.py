"""The Anthropic client against a real server on the loopback address."""

import asyncio
import logging
from typing import Any

import pytest
from loopback import Loopback, Reply, serve

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.anthropic_client import AnthropicClient, request_parameters
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.pool import LLMSpec

KEY = "sk-ant-planted-51e0"
REQUEST = ChatRequest(
    "small", (Message("system", "Be brief."), Message("user", "2 + 2 = ?")), 0.2, max_tokens=50
)
SOON = {"retry-after-ms": "1"}


def message(
    *texts: str, stop: str | None = "end_turn", usage: Any = "usual", **extra: Any
) -> dict[str, Any]:
    usage = {"input_tokens": 12, "output_tokens": 3} if usage == "usual" else usage
    content = [{"type": "text", "text": text} for text in texts]
    reply = {"type": "message", "content": content, "stop_reason": stop} | extra
    return reply | ({} if usage is None else {"usage": usage})


def spec(url: str | None = None, **fields: Any) -> LLMSpec:
    base = {"name": "small", "client": "anthropic", "model": "claude-x", "family": "f"}
    return LLMSpec(**base, profile="p", base_url=url, key_env="SOME_KEY", **fields)


def client(server: Loopback, **settings: Any) -> AnthropicClient:
    return AnthropicClient(
        spec(server.url), KEY, **({"timeout_s": 5.0, "max_retries": 2} | settings)
    )


def ask(*replies: Reply, **settings: Any) -> tuple[Completion, Loopback]:
    with serve(*replies) as server:
        return asyncio.run(client(server, **settings).complete(REQUEST)), server


def fail(*replies: Reply, **settings: Any) -> tuple[CallError, Loopback]:
    with serve(*replies) as server, pytest.raises(CallError) as caught:
        asyncio.run(client(server, **settings).complete(REQUEST))
    return caught.value, server


def test_request_and_reply() -> None:
    answer, server = ask(Reply(message("4", " é")))
    assert (answer.text, answer.finish_reason) == ("4 é", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cost_usd) == (12, 3, None)
    assert server.paths == ["/v1/messages"]
    assert server.asked == [
        {
            "model": "claude-x",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "2 + 2 = ?"}],
            "temperature": 0.2,
            "max_tokens": 50,
            "seed": 0,
        }
    ]
    assert KEY in str(server.headers)


def test_parameters_without_system_and_temperature() -> None:
    request = ChatRequest("m", (Message("user", "hi"), Message("assistant", "yes?")))
    assert request_parameters(spec(max_tokens=2048), request) == {
        "model": "claude-x",
        "max_tokens": 2048,
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"}],
    }


@pytest.mark.parametrize(
    ("reply", "text", "finish"),
    [
        (message("cut", stop="max_tokens"), "cut", "length"),
        (message("a", stop="stop_sequence"), "a", "stop"),
        (message(stop="refusal"), "", "refusal"),
        (message(stop="tool_use", content=[{"type": "tool_use", "id": "1"}]), "", "other"),
        # Thoughts are no answer.
        (message(content=[{"type": "thinking", "thinking": "Answer: 5"}]), "", "stop"),
        (
            message(
                content=[
                    {"type": "thinking", "thinking": "5?", "signature": "x"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "4"},
                ]
            ),
            "4",
            "stop",
        ),
        (message(stop="max_tokens", content=[{"type": "thinking", "thinking": "5"}]), "", "length"),
        (message(stop="model_context_window_exceeded"), "", "length"),
        (message("Let me see.", stop="tool_use"), "Let me see.", "other"),
        (message("wait", stop="pause_turn"), "wait", "other"),
        (message("I cannot.", stop="refusal"), "I cannot.", "refusal"),
        (message(content=[]), "", "stop"),
        (message(content=["4", None, {"type": "text"}]), "", "stop"),
        (message("naïve ∑ 中文 🙂\u2028\x00"), "naïve ∑ 中文 🙂\u2028\x00", "stop"),
        (message("4", stop=None), "4", "other"),
        (message("4", stop=["end_turn"]), "4", "other"),
        (message("\ud83d!"), "\ufffd!", "stop"),
    ],
)
def test_unusual_replies_are_completions(reply: dict, text: str, finish: str) -> None:
    answer, _ = ask(Reply(reply))
    assert (answer.text, answer.finish_reason) == (text, finish)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, (0, 0)),
        ({"input_tokens": 7}, (0, 0)),
        ({"input_tokens": None, "output_tokens": 3}, (0, 0)),
        ({"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 100}, (107, 3)),
    ],
)
def test_usage(usage: dict | None, tokens: tuple[int, int]) -> None:
    answer, _ = ask(Reply(message("4", usage=usage)))
    assert (answer.prompt_tokens, answer.completion_tokens) == tokens


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_passing_fault_is_retried(status: int) -> None:
    answer, server = ask(Reply({}, status, SOON), Reply(message("4")))
    assert answer.text == "4"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [(500, "server", 3), (429, "rate_limit", 3), (400, "rejected", 1)],
)
def test_a_lasting_fault_is_given_up(status: int, kind: str, attempts: int) -> None:
    error, server = fail(Reply({"type": "error", "error": {"message": "no"}}, status, SOON))
    assert error.kind == kind
    assert len(server.asked) == attempts


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b'{"content": [{"ty'),
        Reply(b"<html>busy</html>", content_type="text/html"),
        Reply([1, 2]),
        Reply({"content": None}),
        Reply({"content": "text"}),
    ],
)
def test_malformed_replies(reply: Reply) -> None:
    error, _ = fail(reply)
    assert error.kind == "malformed"


@pytest.mark.parametrize("broken", [Reply(drop=True), Reply(message("4"), cut=True)])
def test_lost_connections(broken: Reply) -> None:
    error, server = fail(broken, max_retries=1)
    assert error.kind == "connection"
    assert len(server.asked) == 2


def test_a_silent_server_times_out() -> None:
    error, _ = fail(Reply(message("4"), wait_s=1.0), timeout_s=0.2, max_retries=0)
    assert error.kind == "timeout"


def test_one_client_serves_one_event_loop_after_another() -> None:
    with serve(Reply(message("4"))) as server:
        shared = client(server)
        assert [asyncio.run(shared.complete(REQUEST)).text for _ in range(2)] == ["4", "4"]


def test_the_key_goes_nowhere_but_into_the_header(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    reply = Reply({"type": "error", "error": {"message": f"invalid x-api-key {KEY}"}}, 401)
    with serve(reply) as server, pytest.raises(ConfigError) as caught:
        asyncio.run(client(server).complete(REQUEST))
    message = str(caught.value)
    assert message.startswith(f"LLM 'small': {server.url} does not accept the key in SOME_KEY")
    assert "invalid x-api-key ***" in message
    assert len(server.asked) == 1
    assert KEY in str(server.headers)
    assert KEY not in message + repr(caught.value)
    assert KEY not in caplog.text
    assert KEY not in str(server.asked)
