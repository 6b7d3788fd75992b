"""The local client, on the real small model where its file is there."""

import asyncio
import re

import pytest

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.local_client import LocalClient, gguf_path, grammar_of
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.paths import ROOT

MODEL = "models/smollm2-135m-instruct-q4_1.gguf"

needs_model = pytest.mark.skipif(
    not (ROOT / MODEL).is_file(), reason=f"{MODEL} is not there; `make run` fetches it"
)


def spec(model: str = MODEL) -> LLMSpec:
    return LLMSpec(name="tiny", client="local", model=model, family="f", profile="p")


def ask(text: str, **fields: object) -> Completion:
    request = ChatRequest("tiny", (Message("user", text),), **{"max_tokens": 8} | fields)
    return asyncio.run(LocalClient(spec()).complete(request))


def test_grammar() -> None:
    assert grammar_of(("Paris", "Rome")) == 'root ::= "Paris" | "Rome"'
    assert grammar_of(('a "b"', "c\\d", "e\nf", "½ × π")) == (
        'root ::= "a \\"b\\"" | "c\\\\d" | "e\\x0Af" | "½ × π"'
    )
    assert grammar_of(("\x01\x08\x0c", "C:\\u00e9")) == (
        'root ::= "\\x01\\x08\\x0C" | "C:\\\\u00e9"'
    )


def test_a_missing_file_is_named_with_the_fix() -> None:
    with pytest.raises(ConfigError, match=re.escape("nowhere/some.gguf")) as caught:
        LocalClient(spec("nowhere/some.gguf"))
    assert "tiny" in str(caught.value)
    assert "make run" in str(caught.value)


def test_an_absolute_path_is_taken_as_it_is(tmp_path) -> None:
    path = tmp_path / "some.gguf"
    path.touch()
    assert gguf_path(spec(str(path))) == path


def test_a_file_that_is_no_model_is_a_call_error(tmp_path, capfd) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "some.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(CallError, match="cannot be loaded"):
        asyncio.run(LocalClient(spec(str(path))).complete(ChatRequest("tiny", ())))


@needs_model
def test_a_real_answer(capfd) -> None:
    answer = ask("What is the capital of France?")
    assert answer.text
    assert answer.finish_reason in ("stop", "length")
    assert answer.prompt_tokens > 8
    assert 1 <= answer.completion_tokens <= 8
    assert answer.latency_s > 0
    assert capfd.readouterr() == ("", "")


@needs_model
def test_options_constrain_the_answer() -> None:
    odd = ('say "hi"', "back\\slash", "½ of π × 2", "two\nlines", "{brace}", "C:\\u00e9")
    for option in odd:
        assert ask("Choose.", options=(option,), max_tokens=30).text == option
    answer = ask("Which one is a fruit?", options=("Apple", "Hammer"))
    assert answer.text in ("Apple", "Hammer")
    assert answer.finish_reason == "stop"


@needs_model
def test_an_answer_depends_on_its_request_alone() -> None:
    """Not on the history of the server, nor on requests beside it."""
    questions = [f"Write about the number {n}." for n in range(3)]
    first = [ask(question).text for question in questions]
    assert len(set(first)) > 1
    assert [ask(question).text for question in reversed(questions)] == first[::-1]

    async def together() -> list[str]:
        client = LocalClient(spec())
        requests = [ChatRequest("tiny", (Message("user", q),), max_tokens=8) for q in questions]
        return [c.text for c in await asyncio.gather(*map(client.complete, requests))]

    assert asyncio.run(together()) == first


@needs_model
def test_samples_differ_and_repeat() -> None:
    drawn = [ask("Tell a story.", temperature=1.5, sample=n).text for n in range(3)]
    assert len(set(drawn)) > 1
    assert ask("Tell a story.", temperature=1.5, sample=1).text == drawn[1]


@needs_model
def test_a_prompt_beyond_the_context_is_rejected() -> None:
    with pytest.raises(CallError, match="context") as caught:
        ask("word " * 6000)
    assert caught.value.kind == "rejected"
