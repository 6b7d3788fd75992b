"""The OpenAI client against a real server on the loopback address."""

import asyncio
import logging
from typing import Any

import pytest
from loopback import Loopback, Reply, serve

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import OpenAIClient, sampling_parameters
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.service import LLMService

KEY = "sk-planted-7f3a9c"
REQUEST = ChatRequest(
    "small", (Message("system", "Be brief."), Message("user", "2 + 2 = ?")), 0.2, max_tokens=50
)
SOON = {"retry-after-ms": "1"}


def spec(url: str, model: str = "qwen/qwen3-8b") -> LLMSpec:
    return LLMSpec.model_validate(
        {
            "name": "small",
            "client": "openai",
            "model": model,
            "family": "f",
            "profile": "p",
            "base_url": f"{url}/v1",
            "key_env": "SOME_KEY",
            "price": {"input": 1.0, "output": 2.0, "date": "2026-11-01", "source": "test"},
        }
    )


def chat(content: Any = "4", finish: Any = "stop", usage: Any = "usual", **message: Any) -> dict:
    usage = {"prompt_tokens": 12, "completion_tokens": 3} if usage == "usual" else usage
    reply = {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"content": content} | message}
        ],
    }
    return reply | ({} if usage is None else {"usage": usage})


def client(server: Loopback, **settings: Any) -> OpenAIClient:
    return OpenAIClient(spec(server.url), KEY, **({"timeout_s": 5.0, "max_retries": 2} | settings))


def ask(*replies: Reply, **settings: Any) -> tuple[Completion, Loopback]:
    with serve(*replies) as server:
        return asyncio.run(client(server, **settings).complete(REQUEST)), server


def fail(*replies: Reply, **settings: Any) -> tuple[CallError, Loopback]:
    with serve(*replies) as server, pytest.raises(CallError) as caught:
        asyncio.run(client(server, **settings).complete(REQUEST))
    return caught.value, server


def test_request_and_reply() -> None:
    answer, server = ask(Reply(chat("4 é")))
    assert (answer.text, answer.finish_reason) == ("4 é", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cost_usd) == (12, 3, None)
    assert 0 < answer.latency_s < 5
    assert server.paths == ["/v1/chat/completions"]
    assert server.asked == [
        {
            "model": "qwen/qwen3-8b",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "2 + 2 = ?"},
            ],
            "temperature": 0.2,
            "max_tokens": 50,
            "seed": 0,
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-5-mini", {"max_completion_tokens": 50}),
        ("gpt-5.2", {"max_completion_tokens": 50}),
        ("o3-mini", {"max_completion_tokens": 50}),
        ("gpt-4o-mini", {"max_tokens": 50, "temperature": 0.2}),
        ("openai/gpt-50", {"max_tokens": 50, "temperature": 0.2}),
        ("meta/o3d-chat", {"max_tokens": 50, "temperature": 0.2}),
    ],
)
def test_sampling_parameters(model: str, expected: dict) -> None:
    assert sampling_parameters(spec("", model), REQUEST) == expected


def test_no_temperature_is_not_sent() -> None:
    assert sampling_parameters(spec(""), ChatRequest("m", ())) == {"max_tokens": 1024}


def test_the_llms_own_limit_is_sent() -> None:
    thinker = spec("", "openai/gpt-5-mini").model_copy(update={"max_tokens": 8192})
    assert sampling_parameters(thinker, ChatRequest("m", ())) == {"max_completion_tokens": 8192}
    assert sampling_parameters(thinker, REQUEST) == {"max_completion_tokens": 50}


def test_a_lone_surrogate_is_sent_as_a_replacement() -> None:
    request = ChatRequest("small", (Message("user", "\ud83d?"),), max_tokens=50)
    with serve(Reply(chat())) as server:
        asyncio.run(client(server).complete(request))
    assert server.asked[0]["messages"][0]["content"] == "\ufffd?"


