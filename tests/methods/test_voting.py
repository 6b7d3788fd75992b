"""Votes over answers that mean the same, without those that are no answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from hieramas_lib.llms.chat import Completion, FinishReason
from hieramas_lib.methods import voting
from hieramas_lib.methods.voting import Vote
from hieramas_lib.tasks.task import CodeTests, Task
from hieramas_lib.teams.rollout import CallRecord

CHOICE = Task("t", "toy", "choice", "s", "Which?", "B", ("one", "two", "three", "four"))
MATHS = Task("m", "toy", "maths", "s", "How much?", "1/2")
CODE = Task("c", "toy", "code", "s", "def f(): ...", "", tests=CodeTests("f", ""))


DOUBLE = replace(
    CODE,
    prompt='def f(x):\n    """Twice x.\n    >>> f(1)\n    2\n    f([1, 2]) gives [1, 2, 1, 2]"""',
)


def vote(task: Task, calls: Sequence[CallRecord]) -> Vote:
    return asyncio.run(voting.vote(task, calls))


def program(body: str) -> CallRecord:
    return call(f"```python\ndef f(x):\n    {body}\n```")


def call(text: str, finish: FinishReason = "stop") -> CallRecord:
    completion = Completion(text, finish, 10, 5, 0.5, 2.0, False, "")
    return CallRecord("Assistant", "alone", "m", completion)


def failed() -> CallRecord:
    return CallRecord("Assistant", "alone", "m", error="timeout: too slow")


def test_the_majority_wins_and_its_first_text_is_returned():
    calls = [call(f"Answer: {letter}") for letter in "ABBC"]
    assert vote(CHOICE, calls).winner is calls[1]


def test_a_tie_goes_to_the_answer_given_first():
    calls = [call(f"Answer: {letter}") for letter in "ACBBC"]
    assert vote(CHOICE, calls) == Vote(calls[1], tied=True)
    assert not vote(CHOICE, calls[:-1]).tied


def test_without_any_answer_the_first_text_stands():
    calls = [failed(), call("hm"), call("Answer")]
    assert vote(CHOICE, calls).winner is calls[1]
    assert vote(CHOICE, [failed()]).winner.completion is None


def test_truncated_and_refused_answers_do_not_vote():
    calls = [
        call("Answer: A", "length"),
        call("Answer: A", "refusal"),
        call("Answer: A", "length"),
        call("Answer: B"),
    ]
    assert vote(CHOICE, calls).winner is calls[3]


def test_equal_expressions_are_one_answer():
    texts = ("3", r"\frac{1}{2}", "1/2", "3", "0.5")
    calls = [call(rf"Answer: \boxed{{{text}}}") for text in texts]
    assert vote(MATHS, calls).winner is calls[1]


def test_programs_that_differ_in_layout_are_one_answer():
    programs = (  # no example in the prompt
        "def f():\n    return 2",
        "def f():\n    # a comment\n    return (1)",
        "def f():\n    return 1",
    )
    calls = [call(f"```python\n{program}\n```") for program in programs]
    assert vote(CODE, calls).winner is calls[1]


def test_programs_that_do_the_same_on_the_examples_are_one_answer():
    """Three texts, two of which return the same; the other is first and would win a tie."""
    calls = [program("return x"), program("return x + x"), program("return 2 * x")]
    assert vote(DOUBLE, calls) == Vote(calls[1])
    assert vote(CODE, calls) == Vote(calls[0], tied=True)  # nothing to run them on


def test_what_the_prompt_says_of_the_results_decides_nothing():
    """The majority is wrong on the prompt's example, and is the majority."""
    calls = [program("return 2 * x"), program("return [x]"), program("y = [x]\n    return y")]
    assert vote(DOUBLE, calls) == Vote(calls[1])


def test_a_program_that_ends_on_an_example_votes_only_where_all_do():
    ends = "import os\n    os._exit({})"
    calls = [program(ends.format(1)), program(ends.format(1)), program("return 0")]
    assert vote(DOUBLE, calls) == Vote(calls[2])
    calls = [program(ends.format(code)) for code in (1, 2, 2)]
    assert vote(DOUBLE, calls) == Vote(calls[1])


def test_expressions_and_programs_are_compared_off_the_event_loop():
    """Votes of many tasks at once, while programs are graded in other threads."""
    calls = [program(f"return {number % 3}") for number in range(5)]

    async def many() -> list[Vote]:
        return await asyncio.gather(*(voting.vote(CODE, calls) for _ in range(40)))

    assert {id(each.winner) for each in asyncio.run(many())} == {id(calls[0])}
