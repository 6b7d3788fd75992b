"""The generated problems: rebuilt, and their answers worked out again another way."""

import itertools
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest
import sympy
from math_verify import parse

from hieramas_lib.paths import ROOT, data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.maths_grading import maths_verdict
from hieramas_lib.tasks.maths_templates.build import SUBJECTS, build_records, to_jsonl
from hieramas_lib.tasks.maths_templates.template import Problem, Template, draw, write
from hieramas_lib.tasks.task import Task

Check = Callable[[str, list[int]], object]
TASKS = load_tasks("maths")


def name_of(task: Task) -> str:
    return task.id.split("/")[3]


def test_the_shipped_file_is_what_the_templates_give() -> None:
    text = data_path("tasks", "maths.jsonl").read_text(encoding="utf-8")
    assert to_jsonl(build_records()) == text


def test_another_seed_gives_other_problems() -> None:
    prompts = {record["prompt"] for record in build_records(seed=1)}
    assert len(prompts & {task.prompt for task in TASKS}) < 40


def test_loading_needs_no_sympy() -> None:
    code = (
        "import sys; from hieramas_lib.tasks.load import load_tasks; "
        "load_tasks('maths', 'train'); sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_coverage() -> None:
    assert len(TASKS) == 294
    assert len({task.id for task in TASKS}) == len({task.prompt for task in TASKS}) == 294
    assert len(SUBJECTS) == 7
    for subject, templates in SUBJECTS.items():
        assert len({template.name for template in templates}) == 7
        assert {template.level for template in templates} == {1, 2, 3, 4, 5}, subject


def test_tempting_answers_are_distinct_from_each_other_and_the_gold() -> None:
    for task in TASKS:
        assert 2 <= len(task.tempting) <= 3
        check_answers([task.gold, *task.tempting])


def test_draws_where_a_slip_is_right_are_put_back() -> None:
    def make(rng: Random) -> Problem:
        k = rng.randint(2, 4)
        return Problem(f"{k} squared?", k * k, (2 * k, k * k + 1, sympy.sqrt(4) * k))

    template = Template("square", 1, make)
    used: set[str] = set()
    for seed in range(2):
        problem = draw(template, str(seed), used)
        used.add(problem.prompt)
        assert problem.prompt != "2 squared?" and len(problem.tempting) == 2
    with pytest.raises(RuntimeError, match="square"):
        draw(template, "2", used)


def test_how_answers_are_written() -> None:
    assert write(-7) == "-7"
    assert write(sympy.Rational(-3, 4)) == r"-\frac{3}{4}"
    assert write(3 * sympy.sqrt(2)) == r"3 \sqrt{2}"
    assert write(sympy.Interval.Lopen(-sympy.Rational(1, 2), 3)) == r"(-\frac{1}{2}, 3]"
    assert write(sympy.Tuple(-1, sympy.Rational(-1, 2))) == r"(-1, -\frac{1}{2})"
    assert write("12_{5}") == "12_{5}"


# --- each template's answer, worked out from the text alone, by counting or numerically -------


@cache
def evaluate(latex: str) -> complex:
    """Evaluate LaTeX without variables; ``i`` is the imaginary unit."""
    value = sympy.sympify(parse(rf"\boxed{{{latex}}}", parsing_timeout=None)[0])
    units = {symbol: sympy.I for symbol in value.free_symbols if symbol.name == "i"}
    return complex(value.subs(units).doit().evalf(20))


def function_of(latex: str) -> Callable[[float], float]:
    """Turn LaTeX in ``x`` such as ``4 x^{2} - x`` into a function, by rewriting the text."""
    code = re.sub(r"\^\{(\d+)\}", r"**\1", latex)
    code = re.sub(r"(?<=\d) (?=[a-z])", "*", code)
    return lambda x: eval(code, {"x": x})  # the text is our own


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    assert f(low) * f(high) <= 0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(low) * f(middle) > 0 else (low, middle)
    return (low + high) / 2


def coefficients(latex: str) -> list[float]:
    """Read a polynomial's coefficients off its values, highest first."""
    f = function_of(latex)
    at = np.arange(-2, 3)
    fitted = np.polyfit(at, [f(int(t)) for t in at], 4)
    first = next(k for k, c in enumerate(fitted) if abs(c) > 1e-6)
    return [round(c) for c in fitted[first:]]


def formulas(prompt: str) -> list[str]:
    return re.findall(r"\$([^$]+)\$", prompt)


def linear_equation(prompt: str, _: list[int]) -> float:
    left, right = formulas(prompt)[1].split(" = ")
    return bisect(lambda t: function_of(left)(t) - function_of(right)(t), -500, 500)


def line_intercept(_: str, n: list[int]) -> float:
    return float(np.polyfit([n[0], n[2]], [n[1], n[3]], 1)[1])


def linear_system(prompt: str, _: list[int]) -> float:
    rows = re.findall(r"(-? ?\d* ?)x ([+-] \d* ?)y = (-?\d+)", prompt)
    number = [
        [int(f"{t.replace(' ', '')}{'' if t.strip(' +-') else 1}") for t in row[:2]] for row in rows
    ]
    return float(np.linalg.solve(number, [int(row[2]) for row in rows]).sum())


def roots_difference(prompt: str, _: list[int]) -> float:
    roots = np.roots(coefficients(formulas(prompt)[0].split(" = ")[0]))
    return abs(roots[0] - roots[1])


def work_rate(_: str, n: list[int]) -> float:
    done, hours, step = 0.0, 0.0, 1e-4
    while done < 1:
        done += step * ((1 / n[0] if done < 0.5 else 0) + 1 / n[1])
        hours += step
    return hours


def inverse_function(prompt: str, n: list[int]) -> float:
    top, bottom = re.findall(r"dfrac\{(.*?)\}\{(.*?)\}\$", prompt)[0]
    f, g, k = function_of(top), function_of(bottom), n[-1]
    (x0, y0), (x1, y1) = ((t, f(t) - k * g(t)) for t in (0, 1))  # linear in x: top - k * bottom
    return x0 - y0 * (x1 - x0) / (y1 - y0)


def dice_sum(_: str, n: list[int]) -> Fraction:
    sides = range(1, n[0] + 1)
    hits = sum(a + b == n[-1] for a in sides for b in sides)
    return Fraction(hits, n[0] ** 2)


def letter_arrangements(prompt: str, _: list[int]) -> int:
    word = re.findall(r"word ([A-Z]+)", prompt)[0]

    @cache
    def count(left: tuple[int, ...]) -> int:
        if not any(left):
            return 1
        return sum(count((*left[:i], k - 1, *left[i + 1 :])) for i, k in enumerate(left) if k)

    return count(tuple(sorted(Counter(word).values())))


def same_colour(_: str, n: list[int]) -> Fraction:
    pairs = list(itertools.combinations("r" * n[0] + "b" * n[1], 2))
    return Fraction(sum(a == b for a, b in pairs), len(pairs))


def at_least_heads(_: str, n: list[int]) -> Fraction:
    tosses = list(itertools.product((0, 1), repeat=n[0]))
    return Fraction(sum(sum(toss) >= n[1] for toss in tosses), len(tosses))


def paths_avoiding(_: str, n: list[int]) -> int:
    width, height, banned = n[2], n[3], (n[4], n[5])

    @cache
    def paths(x: int, y: int) -> int:
        if x < 0 or y < 0 or (x, y) == banned:
            return 0
        return 1 if (x, y) == (0, 0) else paths(x - 1, y) + paths(x, y - 1)

    return paths(width, height)


def committee(_: str, n: list[int]) -> int:
    juniors = list(itertools.combinations(range(n[0]), n[2]))
    return len(juniors) * sum(1 for _ in itertools.combinations(range(n[1]), n[3]))


def place_triangle(a: float, b: float, c: float) -> np.ndarray:
    x = (a * a + c * c - b * b) / (2 * c)
    return np.array([[0, 0], [c, 0], [x, math.sqrt(a * a - x * x)]])


def triangle_area(_: str, n: list[int]) -> float:
    corners = place_triangle(*n)
    (x1, y1), (x2, y2) = corners[1] - corners[0], corners[2] - corners[0]
    return abs(x1 * y2 - x2 * y1) / 2


def inradius(_: str, n: list[int]) -> float:
    corners = place_triangle(*n)
    sides = [np.linalg.norm(corners[(i + 1) % 3] - corners[(i + 2) % 3]) for i in range(3)]
    centre = np.average(corners, axis=0, weights=sides)
    return float(centre[1])  # its distance from the side on the axis


def altitude_to_hypotenuse(_: str, n: list[int]) -> float:
    t = bisect(lambda s: s * n[1] * n[1] - (1 - s) * n[0] * n[0], 0, 1)  # foot on A + s(B - A)
    return math.hypot(n[0] * (1 - t), n[1] * t)


def cone_volume(_: str, n: list[int]) -> float:
    height = math.sqrt(n[1] ** 2 - n[0] ** 2)
    slices = (np.arange(100_000) + 0.5) / 100_000
    return float(np.mean(math.pi * (n[0] * slices) ** 2) * height)


def polynomial_remainder(prompt: str, _: list[int]) -> float:
    p, divisor = formulas(prompt)
    return float(np.polydiv(coefficients(p), coefficients(divisor))[1][-1])


def sum_of_powers(power: int) -> Check:
    def check(prompt: str, _: list[int]) -> complex:
        polynomial = next(f for f in formulas(prompt) if " = 0" in f or "x^{" in f)
        return complex((np.roots(coefficients(polynomial.split(" = ")[0])) ** power).sum())

    return check


def complex_quotient(prompt: str, _: list[int]) -> complex:
    top, bottom = re.findall(r"dfrac\{(.*?)\}\{(.*?)\}\$", prompt)[0]
    numbers = [
        complex(re.sub(r"(?<!\d)i", "1i", t.replace(" ", "")).replace("i", "j"))
        for t in (top, bottom)
    ]
    return numbers[0] / numbers[1]


def log_equation(_: str, n: list[int]) -> float:
    base, shift, power = n[0], n[2], n[3]
    return bisect(
        lambda t: math.log(t, base) + math.log(t - shift, base) - power, shift + 1e-9, 1e4
    )


def telescoping_sum(_: str, n: list[int]) -> Fraction:
    gap = n[2] - n[1]
    return sum((Fraction(1, k * (k + gap)) for k in range(1, n[-2] + 1)), Fraction(0))


def divisor_count(_: str, n: list[int]) -> int:
    return sum(n[0] % k == 0 for k in range(1, n[0] + 1))


def factorial_zeros(_: str, n: list[int]) -> int:
    digits = str(math.factorial(n[0]))
    return len(digits) - len(digits.rstrip("0"))


def smallest(test: Callable[[int], bool], start: int) -> int:
    return next(k for k in itertools.count(start) if test(k))


def common_remainder(_: str, n: list[int]) -> int:
    return smallest(lambda k: all(k % m == n[1] for m in n[2:]), n[0] + 1)


def three_remainders(_: str, n: list[int]) -> int:
    return smallest(lambda k: all(k % m == r for r, m in zip(n[::2], n[1::2], strict=True)), 1)


def divisible_by_either(_: str, n: list[int]) -> int:
    a, b, c = n[2:]
    return sum((k % a == 0 or k % b == 0) and k % c != 0 for k in range(1, n[1] + 1))


def least_common_multiple(_: str, n: list[int]) -> int:
    return smallest(lambda k: k % n[0] == 0 and k % n[1] == 0, 1)


def repeating_decimal(_: str, n: list[int]) -> float:
    return float("0." + str(n[1]) + str(n[2]) * 12)


def determinant(prompt: str, _: list[int]) -> float:
    rows = re.findall(r"vmatrix\} (.*?) \\end", prompt)[0].split(r"\\")
    return float(np.linalg.det([[int(cell) for cell in row.split("&")] for row in rows]))


def double_angle(prompt: str, n: list[int]) -> float:
    p, q = re.findall(r"frac\{(\d+)\}\{(\d+)\}", prompt)[0]
    theta = bisect(lambda t: math.sin(t) - int(p) / int(q), math.pi / 2, math.pi)
    return math.sin(2 * theta)


def complex_power(prompt: str, n: list[int]) -> complex:
    base = re.findall(r"left\((.*?)\\right", prompt)[0]
    return evaluate(base) ** n[-1]


def distance_to_plane(prompt: str, n: list[int]) -> float:
    left, right = formulas(prompt)[1].split(" = ")
    code = re.sub(r"(?<=\d) (?=[xyz])", "*", left)
    normal = np.array([eval(code, dict(zip("xyz", row, strict=True))) for row in np.eye(3)])
    point = np.array(n[:3], dtype=float)
    foot = point + (int(right) - normal @ point) / (normal @ normal) * normal
    assert abs(normal @ foot - int(right)) < 1e-9
    return float(np.linalg.norm(point - foot))


def triangle_in_space(_: str, n: list[int]) -> float:
    points = np.array(n, dtype=float).reshape(3, 3)
    a, b, c = (float(np.linalg.norm(points[i] - points[i - 1])) for i in range(3))
    s = (a + b + c) / 2
    return math.sqrt(s * (s - a) * (s - b) * (s - c))


CHECKS: dict[str, Check] = {
    "linear-equation": linear_equation,
    "line-intercept": line_intercept,
    "linear-system": linear_system,
    "roots-difference": roots_difference,
    "work-rate": work_rate,
    "inverse-function": inverse_function,
    "meals": lambda _, n: len(list(itertools.product(range(n[0] + 1), range(n[1]), range(n[2])))),
    "committee": committee,
    "dice-sum": dice_sum,
    "letter-arrangements": letter_arrangements,
    "same-colour": same_colour,
    "at-least-heads": at_least_heads,
    "paths-avoiding": paths_avoiding,
    "rectangle-perimeter": lambda _, n: 2 * n[1] + 2 * n[0] / n[1],
    "hypotenuse": lambda _, n: math.hypot(*n),
    "sector-area": lambda _, n: math.radians(n[1]) * n[0] ** 2 / 2,
    "triangle-area": triangle_area,
    "cone-volume": cone_volume,
    "altitude-to-hypotenuse": altitude_to_hypotenuse,
    "inradius": inradius,
    "polynomial-remainder": polynomial_remainder,
    "sum-of-squared-roots": sum_of_powers(2),
    "complex-quotient": complex_quotient,
    "log-equation": log_equation,
    "telescoping-sum": telescoping_sum,
    "sum-of-cubed-roots": sum_of_powers(3),
    "least-common-multiple": least_common_multiple,
    "divisor-count": divisor_count,
    "factorial-zeros": factorial_zeros,
    "power-remainder": lambda _, n: n[0] ** n[1] % n[2],
    "three-remainders": three_remainders,
    "divisible-by-either": divisible_by_either,
    "fraction-sum": lambda _, n: n[0] / n[1] + n[2] / n[3],
    "order-of-operations": lambda _, n: n[0] - n[1] * n[2] + n[3] * n[3],
    "two-price-changes": lambda _, n: n[0] * (1 + n[1] / 100) * (1 - n[2] / 100),
    "ratio-share": lambda _, n: n[0] / (n[1] + n[2]) * n[1] - n[0] / (n[1] + n[2]) * n[2],
    "average-with-new": lambda _, n: n[2] * (n[0] + 1) - n[1] * n[0],
    "common-remainder": common_remainder,
    "repeating-decimal": repeating_decimal,
    "dot-product": lambda _, n: float(np.dot(n[:3], n[3:])),
    "determinant": determinant,
    "double-angle": double_angle,
    "complex-power": complex_power,
    "distance-to-plane": distance_to_plane,
    "triangle-in-space": triangle_in_space,
}

OTHERWISE = {
    "absolute-inequality",
    "rational-inequality",
    "base-conversion",
    "polar-to-rectangular",
}
"""Answers that are no numbers; checked below."""


def numbers(prompt: str) -> list[int]:
    return [int(text) for text in re.findall(r"(?<![\w.])-?\d+|(?<=[{.^_])\d+|(?<=\$)\d+", prompt)]


def test_every_template_is_checked() -> None:
    assert {name_of(task) for task in TASKS} == CHECKS.keys() | OTHERWISE


def check_gold(name: str, prompt: str, written_gold: str) -> None:
    expected = complex(CHECKS[name](prompt, numbers(prompt)))  # type: ignore[call-overload]
    gold = evaluate(written_gold)
    tolerance = 1e-3 if name == "work-rate" else 1e-6
    assert abs(gold - expected) < tolerance * max(1, abs(gold)), (prompt, written_gold)


@pytest.mark.parametrize("name", list(CHECKS))
def test_gold_worked_out_another_way(name: str) -> None:
    tasks = [task for task in TASKS if name_of(task) == name]
    assert len(tasks) == 6
    for task in tasks:
        check_gold(name, task.prompt, task.gold)


@pytest.mark.slow
@pytest.mark.parametrize("name", [t.name for group in SUBJECTS.values() for t in group])
def test_ten_other_problems_of_each_template(name: str) -> None:
    template = next(t for group in SUBJECTS.values() for t in group if t.name == name)
    used: set[str] = set()
    for number in range(10):
        problem = draw(template, f"other/{number}", used)
        used.add(problem.prompt)
        check_sense(name, problem.prompt, write(problem.gold))
        check_answers([write(answer) for answer in (problem.gold, *problem.tempting)])
        if name in CHECKS:
            check_gold(name, problem.prompt, write(problem.gold))


# --- sensible problems ------------------------------------------------------------------------

POSITIVE = {
    "meals", "committee", "dice-sum", "letter-arrangements", "same-colour", "at-least-heads",
    "paths-avoiding", "rectangle-perimeter", "hypotenuse", "sector-area", "triangle-area",
    "cone-volume", "altitude-to-hypotenuse", "inradius", "roots-difference", "work-rate",
    "divisor-count", "factorial-zeros", "least-common-multiple", "three-remainders",
    "divisible-by-either", "fraction-sum", "two-price-changes", "ratio-share",
    "average-with-new", "common-remainder", "repeating-decimal", "distance-to-plane",
    "triangle-in-space",
}  # fmt: skip
"""Templates that ask for a length, a count, a price or a share: above 0, also by a slip."""

PROBABILITIES = {"dice-sum", "same-colour", "at-least-heads"}


def check_sense(name: str, prompt: str, gold: str) -> None:
    """Check the wording, and that the numbers are no degenerate case."""
    assert not re.search(r"(?<![\w.,$^{-])1 [a-z]+s\b(?! and)", prompt), prompt  # "1 apples"
    assert not re.search(r"\}\{0\}|\+ -|- -|\b(?:nan|oo|zoo)\b", prompt + gold), prompt
    if name in POSITIVE:
        assert evaluate(gold).real > 0, prompt
    if name in PROBABILITIES:
        assert evaluate(gold).real < 1, prompt
    n = numbers(prompt)
    if name == "average-with-new":
        assert evaluate(gold).real <= 100, prompt
    if name == "line-intercept":
        assert n[0] * n[2] != 0 and n[1] != n[3], prompt
    if name == "least-common-multiple":
        assert n[1] % n[0] != 0, prompt
    if name == "power-remainder":
        assert n[0] % n[2] > 1, prompt
    if name in ("triangle-area", "inradius"):
        assert n[0] + n[1] > n[2], prompt


def check_answers(answers: Sequence[str]) -> None:
    """Check that no two of the answers are the same number, point, set or expression."""
    if not re.search(r"[(\[]|_\{", answers[0]):
        values = [evaluate(answer) for answer in answers]
        assert all(abs(a - b) > 1e-9 for a, b in itertools.combinations(values, 2)), answers
        return
    for one, other in itertools.combinations(answers, 2):
        assert maths_verdict(one, other) == "different", (one, other)


def test_shipped_problems_make_sense() -> None:
    for task in TASKS:
        check_sense(name_of(task), task.prompt, task.gold)


def test_slips_could_be_answers() -> None:
    for task in TASKS:
        if name_of(task) in POSITIVE:
            assert all(evaluate(slip).real > 0 for slip in task.tempting), task.id


def inside(answer: str, t: float) -> bool:
    """Tell whether ``t`` is in an interval or a union of intervals, read from LaTeX."""
    for part in answer.split(r"\cup"):
        left, low, high, right = re.fullmatch(r"\s*([\[(])(.*), (.*)([\])])\s*", part).groups()  # type: ignore[union-attr]
        a = -math.inf if "infty" in low else evaluate(low).real
        b = math.inf if "infty" in high else evaluate(high).real
        if a < t < b or (left == "[" and abs(t - a) < 1e-9) or (right == "]" and abs(t - b) < 1e-9):
            return True
    return False


def test_intervals_hold_the_solutions_and_no_more() -> None:
    grid = [Fraction(k, 60) for k in range(-1500, 1501)]  # holds all ends: denominators to 6
    for task in TASKS:
        if name_of(task) == "absolute-inequality":
            linear, bound = re.findall(r"\|(.*?)\| \\le (\d+)", task.prompt)[0]
            f = function_of(linear)
            solutions = {t: abs(f(t)) <= int(bound) for t in grid}
        elif name_of(task) == "rational-inequality":
            top, bottom = map(function_of, re.findall(r"dfrac\{(.*?)\}\{(.*?)\}", task.prompt)[0])
            solutions = {t: bottom(t) != 0 and top(t) / bottom(t) >= 0 for t in grid}
        else:
            continue
        for t, solves in solutions.items():
            assert inside(task.gold, float(t)) == solves, (task.prompt, t)


def test_base_conversion_reads_back() -> None:
    for task in (task for task in TASKS if name_of(task) == "base-conversion"):
        number = int(re.findall(r"number (\d+) in", task.prompt)[0])
        digits, base = re.fullmatch(r"(\d+)_\{(\d+)\}", task.gold).groups()  # type: ignore[union-attr]
        assert int(digits, int(base)) == number
        for slip in task.tempting:
            wrong, same_base = slip.rstrip("}").split("_{")
            assert same_base == base and int(wrong, int(base)) != number


def test_polar_coordinates_turn_back() -> None:
    for task in (task for task in TASKS if name_of(task) == "polar-to-rectangular"):
        r, angle = re.findall(r"= \\left\((\d+), (.*?)\\right\)", task.prompt)[0]
        x, y = (evaluate(part).real for part in task.gold[1:-1].split(", "))
        theta = evaluate(angle).real
        assert abs(x - int(r) * math.cos(theta)) + abs(y - int(r) * math.sin(theta)) < 1e-9
