"""The reader on codes against the reader on texts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_cases import HARD

from hieramas_lib.llms.layout import Duty
from hieramas_lib.llms.simulated_reading import Evidence, choose_answer
from hieramas_lib.teams.symbolic.reading import Message, choose_codes, reader_of

RIGHT = "right"
WRONG = ("a", "b", "c")
ANSWERS = (RIGHT, *WRONG)
ABSENT, MUTE, SOUND, UNSOUND = -1, -2, -3, -4
levels = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def message(text: int) -> Message:
    """One text, read by one reader: a code, or one of the constants above."""
    read = None if text != ABSENT else np.zeros(1, np.int8)
    if text in (SOUND, UNSOUND):
        return Message(None, read, np.array([text == SOUND]), np.array([text == UNSOUND]))
    return Message((np.arange(len(ANSWERS)) == text).astype(np.int8)[:, None], read)


def evidence(texts: list[int]) -> Evidence:
    votes = {ANSWERS[code]: texts.count(code) for code in set(texts) if code >= 0}
    plans = frozenset(text == SOUND for text in texts if text in (SOUND, UNSOUND))
    return Evidence(votes, sum(text != ABSENT for text in texts), plans)


@settings(max_examples=400, deadline=None)
@given(
    texts=st.lists(st.integers(UNSOUND, len(WRONG)), max_size=12),
    margin=st.floats(-4, 4).filter(lambda x: abs(x * 8 - round(x * 8)) > 1e-6),
    own=st.integers(1, len(WRONG)),
    duty=st.sampled_from(["solver", "expert", "checker", "planner"]),
    persuasion=levels, recognition=levels, doubt=levels, swayed=levels,
)  # fmt: skip
def test_both_readers_choose_alike(
    texts: list[int], margin: float, own: int, duty: Duty,
    persuasion: float, recognition: float, doubt: float, swayed: float,
) -> None:  # fmt: skip
    knobs = HARD.with_knobs(
        "reading", persuasion=persuasion, recognition=recognition, doubt=doubt, fatigue=0.125
    ).with_knobs("checker", persuasion=swayed)
    chosen = choose_codes(
        np.array([margin]),
        np.array([own], np.int8),
        np.array([own], np.intp),
        [message(text) for text in texts],
        reader_of(duty, knobs),
        knobs,
    )
    said = choose_answer(RIGHT, ANSWERS[own], margin, evidence(texts), duty, knobs)
    assert ANSWERS[chosen[0]] == said


def test_readers_of_one_call_do_not_see_each_others_messages() -> None:
    votes = np.zeros((4, 3), np.int8)
    votes[0, 1] = 1
    chosen = choose_codes(
        np.array([-1.0, -1.0, 1.0]),
        np.array([2, 2, 3], np.int8),
        np.array([2 * 3 + 0, 2 * 3 + 1, 3 * 3 + 2]),
        [Message(votes)],
        reader_of("solver", HARD),
        HARD,
    )
    # Nobody reads the right answer but the second, who recognises it.
    assert chosen.tolist() == [2, 0, 0]
