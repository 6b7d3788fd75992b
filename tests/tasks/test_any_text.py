"""Any text gets a grade, without an exception and in time."""

import random
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.maths_grading import TIME_LIMIT_S
from hieramas_lib.tasks.task import Task

LIMIT_S = 2.0
CHOICE = Task("c", "b", "choice", "s", "Which?", "B", ("Paris", "Rome", "Bonn", "Oslo"))
GOLDS = (
    r"\frac{1}{2}", "12", r"3\sqrt{2}", "[-2,7)", r"\text{Evelyn}", "4210_5", "x^2+1=0",
    r"\begin{pmatrix}1\\2\end{pmatrix}", r"\{1,2\}", "2+3i", r"\text{4:30 p.m.}",
)  # fmt: skip
MATHS = tuple(Task(f"m{i}", "b", "maths", "s", "?", gold) for i, gold in enumerate(GOLDS))

PIECES = (
    "Answer:", "answer is ", "####", r"\boxed{", "}", "{", "$", "$$", r"\(", r"\)", r"\[", r"\]",
    "1", "2", "9", "=", "/", ".", ",", "\n", " ", "x", "<<", ">>", r"\frac", r"\frac{1}{2}", "\\",
    "^", "^{", "_", "!", "%", "°", r"\sqrt{", r"\sqrt", r"\text{", r"\begin{pmatrix}", "&", r"\\",
    r"\end{pmatrix}", r"\int", r"\sum_{n=1}^{\infty}", r"\lim_{x\to 0}", r"\infty", r"\cup", "[",
    "(", ")", "]", "i", "e", "pi", r"\pi", "<", ">", r"\le", r"\binom{9}{4}", r"\log", r"\sin",
    "**", "99999999999", "1e999", "0.000000001", "sqrt(", "exp(", "\x00", "é", "\ud800", "☃",
    "<think>", "</think>", "A", "B", "(C)", "or", "is correct", "I", "True", "'", '"', "-", "+",
    "__import__('os')", r"\mathbb{R}", r"\cdot", r"\div", "|", r"\{", r"\}", r"\pmod{7}", "٣",
)  # fmt: skip


def boxed(content: str) -> str:
    return rf"Answer: \boxed{{{content}}}"


ADVERSARIAL = {
    "deep braces": boxed("{" * 900 + "1" + "}" * 900),
    "deep roots": boxed(r"\sqrt{" * 150 + "2" + "}" * 150),
    "unclosed boxes": r"\boxed{" * 100_000,
    "unclosed braces": r"\boxed{" + "{" * 100_000,
    "a megabyte of letters": "a" * 10**6,
    "a megabyte of spaces": " " * 10**6 + "x",
    "a megabyte of digits": "Answer: " + "9" * 10**6,
    "a megabyte of backslashes": "\\" * 10**6,
    "a megabyte of dollars": "$" * 10**6,
    "a megabyte of line ends": "\n" * 10**6 + "Answer: 3",
    "a megabyte of thoughts": "<think>" * 150_000,
    "many thoughts": "<think>a</think>" * 60_000,
    "many statements": "the answer is " * 70_000,
    "many answer lines": "Answer: A\n" * 100_000,
    "many openings": r"\(" * 500_000,
    "nul": "\x00" * 10**6,
    "surrogates": "\ud800" * 1000,
    "combining marks": "A" + "\u0301" * 100_000,
    "a number of 900 digits": boxed("9" * 900),
    "a number of 1900 digits": boxed("9" * 1900),
    "a mixed number of 900 digits": boxed("9" * 900 + r"\frac{1}{3}"),
    "a huge base": boxed("1" * 900 + "_{2}"),
    "a tiny decimal": boxed("0." + "0" * 900 + "1"),
    "a huge exponent": boxed("1e999999999"),
    "500 equals signs": boxed("=" * 500),
    "900 commas": boxed("," * 900),
    "400 bars": boxed("|" * 400),
    "300 times or": boxed(" or ".join(["1"] * 300)),
    "a set of 250": boxed(r"\{" + ",".join(map(str, range(250))) + r"\}"),
    "a power tower": boxed("9^{9^{9^{9}}}"),
}

