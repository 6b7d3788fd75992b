"""The key of a request: everything that can change an answer, and nothing else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.llms.chat import ChatRequest, Message

REQUEST = ChatRequest("name", (Message("system", "s"), Message("user", "ü")), 0.2, 100)


def test_the_canonical_text_is_fixed() -> None:
    """A change here makes every tape that people keep useless."""
    assert REQUEST.canonical("openai", "maker/model") == (
        '{"client": "openai", "max_tokens": 100, "messages": [{"content": "s", "role": "system"}, '
        '{"content": "ü", "role": "user"}], "model": "maker/model", "options": [], '
        '"origin": null, "sample": 0, "temperature": 0.2}'
    )
    assert REQUEST.key("openai", "maker/model") == "f2676b06daa450c6fba2700a8f4bf965"


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": REQUEST.messages[:1]},
        {"messages": REQUEST.messages[::-1]},
        {"messages": (Message("user", "s"), REQUEST.messages[1])},
        {"temperature": None},
        {"temperature": 0.0},
        {"max_tokens": 99},
        {"sample": 1},
        {"options": ("a",)},
    ],
)
def test_what_changes_the_answer_changes_the_key(changed: dict) -> None:
    assert replace(REQUEST, **changed).key("c", "m") != REQUEST.key("c", "m")


def test_client_model_and_origin_count_and_the_pools_name_does_not() -> None:
    places = [(c, m, o) for c in ("a", "b") for m in ("m", "n") for o in (None, "x", "y")]
    assert len({REQUEST.key(*place) for place in places}) == 12
    assert replace(REQUEST, model="alias").key("a", "m") == REQUEST.key("a", "m")


@given(st.lists(st.text(st.characters()), max_size=3), st.text(st.characters()))
def test_any_text_has_a_key(texts: list[str], option: str) -> None:
    request = ChatRequest("m", tuple(Message("user", t) for t in texts), options=(option,))
    assert len(request.key("c", "m")) == 32
    assert [m["content"] for m in json.loads(request.canonical("c", "m"))["messages"]] == texts


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(ChatRequest("m", (Message("user", "\ud83d"),)).key("c", "m")) == 32
