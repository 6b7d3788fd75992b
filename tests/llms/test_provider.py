"""What both provider clients promise alike: attempts, waits, credit, seeds."""

import asyncio
import re
import time
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest
from loopback import Loopback, Reply, serve

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.anthropic_client import AnthropicClient
from hieramas_lib.llms.attempts import Attempts, count_in
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import OpenAIClient
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider import ProviderClient, sampling_of
from hieramas_lib.llms.provider_errors import asked_wait_s

REQUEST = ChatRequest("small", (Message("user", "2 + 2 = ?"),), max_tokens=50, sample=3)
SOON = {"retry-after-ms": "1"}
GOOD = {
    "openai": {
        "choices": [{"finish_reason": "stop", "message": {"content": "4"}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    },
    "anthropic": {
        "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 12, "output_tokens": 3},
    },
}
CLIENTS: dict[str, type[ProviderClient]] = {"openai": OpenAIClient, "anthropic": AnthropicClient}
both = pytest.mark.parametrize("kind", ["openai", "anthropic"])


def spec(kind: str, url: str | None) -> LLMSpec:
    return LLMSpec.model_validate(
        {"name": "small", "client": kind, "model": "m", "family": "f", "profile": "p"}
        | {"base_url": url, "key_env": "SOME_KEY"}
    )


def ask(kind: str, *replies: Reply, **settings: Any) -> tuple[Completion, Loopback]:
    settings = {"timeout_s": 5.0, "max_retries": 2} | settings
    with serve(*replies) as server:
        client = CLIENTS[kind](spec(kind, server.url), "sk-planted", **settings)
        return asyncio.run(client.complete(REQUEST)), server


def fail(kind: str, *replies: Reply, **settings: Any) -> tuple[Any, Loopback]:
    settings = {"timeout_s": 5.0, "max_retries": 2} | settings
    with serve(*replies) as server:
        client = CLIENTS[kind](spec(kind, server.url), "sk-planted", **settings)
        with pytest.raises((CallError, ConfigError)) as caught:
            asyncio.run(client.complete(REQUEST))
    return caught.value, server


UNREADABLE = [Reply(b"{"), Reply({}), Reply({"error": {"code": 502, "message": "upstream"}})]


@both
@pytest.mark.parametrize("unreadable", UNREADABLE)
def test_an_unreadable_reply_is_asked_for_once_again(kind: str, unreadable: Reply) -> None:
    answer, server = ask(kind, unreadable, Reply(GOOD[kind]))
    assert answer.text == "4"
    assert len(server.asked) == 2
    error, server = fail(kind, unreadable)
    assert error.kind in ("malformed", "server")
    assert len(server.asked) == 2


@both
@pytest.mark.parametrize("retries", [0, 1, 2, 3])
def test_no_call_is_sent_more_often_than_the_budget_reserves(kind: str, retries: int) -> None:
    """The one attempt of ours takes from the SDK's, whatever comes before and after it."""
    down = Reply({}, 500, SOON)
    for script in ([down, Reply(b"{"), down], [Reply(b"{"), down], [down, down, Reply(b"{")]):
        _, server = fail(kind, *script, max_retries=retries)
        assert len(server.asked) <= retries + 1
    _, server = fail(kind, down, max_retries=retries)
    assert len(server.asked) == retries + 1
    _, server = fail(kind, Reply(b"{"), down, max_retries=retries)
    assert len(server.asked) == retries + 1


def billed(kind: str, *replies: Reply, url: str | None = None) -> int:
    """Attempts of a call that its client says may have been billed."""
    attempts = Attempts()

    async def call(url: str) -> None:
        count_in(attempts)
        client = CLIENTS[kind](spec(kind, url), None, timeout_s=1.0, max_retries=2)
        with suppress(CallError, ConfigError):
            await client.complete(REQUEST)

    with serve(*replies) as server:
        asyncio.run(call(url or server.url))
    return attempts.billable


GATEWAY = [Reply({}, status) for status in (500, 502, 503, 504)]


@both
@pytest.mark.usefixtures("quick_retries")
def test_attempts_that_may_have_been_billed_are_counted(kind: str) -> None:
    good = Reply(GOOD[kind])
    assert billed(kind, good) == 1
    assert billed(kind, Reply(b"{"), good) == 2
    assert billed(kind, Reply(GOOD[kind], cut=True), Reply(drop=True), good) == 3
    assert billed(kind, Reply(GOOD[kind], wait_s=1.5), Reply({}, 408), good) == 3
    for fault in GATEWAY:
        assert billed(kind, fault, good) == 2
        assert billed(kind, fault) == 3
    assert billed(kind, Reply({}, 429), Reply({}, 409), good) == 1
    for status in (400, 401, 404, 429):
        assert billed(kind, Reply({}, status)) == 0
    assert billed(kind, GATEWAY[0], Reply({}, 401)) == 1


@both
@pytest.mark.usefixtures("quick_retries")
def test_a_call_that_never_went_out_was_not_billed(kind: str) -> None:
    with serve() as gone:
        pass
    assert billed(kind, url=gone.url) == 0
    assert billed(kind, url="http://nowhere.invalid") == 0


@both
@pytest.mark.usefixtures("quick_retries")
def test_a_server_of_ones_own_that_is_not_there_stops_the_run(kind: str) -> None:
    with serve() as gone:
        pass
    client = CLIENTS[kind](spec(kind, gone.url), None, max_retries=1)
    with pytest.raises(ConfigError, match=f"nobody listens at {re.escape(gone.url)}.*Start"):
        asyncio.run(client.complete(REQUEST))


@both
def test_a_reply_that_says_no_is_not_asked_for_again(kind: str) -> None:
    error, server = fail(kind, Reply({"error": {"code": 400, "message": "too long"}}))
    assert error.kind == "rejected"
    assert len(server.asked) == 1


@both
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["seconds", "milliseconds", "date"])
def test_a_long_wait_is_not_waited_for(kind: str, status: int, form: str) -> None:
    headers = {
        "seconds": {"Retry-After": "3600"},
        "milliseconds": {"retry-after-ms": "3600000"},
        "date": {"Retry-After": formatdate(time.time() + 3600, usegmt=True)},
    }[form]
    error, server = fail(kind, Reply({"error": {"message": "busy"}}, status, headers))
    assert error.kind == ("rate_limit" if status == 429 else "server")
    assert re.search(r"the server asks to wait 3(600|5\d\d) s", str(error))
    assert len(server.asked) == 1


@both
def test_a_wait_beyond_the_calls_own_limit_is_not_waited_for(kind: str) -> None:
    """It is 3 attempts of 0.3 s each."""
    error, server = fail(kind, Reply({}, 429, {"Retry-After": "1"}), timeout_s=0.3)
    assert error.kind == "rate_limit"
    assert "the server asks to wait 1 s" in str(error)
    assert len(server.asked) == 1


@both
def test_a_short_wait_is_waited_for(kind: str) -> None:
    answer, server = ask(kind, Reply({}, 429, {"retry-after-ms": "100"}), Reply(GOOD[kind]))
    assert answer.text == "4"
    assert answer.latency_s >= 0.1
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "2", "retry-after-ms": "30"}, 0.03),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
    ],
)
def test_asked_wait(headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait_s(headers) == wait


@both
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (402, {"message": "Insufficient credits"}),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}),
        (429, {"message": "You exceeded your quota", "type": "insufficient_quota"}),
        (400, {"message": "Your credit balance is too low to access the API."}),
    ],
)
def test_no_credit_stops_the_run(kind: str, status: int, error: dict[str, str]) -> None:
    stop, server = fail(kind, Reply({"error": error}, status))
    assert isinstance(stop, ConfigError)
    assert f"the credit at {server.url} is used up; top it up and run again" in str(stop)
    assert error["message"] in str(stop)
    assert len(server.asked) == 1
    inside, _ = fail(kind, Reply({"error": error | {"code": 402}}))
    assert "is used up" in str(inside)


