"""Votes over answers that mean the same, without those that are no answers."""

from hieramas_lib.llms.chat import Completion, FinishReason
from hieramas_lib.methods.voting import vote
from hieramas_lib.tasks.task import CodeTests, Task
from hieramas_lib.teams.rollout import CallRecord

CHOICE = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
MATHS = Task("m", "toy", "maths", "s", "How much?", "1/2")
CODE = Task("c", "toy", "code", "s", "def f(): ...", "", tests=CodeTests("f", ""))


def call(text: str, finish: FinishReason = "stop") -> CallRecord:
    completion = Completion(text, finish, 10, 5, 0.5, 2.0, False, "")
    return CallRecord("Assistant", "alone", "m", completion)


def failed() -> CallRecord:
    return CallRecord("Assistant", "alone", "m", error="timeout: too slow")


def test_the_majority_wins_and_its_first_text_is_returned():
    calls = [call(f"Answer: {letter}") for letter in "ABBC"]
    assert vote(CHOICE, calls) is calls[1]


def test_a_tie_goes_to_the_answer_given_first():
    calls = [call(f"Answer: {letter}") for letter in "CBBC"]
    assert vote(CHOICE, calls) is calls[0]


def test_without_any_answer_the_first_text_stands():
    calls = [failed(), call("hm"), call("Answer")]
    assert vote(CHOICE, calls) is calls[1]
    assert vote(CHOICE, [failed()]).completion is None


def test_truncated_and_refused_answers_do_not_vote():
    calls = [
        call("Answer: A", "length"),
        call("Answer: A", "refusal"),
        call("Answer: A", "length"),
        call("Answer: B"),
    ]
    assert vote(CHOICE, calls) is calls[3]


def test_equal_expressions_are_one_answer():
    texts = ("3", r"\frac{1}{2}", "1/2", "3", "0.5")
    calls = [call(rf"Answer: \boxed{{{text}}}") for text in texts]
    assert vote(MATHS, calls) is calls[1]


def test_programs_that_differ_in_layout_are_one_answer():
    programs = (
        "def f():\n    return 2",
        "def f():\n    # a comment\n    return (1)",
        "def f():\n    return 1",
    )
    calls = [call(f"```python\n{program}\n```") for program in programs]
    assert vote(CODE, calls) is calls[1]
