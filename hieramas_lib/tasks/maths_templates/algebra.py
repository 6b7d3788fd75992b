"""Algebra."""

from random import Random

import sympy
from sympy import Rational, latex, sqrt

from hieramas_lib.tasks.maths_templates.template import Problem, Template, nonzero

x, y = sympy.symbols("x y")


def _linear_equation(rng: Random) -> Problem:
    a, c = rng.sample(range(2, 13), 2)
    b, d = nonzero(rng, -20, 20), nonzero(rng, -20, 20)
    prompt = f"Solve for $x$: ${latex(a * x + b)} = {latex(c * x + d)}$."
    gold = Rational(d - b, a - c)
    return Problem(prompt, gold, (Rational(d + b, a - c), Rational(d - b, a + c), -gold))


def _line_intercept(rng: Random) -> Problem:
    (x1, x2), (y1, y2) = rng.sample(range(-8, 9), 2), rng.sample(range(-9, 10), 2)
    if x1 * x2 == 0:  # the answer would be read off a point
        return _line_intercept(rng)
    slope = Rational(y2 - y1, x2 - x1)
    prompt = (
        f"A line passes through the points $({x1}, {y1})$ and $({x2}, {y2})$. "
        "At what value of $y$ does it cross the $y$-axis?"
    )
    return Problem(prompt, y1 - slope * x1, (y1 + slope * x1, y1 - x1 / slope, slope))


def _linear_system(rng: Random) -> Problem:
    u, v = nonzero(rng, -9, 9), nonzero(rng, -9, 9)
    a, d = rng.randint(2, 7), rng.randint(2, 7)
    b, c = nonzero(rng, -6, 6), nonzero(rng, -6, 6)
    if a * d == b * c:
        return _linear_system(rng)
    first, second = a * x + b * y, c * x + d * y
    at = {x: u, y: v}
    prompt = (
        "Real numbers $x$ and $y$ satisfy\n"
        f"\\[{latex(first)} = {first.subs(at)}, \\qquad {latex(second)} = {second.subs(at)}.\\]\n"
        "What is $x + y$?"
    )
    return Problem(prompt, u + v, (u - v, u * v, u, v))


def _absolute_inequality(rng: Random) -> Problem:
    a, b, c = rng.randint(2, 6), nonzero(rng, -11, 11), rng.randint(3, 19)
    low, high = Rational(-c - b, a), Rational(c - b, a)
    prompt = (
        f"Find all real $x$ with $|{latex(a * x + b)}| \\le {c}$. "
        "Give your answer in interval notation."
    )
    slips = (
        sympy.Interval.open(low, high),
        sympy.Interval(sympy.Min(-high, -low), sympy.Max(-high, -low)),
        sympy.Interval(-sympy.oo, high),
    )
    return Problem(prompt, sympy.Interval(low, high), slips)


def _roots_difference(rng: Random) -> Problem:
    a, b, c = rng.randint(1, 5), nonzero(rng, -13, 13), nonzero(rng, -9, 9)
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:
        return _roots_difference(rng)
    prompt = (
        "What is the positive difference between the two solutions of "
        f"${latex(a * x**2 + b * x + c)} = 0$?"
    )
    gold = sqrt(discriminant) / a
    sign_slip = sqrt(abs(b * b + 4 * a * c)) / a
    slips = (gold / 2, sqrt(discriminant) * a, sign_slip, Rational(abs(b), a))
    return Problem(prompt, gold, slips)


def _work_rate(rng: Random) -> Problem:
    a, b = rng.sample(range(3, 25), 2)
    worker, job = rng.choice([("crew", "fence"), ("printer", "order"), ("machine", "batch")])
    second = f"a second {worker} needs {b} hours for the same {job}"
    prompt = (
        f"One {worker} alone finishes a certain {job} in {a} hours, and {second}. "
        f"They start together, but the first {worker} stops when half of the {job} is done. "
        f"How many hours does the whole {job} take?"
    )
    together = Rational(a * b, a + b)
    gold = together / 2 + Rational(b, 2)
    slips = (together, together / 2 + Rational(a, 2), Rational(a + b, 2), together / 2 + b)
    return Problem(prompt, gold, slips)


def _inverse_function(rng: Random) -> Problem:
    a, c, k = rng.randint(2, 7), rng.randint(1, 5), nonzero(rng, -6, 6)
    b, d = nonzero(rng, -9, 9), nonzero(rng, -9, 9)
    if a == c * k or a * d == b * c or c * k + d == 0:
        return _inverse_function(rng)
    prompt = (
        f"Let $f(x) = \\dfrac{{{latex(a * x + b)}}}{{{latex(c * x + d)}}}$, "
        f"and let $f^{{-1}}$ be its inverse. Find $f^{{-1}}({k})$."
    )
    value = Rational(a * k + b, c * k + d)
    slips = [Rational(d * k + b, a - c * k), value, -Rational(d * k - b, a - c * k)]
    slips += [1 / value] if value else []
    return Problem(prompt, Rational(d * k - b, a - c * k), tuple(slips))


TEMPLATES = (
    Template("linear-equation", 1, _linear_equation),
    Template("line-intercept", 2, _line_intercept),
    Template("linear-system", 3, _linear_system),
    Template("absolute-inequality", 3, _absolute_inequality),
    Template("roots-difference", 4, _roots_difference),
    Template("work-rate", 4, _work_rate),
    Template("inverse-function", 5, _inverse_function),
)
