"""Intermediate algebra."""

from random import Random

import sympy
from sympy import I, Interval, Rational, Union, latex, oo

from hieramas_lib.tasks.maths_templates.template import Problem, Template, nonzero

x = sympy.Symbol("x")

_LOG_POWERS = ((2, 3), (2, 4), (2, 5), (2, 6), (3, 2), (3, 3), (6, 2), (10, 2), (12, 2))


def _polynomial_remainder(rng: Random) -> Problem:
    a, b, c, d = rng.randint(1, 4), nonzero(rng, -6, 6), nonzero(rng, -9, 9), nonzero(rng, -12, 12)
    r = rng.choice([-4, -3, -2, 2, 3, 4])
    p = a * x**3 + b * x**2 + c * x + d
    prompt = f"What is the remainder when ${latex(p)}$ is divided by ${latex(x - r)}$?"
    return Problem(prompt, p.subs(x, r), (p.subs(x, -r), d, a + b + c + d))


def _sum_of_squared_roots(rng: Random) -> Problem:
    b, c = nonzero(rng, -12, 12), nonzero(rng, -15, 15)
    prompt = (
        f"Let $r$ and $s$ be the two (possibly complex) roots of ${latex(x**2 + b * x + c)} = 0$. "
        "What is $r^2 + s^2$?"
    )
    return Problem(prompt, b * b - 2 * c, (b * b + 2 * c, b * b, b * b - 4 * c))


def _complex_quotient(rng: Random) -> Problem:
    a, b, c, d = (nonzero(rng, -9, 9) for _ in range(4))
    prompt = (
        f"Write $\\dfrac{{{latex(a + b * I)}}}{{{latex(c + d * I)}}}$ in the form $p + qi$, "
        "with real $p$ and $q$."
    )
    norm = c * c + d * d
    gold = Rational(a * c + b * d, norm) + I * Rational(b * c - a * d, norm)
    slips = (
        Rational(a * c - b * d, norm) + I * Rational(b * c + a * d, norm),
        sympy.conjugate(gold),
        Rational(a, c) + I * Rational(b, d),
    )
    return Problem(prompt, gold, slips)


def _log_equation(rng: Random) -> Problem:
    base, power = rng.choice(_LOG_POWERS)
    value = base**power
    root = rng.choice([t for t in sympy.divisors(value) if t * t > value])
    k = root - value // root
    prompt = f"Solve $\\log_{{{base}}} x + \\log_{{{base}}} (x - {k}) = {power}$ for real $x$."
    slips = (-value // root, Rational(value + k, 2), value + k, Rational(base * power + k, 2))
    return Problem(prompt, root, slips)


def _rational_inequality(rng: Random) -> Problem:
    a, b = rng.sample(range(-9, 10), 2)
    low, high = min(a, b), max(a, b)
    prompt = (
        f"Solve $\\dfrac{{{latex(x - a)}}}{{{latex(x - b)}}} \\ge 0$ over the real numbers. "
        "Give your answer in interval notation."
    )
    gold = Union(Interval(-oo, low, True, low == b), Interval(high, oo, high == b, True))
    slips = (
        Union(Interval(-oo, low), Interval(high, oo)),
        Interval(a, oo),
        Interval(low, high, low == b, high == b),
    )
    return Problem(prompt, gold, slips)


def _telescoping_sum(rng: Random) -> Problem:
    d, n = rng.randint(2, 4), rng.randint(5, 20)
    terms = " + ".join(f"\\frac{{1}}{{{k} \\cdot {k + d}}}" for k in (1, 2, 3))
    prompt = f"Compute\n\\[{terms} + \\cdots + \\frac{{1}}{{{n} \\cdot {n + d}}}.\\]"
    gold = sum((Rational(1, k * (k + d)) for k in range(1, n + 1)), Rational(0))
    slips = (d * gold, Rational(n, d * (n + d)), Rational(n, n + 1), Rational(n, n + d))
    return Problem(prompt, gold, slips)


def _sum_of_cubed_roots(rng: Random) -> Problem:
    a, b, c = nonzero(rng, -6, 6), nonzero(rng, -8, 8), nonzero(rng, -9, 9)
    prompt = (
        "Let $r$, $s$ and $t$ be the (possibly complex) roots of "
        f"${latex(x**3 + a * x**2 + b * x + c)} = 0$. What is $r^3 + s^3 + t^3$?"
    )
    # Newton: p3 = e1^3 - 3 e1 e2 + 3 e3, with e1 = -a, e2 = b, e3 = -c.
    slips = (a**3 - 3 * a * b + 3 * c, -(a**3) + 3 * a * b, -(a**3) + 3 * a * b + 3 * c, -(a**3))
    return Problem(prompt, -(a**3) + 3 * a * b - 3 * c, slips)


TEMPLATES = (
    Template("polynomial-remainder", 1, _polynomial_remainder),
    Template("sum-of-squared-roots", 2, _sum_of_squared_roots),
    Template("complex-quotient", 3, _complex_quotient),
    Template("log-equation", 3, _log_equation),
    Template("rational-inequality", 4, _rational_inequality),
    Template("telescoping-sum", 4, _telescoping_sum),
    Template("sum-of-cubed-roots", 5, _sum_of_cubed_roots),
)