@pytest.mark.parametrize(
    ("reply", "text", "finish"),
    [
        (chat(None, "length"), "", "length"),
        (chat("cut of", "length"), "cut of", "length"),
        (chat(None, "stop", refusal="I cannot."), "I cannot.", "refusal"),
        (chat("", "content_filter"), "", "refusal"),
        (chat(None, "tool_calls", tool_calls=[{"id": "1"}]), "", "other"),
        (chat("4", None), "4", "other"),
        (chat("4", {"reason": "stop"}), "4", "other"),
        (chat([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),
        (chat("\ud83d broken", "stop"), "\ufffd broken", "stop"),
        # Thoughts are no answer, wherever a server puts them.
        (chat(None, "stop", reasoning_content="Answer: 5"), "", "stop"),
        (chat(None, "length", reasoning="Answer: 5", reasoning_details=[{}]), "", "length"),
        (chat("", "stop", reasoning="Answer: 5"), "", "stop"),
        (
            chat(
                [{"type": "thinking", "thinking": [{"text": "5"}]}, {"type": "text", "text": "4"}]
            ),
            "4",
            "stop",
        ),
        # A tool call that nobody asked for, with and without words beside it.
        (chat("Let me see.", "tool_calls", tool_calls=[{"id": "1"}]), "Let me see.", "other"),
        (chat(None, "function_call", function_call={"name": "f"}), "", "other"),
        (chat("partly", "content_filter"), "partly", "refusal"),
        (chat("partly", "stop", refusal="I stop here."), "partly", "refusal"),
        (chat("naïve ∑ 中文 🙂\u2028\x00", "stop"), "naïve ∑ 中文 🙂\u2028\x00", "stop"),
    ],
)
def test_unusual_replies_are_completions(reply: dict, text: str, finish: str) -> None:
    answer, _ = ask(Reply(reply))
    assert (answer.text, answer.finish_reason) == (text, finish)


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        (None, (0, 0), None),
        ({"prompt_tokens": 7}, (0, 0), None),
        ({"prompt_tokens": "7", "completion_tokens": 3}, (0, 0), None),
        ({"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.25}, (7, 3), 0.25),
        ({"prompt_tokens": 7, "completion_tokens": 3, "cost": {"total": 1}}, (7, 3), None),
        # Reasoning left out of the completion tokens, but not out of the total.
        ({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 40}, (7, 33), None),
        # Reasoning within the completion tokens, as OpenAI counts.
        (
            {
                "prompt_tokens": 7,
                "completion_tokens": 33,
                "total_tokens": 40,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (7, 33),
            None,
        ),
    ],
)
def test_usage(usage: dict | None, tokens: tuple[int, int], cost: float | None) -> None:
    answer, _ = ask(Reply(chat(usage=usage)))
    assert (answer.prompt_tokens, answer.completion_tokens) == tokens
    assert answer.cost_usd == cost


def test_a_reasoning_model_that_ran_out_of_room() -> None:
    """No text, and all that was paid for it: 900 hidden tokens."""
    usage = {"prompt_tokens": 7, "completion_tokens": 900, "total_tokens": 907}
    usage["completion_tokens_details"] = {"reasoning_tokens": 900}
    answer, _ = ask(Reply(chat(None, "length", usage, reasoning="hm, " * 300)))
    assert (answer.text, answer.finish_reason) == ("", "length")
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 900)


def test_missing_usage_is_unpriced_not_free() -> None:
    with serve(Reply(chat(usage=None))) as server:
        llm = spec(server.url)
        pool = LLMPool(name="p", skip_profile="s", reference="small", llms=(llm,))
        service = LLMService(pool, {"small": OpenAIClient(llm, KEY)}, CallStore())
        answer = asyncio.run(service.complete(REQUEST))
    assert answer.cost_usd is None
    assert service.usage.unpriced == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_passing_fault_is_retried(status: int) -> None:
    answer, server = ask(Reply({}, status, SOON), Reply(chat()))
    assert answer.text == "4"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [(500, "server", 3), (429, "rate_limit", 3), (408, "timeout", 3), (400, "rejected", 1)],
)
def test_a_lasting_fault_is_given_up(status: int, kind: str, attempts: int) -> None:
    error, server = fail(Reply({"error": {"message": "no"}}, status, SOON))
    assert error.kind == kind
    assert "small" in str(error)
    assert len(server.asked) == attempts


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b'{"choices": [{"mess'),
        Reply(b""),
        Reply(b"[" * 100_000),
        Reply(b"<html>busy</html>", content_type="text/html"),
        Reply([1, 2]),
        Reply({"choices": []}),
        Reply({"choices": None}),
        Reply({"choices": [{"finish_reason": "stop"}]}),
        Reply({"choices": ["text"]}),
        Reply(b"\xff\xfe\x00{"),
    ],
)
def test_malformed_replies(reply: Reply) -> None:
    error, _ = fail(reply)
    assert error.kind == "malformed"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limit"),
        ({"error": {"code": 502, "message": "upstream"}}, "server"),
        ({"error": {"message": "?"}}, "server"),
        ({"choices": [{"error": {"code": 413, "message": "too long"}}]}, "rejected"),
    ],
)
def test_faults_reported_with_status_200(body: dict, kind: str) -> None:
    error, _ = fail(Reply(body))
    assert error.kind == kind