@both
def test_a_call_that_takes_too_long_says_how_long_that_is(kind: str) -> None:
    late = Reply(GOOD[kind], drip_s=0.02)
    error, _ = fail(kind, late, timeout_s=0.2, max_retries=1)
    assert error.kind == "timeout"
    assert "no answer within 0.4 s, all attempts together" in str(error)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        (None, False),
        ("https://openrouter.ai/api/v1", False),
        ("https://api.mistral.ai/v1", False),
        ("http://8.8.8.8/v1", False),
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://192.168.1.20:8000/v1", True),
    ],
)
def test_the_sample_is_a_seed_where_that_is_known_to_work(url: str | None, sent: bool) -> None:
    assert sampling_of(spec("openai", url), REQUEST) == ({"seed": 3} if sent else {})


@both
def test_a_temperature_is_left_out_for_a_model_that_takes_none(kind: str) -> None:
    warm = replace(REQUEST, temperature=0.7)
    llm = spec(kind, None)
    assert sampling_of(llm, warm) == {"temperature": 0.7}
    assert sampling_of(llm.model_copy(update={"takes_temperature": False}), warm) == {}


@both
def test_the_seed_arrives(kind: str) -> None:
    _, server = ask(kind, Reply(GOOD[kind]))
    assert server.asked[0]["seed"] == 3