SLOW = {
    "a power tower in Python": boxed("9**9**9**9"),
    "a negative tower": boxed("2^{-9^{9^9}}"),
    "a huge power": boxed("2^{999999999}"),
    "a huge power of a fraction": boxed(r"\left(\frac{3}{7}\right)^{99999999}"),
    "a huge power of a complex number": boxed("(1+i)^{1000000}"),
    "a huge factorial": boxed("99999999!"),
    "repeated factorials": boxed("9!!!!"),
    "a huge binomial": boxed(r"\binom{10^9}{5\cdot 10^8}"),
    "a long sum": boxed(r"\sum_{n=1}^{10^9} \frac{1}{n^2+1}"),
    "a sum without closed form": boxed(r"\sum_{n=1}^{\infty} \frac{\sin(n^2)}{n^3}"),
    "a long product": boxed(r"\prod_{n=1}^{1000000} (1+\frac{1}{n^3})"),
    "an integral without closed form": boxed(r"\int_0^{\infty} e^{-x^{x}} \sin(x^3) dx"),
    "a hard limit": boxed(r"\lim_{x\to 0} \frac{\sin(\tan x)-\tan(\sin x)}{x^{x}}"),
    "400 parentheses": boxed("(" * 400 + "1" + ")" * 400),
    "90 nested fractions": boxed(r"\frac{1}{" * 90 + "2" + "}" * 90),
    "a wide polynomial": boxed("(x+y+z+w)^{400}"),
    "a high polynomial": boxed("(x+1)^{5000}"),
    "80 intervals": boxed(r"\cup".join(["(1,2)"] * 80)),
    "60 exponents": boxed("x" + "^{2" * 60 + "}" * 60),
    "100 subscripts": boxed("x" + "_{1" * 100 + "}" * 100),
    "300 factorials of x": boxed("x!" * 300),
    "exponentials of exponentials": boxed("e^{e^{e^{e^{e}}}}"),
    "a tower modulo ten": boxed(r"7^{7^{7^7}} \pmod{10}"),
    "the logarithm of a huge power": boxed(r"\log_{2}(2^{10^{9}})"),
}


def check(task: Task, text: str) -> float:
    """Grade ``text``; return the wall seconds that it took.

    Asserted is CPU time, which other load on the machine leaves alone: what extraction and the
    rules take here, and the limit that the system sets the comparing process.
    """
    started, cpu = time.perf_counter(), time.process_time()
    verdict = grade(task, text)
    used = time.process_time() - cpu
    assert used + (TIME_LIMIT_S if task.kind == "maths" else 0) < LIMIT_S, text[:100]
    assert verdict.status in ("correct", "wrong", "unparsed", "empty", "error")
    if verdict.status == "error":
        assert "timeout" in verdict.detail, (verdict.detail, text)
    assert verdict.extracted == extract_answer(task, text) if text.strip() else True
    return time.perf_counter() - started


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial(name: str) -> None:
    for task in (CHOICE, *MATHS[:3]):
        check(task, ADVERSARIAL[name])


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)),
    st.sampled_from((CHOICE, *MATHS)),
)
def test_generated_text(text: str, task: Task) -> None:
    check(task, text)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(("replace", "surrogateescape", "ignore")))
def test_random_bytes(data: bytes, errors: str) -> None:
    text = data.decode("utf-8", errors)
    check(CHOICE, text)
    check(MATHS[0], boxed(text))


def fuzzed(count: int, seed: int) -> Iterator[str]:
    """Yield pieces at random, pieces in a box, and random bytes."""
    rng = random.Random(seed)
    for _ in range(count):
        kind = rng.random()
        pieces = "".join(rng.choices(PIECES, k=rng.randint(1, 25)))
        if kind < 0.5:
            yield pieces
        elif kind < 0.8:
            yield boxed(pieces)
        else:
            errors = rng.choice(("replace", "surrogateescape", "ignore"))
            yield rng.randbytes(rng.randint(1, 300)).decode("utf-8", errors)


@pytest.mark.slow
def test_ten_thousand_texts(record_property: Callable[[str, object], None]) -> None:
    rng = random.Random(1)
    times = []
    for text in fuzzed(10_000, seed=0):
        times.append((check(CHOICE, text), "choice", text))
        times.append((check(rng.choice(MATHS), text), "maths", text))
    record_property("table: slowest of 10,000 fuzzed texts (wall seconds)", slowest(times))


@pytest.mark.slow
def test_slow_adversarial(record_property: Callable[[str, object], None]) -> None:
    texts = (ADVERSARIAL | SLOW).items()
    times = [(check(t, text), t.kind, name) for name, text in texts for t in (CHOICE, *MATHS[:2])]
    record_property("table: slowest adversarial texts (wall seconds)", slowest(times))


def slowest(times: list[tuple[float, str, str]]) -> str:
    ranked = sorted(times, reverse=True)[:5]
    return "\n".join(f"{seconds:.2f}  {kind:7} {text[:80]!a}" for seconds, kind, text in ranked)
