"""What a small local model is shown of a team's prompt."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.local_prompt import prompt_of, prompting_id
from hieramas_lib.llms.pool import LLMSpec

OPTIONS = ("Lima\nAnswer: A", "Rome: a city\nAnswer: B")
STATEMENT = "Which one?\nA. Lima\nB. Rome: a city"
SYSTEM = Header("Critic", "synthesizer").render() + "\n\nLook for a mistake.\n\nEnd with Answer: X."
BODY = "\n\n".join(
    [
        Section("task", STATEMENT).render(),
        Section("message", "Lima\nAnswer: A", source="Historian").render(),
        Section("proposal", "It is Rome.", source="1").render(),
        "Write the one message of your role.",
    ]
)
REQUEST = ChatRequest("tiny", (Message("system", SYSTEM), Message("user", BODY)), options=OPTIONS)


def spec(prompting: object = "chat", **fields: object) -> LLMSpec:
    shots = [] if prompting == "chat" else [{"question": "1 + 1?", "answer": "2"}]
    return LLMSpec.model_validate(
        {"name": "tiny", "client": "local", "model": "m.gguf", "family": "f", "profile": "p"}
        | {"prompting": prompting, "examples": shots}
        | fields
    )


def test_chat_is_the_messages_as_they_are() -> None:
    assert prompt_of(REQUEST, spec()) == {
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": BODY}]
    }


def test_plain_is_role_notes_and_question_in_a_chat() -> None:
    assert prompt_of(REQUEST, spec("plain")) == {
        "messages": [
            {"role": "system", "content": "Role: Critic"},
            {"role": "user", "content": "1 + 1?"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "Note: Lima\nNote: It is Rome.\nWhich one?"},
        ]
    }


def test_completion_is_a_text_that_ends_where_the_answer_begins() -> None:
    assert prompt_of(REQUEST, spec("completion")) == {
        "prompt": "Role: Critic\n\nQuestion: 1 + 1?\nAnswer: 2\n\n"
        "Note: Lima\nNote: It is Rome.\nQuestion: Which one?\nAnswer:"
    }


def test_options_are_listed_unless_the_answer_is_held_to_them() -> None:
    free = prompt_of(replace(REQUEST, options=()), spec("completion"))["prompt"]
    assert f"Question: {STATEMENT}\nAnswer:" in free
    assert "Note: Lima\nAnswer: A\n" in free
    others = ("Lima", "Rome: a city")  # no letters: not the options of the statement
    assert STATEMENT in prompt_of(replace(REQUEST, options=others), spec("completion"))["prompt"]
    fewer = prompt_of(replace(REQUEST, options=OPTIONS[:1]), spec("completion"))["prompt"]
    assert STATEMENT in fewer


def test_a_prompt_without_the_layout_is_the_question() -> None:
    bare = ChatRequest("tiny", (Message("user", "Who?"),))
    assert prompt_of(bare, spec("completion", examples=[])) == {"prompt": "Question: Who?\nAnswer:"}
    assert prompt_of(bare, spec("plain", examples=[])) == {
        "messages": [{"role": "user", "content": "Who?"}]
    }


def test_each_way_of_asking_has_a_name_of_its_own() -> None:
    other = [{"question": "1 + 1?", "answer": "3"}]
    ways = [spec(), spec("plain"), spec("completion"), spec("completion", examples=other)]
    ways += [spec("plain", examples=[]), spec("completion", examples=[])]
    assert len({prompting_id(way) for way in ways}) == len(ways)
    assert prompting_id(spec("plain")) == prompting_id(spec("plain", name="again"))


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"client": "openai", "prompting": "plain"}, "plain is for client local, not openai"),
        ({"prompting": "chat", "examples": [{"question": "q", "answer": "a"}]}, "examples: "),
        ({"prompting": "riddle"}, "prompting"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, object], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        spec(**{"prompting": "plain"} | fields)