def stop_of(*replies: Reply, **fields: Any) -> tuple[str, Loopback]:
    """Message of the ConfigError that a call ends with."""
    with serve(*replies) as server, pytest.raises(ConfigError) as caught:
        llm = spec(server.url).model_copy(update=fields)
        asyncio.run(OpenAIClient(llm, KEY, timeout_s=5.0).complete(REQUEST))
    return str(caught.value), server


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (401, "does not accept the key in SOME_KEY; set it"),
        (403, "does not let the key in SOME_KEY use model 'qwen/qwen3-8b'; allow it"),
        (404, "has no model 'qwen/qwen3-8b'; correct `model:` or `base_url:`"),
    ],
)
def test_a_fault_of_the_set_up_stops_the_run(status: int, named: str) -> None:
    """It would meet every call alike, so it is no failure of one item."""
    message, server = stop_of(Reply({"error": {"message": f"bad {KEY}"}}, status))
    assert message.startswith(f"LLM 'small': {server.url}/v1 ")
    assert named in message
    assert f"The server said {status}" in message
    assert KEY not in message
    assert len(server.asked) == 1
    inside, _ = stop_of(Reply({"error": {"code": status, "message": f"bad {KEY}"}}))
    assert named in inside
    assert KEY not in inside
    message, _ = stop_of(Reply({"choices": [{"error": {"code": status, "message": "bad"}}]}))
    assert named in message


def test_a_server_that_wants_a_key_and_has_none() -> None:
    message, _ = stop_of(Reply({"error": {"message": "no"}}, 401), key_env=None)
    assert "wants a key; name its environment variable by `key_env:`" in message


def test_a_prompt_that_a_moderator_rejects_is_a_fault_of_that_item() -> None:
    """OpenRouter answers 403 for it, too."""
    error = {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}
    assert fail(Reply({"error": error}, 403))[0].kind == "rejected"
    assert fail(Reply({"error": error}))[0].kind == "rejected"


class Broken(OpenAIClient):
    """A client with a bug of our own in it."""

    bug: Exception = TypeError("ours")
    at = "_send"

    def _send(self, sdk: Any, request: ChatRequest) -> Any:
        if self.at == "_send":
            raise self.bug
        return super()._send(sdk, request)

    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        if self.at == "_read":
            raise self.bug
        return super()._read(reply, latency_s)


@pytest.mark.parametrize("at", ["_send", "_read"])
@pytest.mark.parametrize("kind", [TypeError, ValueError, KeyError, ZeroDivisionError])
def test_a_bug_is_no_failed_call(kind: type[Exception], at: str) -> None:
    with serve(Reply(chat())) as server:
        broken = Broken(spec(server.url), KEY)
        broken.bug, broken.at = kind("ours"), at
        with pytest.raises(kind) as caught:
            asyncio.run(broken.complete(REQUEST))
    assert caught.value is broken.bug


def test_without_a_key_nothing_is_taken_out_of_messages() -> None:
    """The SDK is given the placeholder "none", which is no secret."""
    with serve(Reply({"error": {"message": "none of this"}}, 400)) as server:
        with pytest.raises(CallError, match="none of this"):
            asyncio.run(OpenAIClient(spec(server.url), None).complete(REQUEST))
        assert server.headers[0]["authorization"] == "Bearer none"


@pytest.mark.parametrize("broken", [Reply(drop=True), Reply(chat(), cut=True)])
def test_lost_connections(broken: Reply) -> None:
    error, server = fail(broken, max_retries=1)
    assert error.kind == "connection"
    assert len(server.asked) == 2
    answer, _ = ask(broken, Reply(chat()), max_retries=1)
    assert answer.text == "4"


def test_a_silent_server_times_out() -> None:
    error, _ = fail(Reply(chat(), wait_s=1.0), timeout_s=0.2, max_retries=0)
    assert error.kind == "timeout"


def test_a_dripping_body_times_out() -> None:
    """No pause is long, so only the limit on the whole call ends it."""
    error, _ = fail(Reply(chat("x" * 200), drip_s=0.02), timeout_s=0.4, max_retries=0)
    assert error.kind == "timeout"


def test_one_client_serves_one_event_loop_after_another() -> None:
    with serve(Reply(chat())) as server:
        shared = client(server)
        assert [asyncio.run(shared.complete(REQUEST)).text for _ in range(2)] == ["4", "4"]


def test_the_key_goes_nowhere_but_into_the_header(tmp_path, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 400)
    error, server = fail(echo)
    assert error.kind == "rejected"
    assert "provided: ***" in str(error)
    assert KEY in server.headers[0]["authorization"]
    assert KEY not in str(error) + repr(error) + repr(error.args)

    path = tmp_path / "calls.sqlite"
    with serve(Reply(chat())) as server:
        llm = spec(server.url)
        pool = LLMPool(name="p", skip_profile="s", reference="small", llms=(llm,))
        service = LLMService(pool, {"small": OpenAIClient(llm, KEY)}, CallStore(path))
        answer = asyncio.run(service.complete(REQUEST))
    service.store.close()
    assert KEY not in repr(answer)
    assert KEY not in caplog.text
    assert KEY.encode() not in path.read_bytes()
    assert KEY not in str(server.asked)
