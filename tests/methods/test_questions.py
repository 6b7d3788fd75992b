"""Questions as people type them, read without a gold answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.methods.questions import QuestionReader
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import LETTERS

FREE = QuestionReader("choice")


@pytest.mark.parametrize(
    "text",
    [
        "Which is a prime?\nA. 4\nB. 7\nC. 9",
        "Which is a prime?\n\nA) 4\nB) 7\nC) 9\n",
        "Which is a prime?\n(A) 4\n(B) 7\n(C) 9",
        "Which is a prime?\n  A: 4\n\n  B: 7\n\n  C: 9",
        "Which is a prime? A) 4 B) 7 C) 9",
        "<task>\nWhich is a prime?\nA. 4\nB. 7\nC. 9\n</task>\n\nGive the final answer.",
    ],
)
def test_options_in_every_common_form(text: str):
    task = FREE.read(text)
    assert task.prompt == "Which is a prime?"
    assert task.choices == ("4", "7", "9")
    assert (task.gold, task.kind) == ("", "choice")


def test_what_follows_the_options_belongs_to_the_question():
    task = FREE.read("Which is a prime?\nA) 4\nB) 7\n\nThink first.")
    assert task.prompt == "Which is a prime?\n\nThink first."
    assert task.choices == ("4", "7")


def test_an_a_in_the_question_is_no_option():
    text = "A. Smith and B. Jones met.\nWho was late?\nA. Smith\nB. Jones\nC. Both of them"
    task = FREE.read(text)
    assert task.prompt == "A. Smith and B. Jones met.\nWho was late?"
    assert task.choices == ("Smith", "Jones", "Both of them")


def test_a_letter_out_of_turn_is_no_option():
    assert FREE.read("Which?\nA. one\nB. two\nI. e. a pair\nC. three").choices == (
        "one",
        "two\nI. e. a pair",
        "three",
    )


def test_an_option_may_have_two_lines():
    assert FREE.read("Which?\nA. one\n   and a half\nB. two").choices == (
        "one\n   and a half",
        "two",
    )


@pytest.mark.parametrize("text", ["", "  \n", "<task>\n\n</task>"])
def test_nothing_asked(text: str):
    with pytest.raises(ValueError, match="empty"):
        FREE.read(text)


@pytest.mark.parametrize("text", ["Which is a prime?", "Which?\nA. 4", "Which?\nB. 4\nC. 5"])
def test_options_are_needed(text: str):
    with pytest.raises(ValueError, match="needs its options"):
        FREE.read(text)


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_every_shipped_question_is_known_and_gives_its_answer_away_nowhere(benchmark: str):
    tasks = load_tasks(benchmark)
    reader = QuestionReader(tasks[0].kind, tasks)
    for task in tasks:
        read = reader.read("\n" + task.statement + "  \n")  # chats trim and pad
        assert (read.id, read.prompt, read.choices) == (task.id, task.prompt, task.choices)
        assert read.statement == task.statement
        assert (read.gold, read.tempting) == ("", ())
        if task.tests:
            assert read.tests is not None
            assert (read.tests.entry_point, read.tests.program) == (task.tests.entry_point, "")


def test_a_shipped_question_reads_the_same_when_it_is_not_known():
    for task in load_tasks("knowledge"):
        read = FREE.read(task.statement)
        assert (read.prompt, read.choices) == (task.prompt.strip(), task.choices)


def test_tasks_of_another_kind_are_not_known():
    (first, *_) = load_tasks("maths")
    reader = QuestionReader("code", [first])
    assert reader.read(first.statement).benchmark == "question"


def test_the_function_asked_for_is_found():
    text = "def helper(x):\n    return x\n\ndef solve(n):\n    '''Double n.'''\n"
    tests = QuestionReader("code").read(text).tests
    assert tests is not None and tests.entry_point == "solve"
    assert QuestionReader("code").read("Write a function that doubles.").tests is None


WORDS = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,3}", fullmatch=True)


@given(prompt=WORDS, choices=st.lists(WORDS, min_size=2, max_size=10), mark=st.sampled_from(".)"))
def test_any_options_come_back(prompt: str, choices: list[str], mark: str):
    lines = [f"{LETTERS[i]}{mark} {text}" for i, text in enumerate(choices)]
    task = FREE.read("\n".join([prompt, *lines]))
    assert (task.prompt, task.choices) == (prompt, tuple(choices))


@given(st.text())
def test_no_text_breaks_the_reader(text: str):
    for kind in ("choice", "maths", "code"):
        try:
            task = QuestionReader(kind).read(text)
        except ValueError:
            continue
        assert task.prompt or task.choices
