"""Reading an option's letter out of a reply."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.tasks.choice_extraction import extract_choice

CITIES = ("Paris", "Rome", "Bonn", "Oslo")
TEN = tuple(f"option text {i}" for i in range(10))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: C", "C"),
        ("answer: c", "C"),
        ("**Answer:** C", "C"),
        ("**Answer: C**", "C"),
        ("Answer: (C)", "C"),
        ("Answer:\n\nC", "C"),
        ("Final answer: C. Bonn", "C"),
        (r"Answer: $\boxed{C}$", "C"),
        (r"\boxed{\text{(C)}}", "C"),
        (r"\[ \boxed{\textbf{C}} \]", "C"),
        ("The correct answer is **C**, since B is too far south.", "C"),
        ("The answer is therefore option (C).", "C"),
        ("Option C is correct.", "C"),
        ("(C) is the right answer.", "C"),
        ("I choose C because it is the seat.", "C"),
        ('{"answer": "C"}', "C"),
        ("The answer is A because B is not a capital.", "A"),
        ("C", "C"),
        ("(c)", "C"),
        ("**C.**", "C"),
        ("C) Bonn", "C"),
        ('The best one is:\n\n"C. Bonn"', "C"),
        ("The capital meant here is C. Bonn was chosen in 1949.", "C"),
        ("I would say (C).", "C"),
        ("Let me see.\nB", "B"),
        ("The correct option is C, Bonn.", "C"),
        ("The answer is (C), not (A) or (B).", "C"),
    ],
)
def test_clear_statements(text: str, letter: str) -> None:
    assert extract_choice(text, CITIES) == letter


def test_the_last_clear_statement_wins() -> None:
    assert extract_choice("The answer is (B). No, wait.\nAnswer: D", CITIES) == "D"
    assert extract_choice("Answer: D\nHmm, the answer is (B).", CITIES) == "B"
    assert extract_choice(r"\boxed{A} ... so the answer is B.", CITIES) == "B"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Bonn", "C"),
        ("bonn.", "C"),
        ("Answer: Bonn", "C"),
        ("Answer: **Bonn**", "C"),
        (r"\boxed{\text{Bonn}}", "C"),
        ("It was Bonn until 1990.", "C"),
        ("First I thought of Rome.\nBonn", "C"),
    ],
)
def test_the_text_of_an_option(text: str, letter: str) -> None:
    assert extract_choice(text, CITIES) == letter


@pytest.mark.parametrize(
    "text",
    [
        "",
        "This",
        "Pro",
        "40",
        "I",
        "i",
        "A city in Europe is meant.",
        "I cannot answer this question.",
        "Therefore, I do not know.",
        "Answer: I don't know",
        "Answer: a matter of taste",
        "Answer: E",
        "The answer is not listed among the options.",
        "It is not Bonn.",
        "Bonn or Rome",
        "Answer: B or C",
        "Answer: A, C and D",
        "The answer is (A, C, D).",
        "Answer: B/C",
        "Answer: B or A or C",
        "Answer: B, A",
        "Answer: **A** and **B**",
        r"\boxed{A}, that is \boxed{A, B}",
        "Answer seems hard to give.",
        "A good question.",
        "A. Paris\nB. Rome\nC. Bonn\nD. Oslo",
        "**B** is near, **C** is far.",
        "B. F. Skinner wrote on behaviour.",
        "The answer is B. But then,\nAnswer: none of these",
    ],
)
def test_no_answer_or_several(text: str) -> None:
    assert extract_choice(text, CITIES) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The answer is C.\n\nNote: the answer would be B if the country were Italy.", "C"),
        ("The correct answer is C. If the country were Italy, the answer would be B.", "C"),
        ("The answer is C. If the country were Italy, the answer is B.", "C"),
        ("The answer is C. Had it been Italy, I would choose B.", "C"),
        ("If the country were Italy, the answer would be B.", None),
        ("If I had to guess, I would choose C.", "C"),
        ("If 2x = 4 then x = 2, so the answer is C.", "C"),
        ("The answer would be C.", "C"),
        ("I would say the answer is C.", "C"),
    ],
)
def test_a_supposition_is_no_statement(text: str, letter: str | None) -> None:
    assert extract_choice(text, CITIES) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I would not choose C.", None),
        ("Don't choose C", None),
        ("Don't choose (C)", None),
        ("The answer can't be C", None),
        ("The answer cannot be C.", None),
        ("The wrong answer is C", None),
        ("The incorrect option is C", None),
        ("I don't think the answer is C.", None),
        ("It is false that the answer is C.", None),
        ("The answer is C? No.", None),
        ("The answer is Bonn? No.", None),
        ("Many would pick C, and they are wrong.", None),
        ("(C) is wrong", None),
        ("**C** is incorrect.", None),
        ("The answer is B. A student who confuses this might say the answer is C.", "B"),
        ("The answer is B. The wrong answer is C.", "B"),
        ("The answer is B. I would not choose C.", "B"),
    ],
)
def test_a_denied_or_reported_statement_does_not_count(text: str, letter: str | None) -> None:
    assert extract_choice(text, CITIES) == letter


@pytest.mark.parametrize(
    "text",
    [
        "The answer is not B but C.",
        "The answer is not A or B, but rather option C.",
        "Which of these is not a capital? The answer is C.",
        "The statement that is NOT true is C",
        "The statement that is incorrect is C.",
        "The false option is C.",
        "The least likely option is C.",
        "There is no doubt that the answer is C.",
        "While many students choose B, the correct answer is C.",
        "I'm not sure, but the answer is C.",
        "B is wrong, so I choose C.",
        "(B) is wrong.\nThe answer is C.",
    ],
)
def test_a_negation_of_something_else_leaves_the_statement(text: str) -> None:
    assert extract_choice(text, CITIES) == "C"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B. Hmm, wait. Let me reconsider. It's C.", "C"),
        ("The answer is B.\n\nActually, C.", "C"),
        ("**Answer: B**\n\nNo, it should be **C**.", "C"),
        (r"\boxed{B}. Wait, it is C.", "C"),
        ("Answer: B. Wait, C looks possible as well", None),
        ("Answer: B. Wait, that is wrong.", None),
        ("Answer: B. Actually, this is well known.", "B"),
        ("The answer is C. Bonn was actually the seat; A (Paris) is in France.", "C"),
        ("The answer is B. Wait, let me check. Answer: D", "D"),
    ],
)
def test_a_correction_overrules_the_statement_before_it(text: str, letter: str | None) -> None:
    assert extract_choice(text, CITIES) == letter


@pytest.mark.parametrize(
    "text",
    [
        "The answer is most likely C.",
        "The answer is probably C.",
        "C is the answer.",
        "C is my final answer.",
        "<answer>C</answer>",
        "<answer>\nc\n</answer>",
        "<answer>Bonn</answer>",
        r"\boxed{\text{Option C}}",
        "Correct: C",
        "**Correct:** C",
        "Answer - C",
        "Answer — C",
    ],
)
def test_further_forms(text: str) -> None:
    assert extract_choice(text, CITIES) == "C"


def test_the_letters_that_are_words_too() -> None:
    assert extract_choice("I is the correct answer.", TEN) == "I"
    assert extract_choice("A is the answer.", TEN) == "A"
    assert extract_choice("I is correct. II is not.", TEN) is None


def test_ten_options() -> None:
    assert extract_choice("the answer is January 22nd. The answer is (H).", TEN) == "H"
    assert extract_choice("The answer is (I).", TEN) == "I"
    assert extract_choice("Therefore, I cannot provide an answer.", TEN) is None
    assert extract_choice("The answer is I think unclear.", TEN) is None


def test_numbers_as_options_are_matched_whole() -> None:
    numbers = ("2", "2.5", "25", "10%")
    assert extract_choice("Answer: 2.5", numbers) == "B"
    assert extract_choice("Answer: 2", numbers) == "A"
    assert extract_choice("Answer: 25 metres", numbers) == "C"
    assert extract_choice("Answer: 10", numbers) is None
    assert extract_choice(r"so \boxed{25}", numbers) == "C"


def test_letters_as_options_are_read_as_letters_of_options() -> None:
    assert extract_choice("Answer: B", ("A", "AB", "B", "O")) == "B"


def test_an_options_text_behind_its_letter_names_no_other_letter() -> None:
    names = ("B. F. Skinner", "D. O. Hebb", "Émile Durkheim", "C. Wright Mills")
    for letter, name in zip("ABCD", names, strict=True):
        assert extract_choice(f"Answer: {letter}. {name}", names) == letter
        assert extract_choice(f"The correct option is {letter}, {name}.", names) == letter
        assert extract_choice(f"Answer: {name}", names) == letter
    assert extract_choice("The answer is B, Élan vital.", ("a", "b", "c", "d", "e")) == "B"


def test_an_option_inside_another() -> None:
    options = ("mass", "mass and energy", "energy", "charge")
    assert extract_choice("Answer: mass and energy", options) == "B"
    assert extract_choice("What is conserved is mass and energy.", options) == "B"


ALPHABET = st.sampled_from(
    ["Answer:", "the answer is", "(", ")", "A", "B", "C", "I", " ", "\n", "**", r"\boxed{", "}",
     "$", "or", ",", "Bonn", "is correct", "option", r"\text{", "not", ".", "e", "<think>",
     "\x00", "é"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(ALPHABET).map("".join)))
def test_total(text: str) -> None:
    assert extract_choice(text, CITIES) in {None, "A", "B", "C", "D"}


@given(st.sampled_from("ABCD"), st.text(alphabet="abcdefg ,.\n()", max_size=200))
def test_a_final_answer_line_decides_whatever_comes_before(letter: str, prose: str) -> None:
    assert extract_choice(f"{prose}\nAnswer: {letter}", CITIES) == letter


@pytest.mark.parametrize(
    "piece",
    ["answer is ", r"\boxed{", "A, ", "(A) is ", "**", "A. Paris\n", "$", "\\", "Answer: A\n",
     "many students might say ", "if would choose C ", "Answer: B. Wait. ", "not A, but ",
     "<answer>", "is C. ", "(C) is not ", "- ", "\n", " ", "is" + " " * 20_000],
)  # fmt: skip
def test_long_input_takes_under_a_second(piece: str) -> None:
    started = time.process_time()
    extract_choice((piece * 20_000)[:20_000], CITIES)
    assert time.process_time() - started < 1


def test_a_minus_sign_belongs_to_the_option():
    options = ("1", "-1", "0", "2")
    assert extract_choice("Answer: -1", options) == "B"
    assert extract_choice("Answer: 1", options) == "A"
    assert extract_choice("Answer: - B", options) == "B"
