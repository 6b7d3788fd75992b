"""Whether two maths answers are equal, and the process that says so."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from hieramas_lib.tasks import maths_grading
from hieramas_lib.tasks.maths_grading import GraderError, MathsComparer, maths_verdict

EQUAL = [
    (r"\frac54", "1 1/4"),
    (r"12\frac{3}{5}", r"12 \frac{3}{5}"),
    (r"\dfrac{9}{7}", "9/7"),
    (r"\frac{\pi}{2}", "pi/2"),
    ("3x-y+13=0", "6x-2y+26=0"),
    ("y=-2x", "y = -2 x"),
    ("y=2x+1", "2x+1"),
    ("x=5", "5"),
    ("7", "x=7"),
    ("4210_5", "4210"),
    ("4210_{5}", "4210_5"),
    ("50", "50%"),
    (r"198\%", "198"),
    (r"\$36", "36"),
    ("5", "$5.00"),
    ("26000", "1000(26)"),
    ("58,500", "58500"),
    (r"10,\!080", "10080"),
    (r"\{-2,3\}", "x=3 or x=-2"),
    (r"3\sqrt{2}", "sqrt(18)"),
    (r"12\pi", "12*pi"),
    (r"12\pi", "12π cm"),
    (r"12\pi", r"12\pi\text{ cm}^2"),
    (r"15\mbox{ cm}^2", "15"),
    ("48", "48 g"),
    ("12", "12 apples"),
    (r"76^\circ", "76"),
    (r"\text{4:30 p.m.}", r"4:30 \text{ p.m.}"),
    (r"\text{even}", "Even"),
    (r"\text{(C)}", "C"),
    (r"(-\infty,2]", "(-oo, 2]"),
    ("[-2,7]", r"-2\le x\le 7"),
    ("[-2,7)", "-2 <= x < 7"),
    (r"(2,\infty)", "x>2"),
    (r"x \in [-2,7]", "[-2, 7]"),
    ("x^2-1", "(x-1)(x+1)"),
    (r"\frac{1}{2}", "0.5"),
    (r"\frac{3}{56}", "0.0535714285714164"),
    ("2+3i", "3i+2"),
    (r"16 - 16 \sqrt{3} i", r"16-16i\sqrt{3}"),
    (r"\frac{52}{37} + \frac{21 i}{37}", r"\frac{52+21i}{37}"),
    ("2i", "(1+i)^2"),
    (r"\frac{x}{2}+\sqrt{2}x", r"x\sqrt{2}+0.5x"),
    ("(3,-2)", "(3, -2)"),
    (r"\frac{3+\sqrt{5}}{2}", "(3+sqrt(5))/2"),
    (
        r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}",
        r"\begin{pmatrix} -\frac{1}{3} \\ \frac{2}{3} \end{pmatrix}",
    ),
]

DIFFERENT = [
    ("1/2^{99}", "1/2^{98}"),
    (r"1-1/\mathrm{e}", r"1+1/\mathrm{e}"),
    ("2", "2 2/3"),
    ("3*x-1*y+13=0", "3x+4y+14=0"),
    ("4", r"4\sqrt(2)"),
    ("-1", "-1 + exp(16)"),
    ("4210_5", "4210_6"),
    ("4210", "4210_5"),
    (r"50\%", "0.5"),
    ("8,000", "000"),
    ("y=-2x", "y=2x"),
    (r"\{1,2\}", "(1,2)"),
    ("(2,3)", "[2,3]"),
    (r"(2,\infty)", r"x\ge 2"),
    ("12", "12x"),
    ("2x", "2"),
    (r"\text{4:30 p.m.}", "4:30 a.m."),
    (r"\text{4:30 p.m.}", "4:40 p.m."),
    (r"\text{even}", "odd"),
    (r"\frac13", "0.33"),
    ("326.5", "326.53"),
    ("5", "five"),
    ("(3,-2)", "(-2,3)"),
    ("2+3i", "2-3i"),
    ("x+y", "x+z"),
    (r"\{2,3\}", "2"),
    ("2", "2, 3"),
    ("1,-2", "1"),
    ("-5", "5"),
    ("5", ")(}{"),
]


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_equal(gold: str, answer: str) -> None:
    assert maths_verdict(gold, answer) == "equal"


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_different(gold: str, answer: str) -> None:
    assert maths_verdict(gold, answer) in ("different", "unreadable answer")


def test_a_timeout_is_an_error_and_the_worker_is_replaced() -> None:
    comparer = MathsComparer(time_limit_s=1.0)
    try:
        assert comparer.compare("1", "1") == "equal"
        comparer._time_limit_s = 1e-6
        with pytest.raises(GraderError, match="timeout"):
            comparer.compare("x^{20}-1", "(x^{10}-1)(x^{10}+1)")
        comparer._time_limit_s = 10.0
        assert comparer.compare("2", "4/2") == "equal"
    finally:
        comparer.close()


def test_a_dead_worker_is_replaced() -> None:
    comparer = MathsComparer()
    try:
        comparer.compare("1", "1")
        assert comparer._process is not None
        comparer._process.kill()
        comparer._process.wait()
        assert comparer.compare("1", "2") == "different"
    finally:
        comparer.close()


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maths_grading.sys, "executable", "/bin/false")
    with pytest.raises(GraderError, match=r"did not start|ended unexpectedly"):
        MathsComparer().compare("1", "2")


def test_a_power_tower_does_not_stop_grading() -> None:
    comparer = MathsComparer(time_limit_s=1.0)
    try:
        with pytest.raises(GraderError, match="timeout"):
            comparer.compare("9", "9^{9^{9^{9}}}")
        comparer._time_limit_s = 10.0
        assert comparer.compare("6", "18/3") == "equal"
    finally:
        comparer.close()


def test_threads_get_their_own_verdicts() -> None:
    def verdict(k: int) -> str:
        return maths_grading.shared_comparer().compare(
            str(k), f"{2 * k}/2" if k % 2 else str(k + 1)
        )

    with ThreadPoolExecutor(8) as threads:
        verdicts = list(threads.map(verdict, range(1, 81)))
    assert verdicts == ["equal", "different"] * 40


def _verdict_in_child(answer: str) -> tuple[str, int]:
    return maths_verdict("7", answer), os.getpid()


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pool_processes_have_a_worker_each(method: str) -> None:
    assert maths_verdict("7", "14/2") == "equal"  # the parent's is running
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        verdict, process_id = pool.submit(_verdict_in_child, "21/3").result(timeout=60)
    assert (verdict, process_id != os.getpid()) == ("equal", True)
    assert maths_verdict("7", "28/4") == "equal"


def test_speed(capsys: pytest.CaptureFixture[str]) -> None:
    comparer = maths_grading.shared_comparer()
    comparer.compare("1", "1")
    started = time.monotonic()
    for k in range(200):
        comparer.compare(rf"\frac{{{k + 1}}}{{7}}", rf"\frac{{{2 * k + 2}}}{{14}}")
    rate = 200 / (time.monotonic() - started)
    with capsys.disabled():
        print(f"\nmaths comparisons per second, warm worker: {rate:.0f}")
    assert rate > 10
    assert threading.active_count() < 20
