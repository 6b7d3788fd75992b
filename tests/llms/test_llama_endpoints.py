"""The official SDKs, bare and in our clients, against llama.cpp's own endpoints: a real LLM."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import anthropic
import openai
import pytest

from hieramas_lib.errors import CallError
from hieramas_lib.llms.anthropic_client import AnthropicClient
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.openai_client import OpenAIClient
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider import ProviderClient
from hieramas_lib.paths import ROOT

MODEL = ROOT / "models" / "smollm2-135m-instruct-q4_1.gguf"
TEXT = "Name a colour."
CHAT = [{"role": "user", "content": TEXT}]
REQUEST = ChatRequest("smol", (Message("user", TEXT),), temperature=0.0, max_tokens=6)
CLIENTS: dict[str, type[ProviderClient]] = {"openai": OpenAIClient, "anthropic": AnthropicClient}
both = pytest.mark.parametrize("kind", CLIENTS)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    if not MODEL.exists():
        pytest.skip(f"{MODEL} is missing; `make test` fetches it")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(MODEL)
    settings.n_ctx = 512
    settings.n_parallel = settings.n_threads_http = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.port = 0
    settings.cache_ram_mib = 0
    settings.verbosity = -1
    server = xllamacpp.Server(settings)
    yield server.listening_address
    del server


def ask(url: str, kind: str, request: ChatRequest = REQUEST) -> Completion:
    spec = LLMSpec.model_validate(
        {"name": "smol", "client": kind, "model": "smol", "family": "f", "profile": "p"}
        | {"base_url": f"{url}/v1" if kind == "openai" else url}
    )
    return asyncio.run(CLIENTS[kind](spec, None, timeout_s=60.0).complete(request))


def test_the_bare_openai_sdk(url: str) -> None:
    sdk = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    assert len(list(sdk.models.list())) == 1
    reply = sdk.chat.completions.create(model="smol", messages=CHAT, max_tokens=6, temperature=0)
    assert reply.choices[0].message.content
    assert reply.usage is not None and 0 < reply.usage.completion_tokens <= 6
    chunks = sdk.chat.completions.create(
        model="smol", messages=CHAT, max_tokens=6, temperature=0, stream=True
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == reply.choices[0].message.content


def test_the_bare_anthropic_sdk(url: str) -> None:
    sdk = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    asked = {"model": "smol", "messages": CHAT, "max_tokens": 6}
    reply = sdk.messages.create(**asked, extra_body={"temperature": 0})
    assert reply.content[0].text
    assert 0 < reply.usage.output_tokens <= 6
    with sdk.messages.stream(**asked, extra_body={"temperature": 0}) as stream:
        assert "".join(stream.text_stream) == reply.content[0].text


@both
def test_our_client(url: str, kind: str) -> None:
    answer = ask(url, kind)
    assert answer.text.strip()
    assert answer.prompt_tokens > 5
    assert 0 < answer.completion_tokens <= 6
    assert answer.latency_s > 0
    assert (answer.cost_usd, answer.cached) == (None, False)
    assert ask(url, kind).text == answer.text


def test_both_endpoints_are_one_model(url: str) -> None:
    told, asked = ask(url, "openai"), ask(url, "anthropic")
    assert (told.text, told.prompt_tokens) == (asked.text, asked.prompt_tokens)


@both
def test_truncation(url: str, kind: str) -> None:
    long = replace(REQUEST, messages=(Message("user", "Count from one to fifty."),))
    assert ask(url, kind, long).finish_reason == "length"


@both
def test_a_system_message_and_a_chat_with_several_turns(url: str, kind: str) -> None:
    turns = (
        Message("system", "Answer in one word."),
        Message("user", "Name a colour."),
        Message("assistant", "Blue ∎"),
        Message("user", "Another one?"),
    )
    answer = ask(url, kind, replace(REQUEST, messages=turns))
    assert answer.text.strip()
    assert answer.prompt_tokens > ask(url, kind).prompt_tokens


def test_samples_differ_and_can_be_drawn_again(url: str) -> None:
    """By the seed, which llama.cpp reads at its OpenAI endpoint and not at the other one."""
    warm = replace(REQUEST, temperature=1.5, max_tokens=10)
    first, again, other = (
        ask(url, "openai", replace(warm, sample=sample)).text for sample in (1, 1, 2)
    )
    assert first == again != other


@both
def test_a_prompt_that_is_too_long_is_rejected(url: str, kind: str) -> None:
    long = replace(REQUEST, messages=(Message("user", "colour " * 1000),))
    with pytest.raises(CallError, match="exceed") as caught:
        ask(url, kind, long)
    assert caught.value.kind == "rejected"
