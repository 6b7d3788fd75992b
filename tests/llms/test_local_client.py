"""The local client, on the real small model where its file is there."""

import asyncio
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms import local_client
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.local_client import (
    LocalClient,
    file_identity,
    gguf_path,
    grammar_of,
    identity_in,
    local_origin,
)
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


class Server:
    """Stands in for the real one: takes a while to load, and says which load it was."""

    loads = 0

    def __init__(self, path: Path) -> None:
        time.sleep(0.02)
        Server.loads += 1
        self.number = Server.loads

    def handle_chat_completions(self, parameters: dict) -> dict:
        content = f"load {self.number}, at most {parameters['max_tokens']}"
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


@pytest.fixture
def loads(monkeypatch) -> None:
    monkeypatch.setattr(Server, "loads", 0)
    monkeypatch.setattr(local_client, "_load", Server)
    monkeypatch.setattr(local_client, "_servers", {})


def test_first_calls_at_once_load_the_model_once(tmp_path: Path, loads: None) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"model")
    start = threading.Barrier(4)

    def call() -> None:
        start.wait()
        asyncio.run(LocalClient(spec(str(path))).complete(ChatRequest("tiny", ())))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Server.loads == 1


def test_a_replaced_file_is_loaded_again(tmp_path: Path, loads: None) -> None:
    path = tmp_path / "some.gguf"

    def answer() -> str:
        return asyncio.run(LocalClient(spec(str(path))).complete(ChatRequest("tiny", ()))).text

    path.write_bytes(b"model")
    assert [answer(), answer()] == ["load 1, at most 1024"] * 2
    path.write_bytes(b"other")
    assert answer() == "load 2, at most 1024"


def test_the_identity_of_a_file_is_its_content(tmp_path: Path) -> None:
    path, copy = tmp_path / "a", tmp_path / "b"
    content = bytearray(b"weights " * 50_000)
    path.write_bytes(content)
    copy.write_bytes(content)
    first = file_identity(path)
    assert file_identity(copy) == first
    assert first.startswith("400000 bytes, ")
    for place in (0, 200_010, 399_999):
        changed = bytearray(content)
        changed[place] ^= 1
        copy.write_bytes(changed)
        assert file_identity(copy) != first
    copy.write_bytes(content + b" ")
    assert file_identity(copy) != first


ENDING = f"""
import asyncio, atexit, pathlib

def threads_left():
    print(len(list(pathlib.Path("/proc/self/task").iterdir())))

atexit.register(threads_left)  # First in, last out: it runs after the model was let go.
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.local_client import LocalClient
from hieramas_lib.llms.pool import LLMSpec

spec = LLMSpec(name="a", client="local", model={MODEL!r}, family="f", profile="p")
request = ChatRequest("a", (Message("user", "hi"),), max_tokens=2)
asyncio.run(LocalClient(spec).complete(request))
"""


@needs_model
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_a_process_lets_its_model_go_before_it_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    # llama.cpp keeps one thread for its log; a loaded model has five more.
    assert int(done.stdout) <= 2


@needs_model
def test_a_real_answer(capfd) -> None:
    answer = ask("What is the capital of France?")
    assert answer.text
    assert answer.finish_reason in ("stop", "length")
    assert answer.prompt_tokens > 8
    assert 1 <= answer.completion_tokens <= 8
    assert answer.latency_s > 0
    assert capfd.readouterr() == ("", "")


def ask_as(prompting: str, examples: list[dict[str, str]], **fields: object) -> Completion:
    asked = LLMSpec.model_validate(
        spec().model_dump() | {"prompting": prompting} | {"examples": examples}
    )
    messages = (Message("user", "What is the capital of France?"),)
    request = ChatRequest("tiny", messages, **{"max_tokens": 12} | fields)
    return asyncio.run(LocalClient(asked).complete(request))


@needs_model
def test_a_text_to_go_on_with_is_answered_within_its_line() -> None:
    shots = [{"question": "What is the capital of Spain?", "answer": "Madrid"}]
    answer = ask_as("completion", shots)
    assert answer.text.startswith("Paris")
    assert "\n" not in answer.text
    assert answer.finish_reason == "stop"
    options = ("Rome\nAnswer: A", "Paris\nAnswer: B")
    for prompting in ("completion", "plain"):
        held = ask_as(prompting, shots, options=options)
        assert held.text == options[1]
        assert held.prompt_tokens > 10


def test_calls_of_one_file_asked_in_two_ways_do_not_mix() -> None:
    plain = spec().model_copy(update={"prompting": "plain"})
    origins = [local_origin(each, "98 bytes, abc") for each in (spec(), plain)]
    assert origins == ["98 bytes, abc; chat", "98 bytes, abc; plain"]
    assert [identity_in(origin) for origin in origins] == ["98 bytes, abc"] * 2
    bare = ChatRequest("tiny", (Message("user", "hi"),))
    assert len({bare.key("local", "m", origin) for origin in origins}) == 2


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
