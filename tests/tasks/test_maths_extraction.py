"""Reading an expression out of a reply."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.tasks.maths_extraction import extract_expression


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (r"So the sum is $\boxed{12}$.", "12"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{{49}}", "49"),
        (r"\\boxed{5}", "5"),
        (r"\boxed 7", "7"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"First \boxed{3}, no: \boxed{4}. Done.", "4"),
        (r"Answer: \boxed{-\frac{\pi}{6}}", r"-\frac{\pi}{6}"),
        ("Answer: 42", "42"),
        ("**Answer:** 42", "42"),
        ("**Final Answer**: $x = 5$.", "x = 5"),
        ("Final Answer: The final answer is $[-2, 7]$. I hope it is correct.", "[-2, 7]"),
        ("Final Answer: The final answer is Evelyn. I hope it is correct.", "Evelyn"),
        ("Answer:\n\\[\n\\frac{3}{4}\n\\]", r"\frac{3}{4}"),
        ("Answer: 3.5.", "3.5"),
        ("A: 18", "18"),
        ("so she pays 7.\n#### 7.00", "7.00"),
        ("The answer is $3$. Wait, the answer is $4$.", "4"),
        (r"\boxed{5} Hence she needs 5 apples in 3 bags.", "5"),
        (r"Answer: 3" + "\n" + r"\boxed{4}", "4"),
        (r"\boxed{4}" + "\nAnswer: 3", "3"),
        ("Therefore the area is $15$ square centimetres.", "15"),
        (r"so the area is $\frac{1}{2}(10)(3)=15$ square centimetres.", "15"),
        ("The line is $y = -2x$.", "y = -2x"),
        ("The cashier gives back $5.00 in change.", "5.00"),
        ("In total, 3 onions + 1 potato = 4 onions and potatoes.", "4"),
        ("So 5 springs come to 5 * 14400 = 72000.\nThat is 72000 in 4 hours.", "72000"),
        ("Savings = $15 - $9 = $6\n\nShe saves $6 on 18 flowers.", "6"),
        (r"$\boxed{840}$ and again $\boxed{840}$", "840"),
        ("Answer: **73**", "73"),
        ("**73**", "73"),
        ("It has 8,000 seats.", "8,000"),
        ("Adding up, the sum is 9,", "9"),
        ("Of course,\nit is 3,", "3"),
        ("12", "12"),
        ("$\\frac{1}{2}$", r"\frac{1}{2}"),
        ("x^2 - 1", "x^2 - 1"),
    ],
)
def test_what_is_stated(text: str, expression: str) -> None:
    assert extract_expression(text) == expression


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am sorry, I cannot solve this.",
        "Answer: it cannot be determined",
        "There is not enough information.",
        "Of the 5 springs, 72000 jellyfish come in 4 hours.",
        "First 100 - 4 = 96, then 100 + 25 = 125.\nSince 125 is more than 96 we choose it.",
        ",",
        "Answer: ,",
        r"\boxed{,}",
        r"We get \[ r^8 e^{8i} - r^7",
        "Together they collected 27 + 11 = <<27+1",
        r"the value is \boxed{3",
    ],
)
def test_nothing_is_stated(text: str) -> None:
    assert extract_expression(text) is None


CORRECTIONS = {
    "oops": ("Answer: 7\n\nOops. The answer is actually 8.", "8"),
    "an inline anchor": ("Answer: 6\n\nWait, correction: Answer: 7", "7"),
    "after a box": ("\\boxed{7}\n\nHmm wait, the answer is 8.", "8"),
    "no, comma": ("\\boxed{7} No, the answer is $\\frac{1}{2}$.", r"\frac{1}{2}"),
    "a check that holds": ("Answer: 7\n\nWait, I check that the answer is right: 3+4=7.", "7"),
    "no turn": ("Answer: 7\n\nThe answer is 8 in the old edition.", "7"),
    "a turn before": ("Wait, the answer is 8.\nAnswer: 7", "7"),
    "a turn, then a refusal": ("Answer: 7\n\nActually, the answer is unknown.", "7"),
}


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_correction_in_prose_wins_over_the_statement_before(name: str) -> None:
    text, expression = CORRECTIONS[name]
    assert extract_expression(text) == expression


RELATIONS = {
    "at least": ("x >= 3", "x >= 3"),
    "less": ("n < 3", "n < 3"),
    "in words": ("so n > 3", "n > 3"),
    "unequal": ("x ≠ 3", "x ≠ 3"),
    "unequal in Python": ("so x != 3", "x != 3"),
    "a formula": ("Therefore $x >= 3$.", "x >= 3"),
    "a command": (r"So x \ge 3.", r"x \ge 3"),
    "a range": ("Thus -2 < x < 7.", "-2 < x < 7"),
    "two of them": ("Hence x > 3 or y < 2.", None),
    "a reason": ("Since 5 > 3, she has 12 apples.", "12"),
    "a tag": ("<b>3</b>", "3"),
    "an arrow": ("$2x = 6 => x = 3$", "x = 3"),
    "a factorial": ("5!=120", "120"),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_an_inequality_is_read_whole_or_not_at_all(name: str) -> None:
    text, expression = RELATIONS[name]
    assert extract_expression(text) == expression


ALPHABET = st.sampled_from(
    ["Answer:", "answer is", "####", r"\boxed{", "}", "{", "$", "$$", r"\(", r"\)", r"\[", "1", "2",
     "=", "/", ".", "\n", " ", "x", "<<", ">>", r"\frac", "\\", "sorry", "é", "\x00"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(ALPHABET).map("".join)))
def test_total(text: str) -> None:
    extracted = extract_expression(text)
    assert extracted is None or extracted.strip()


@given(st.integers(-999, 999), st.text(alphabet="abcd ,=\n()", max_size=100))
def test_a_final_answer_line_decides_whatever_comes_before(number: int, prose: str) -> None:
    assert extract_expression(f"{prose}\nAnswer: \\boxed{{{number}}}") == str(number)


PIECES = (
    r"\boxed{",
    "Answer: ",
    "answer is ",
    "$",
    r"\(",
    "####",
    "1 = ",
    "= ",
    "{",
    r"\[",
    "1,",
    "\\",
    "wait answer: ",
    "x<",
    "=> ",
    "a{",
    "1 > 2 ",
)


@pytest.mark.parametrize("piece", PIECES)
def test_long_input_takes_under_a_second(piece: str) -> None:
    started = time.process_time()
    extract_expression((piece * 20_000)[:20_000])
    assert time.process_time() - started < 1


@pytest.mark.parametrize("piece", ("\\boxed{1} wait, answer is ", "no, ", "x < 1 ", "1, or "))
def test_a_megabyte_takes_under_two_seconds(piece: str) -> None:
    started = time.process_time()
    extract_expression("Answer: 1\n" + piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 2
