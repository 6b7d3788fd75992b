"""Prealgebra."""

from math import gcd, lcm
from random import Random

from sympy import Rational

from hieramas_lib.tasks.maths_templates.template import Problem, Template, coprime_pairs


def _fraction_sum(rng: Random) -> Problem:
    (a, b), (c, d) = rng.sample(coprime_pairs(1, 12), 2)
    prompt = (
        f"What is $\\frac{{{a}}}{{{b}}} + \\frac{{{c}}}{{{d}}}$? "
        "Express your answer as a common fraction in lowest terms."
    )
    slips = (Rational(a + c, b + d), Rational(a + c, b * d), Rational(a * c, b * d))
    return Problem(prompt, Rational(a, b) + Rational(c, d), slips)


def _order_of_operations(rng: Random) -> Problem:
    a, b, c, d = rng.randint(20, 90), rng.randint(2, 9), rng.randint(2, 9), rng.randint(3, 9)
    prompt = f"Evaluate ${a} - {b} \\times {c} + {d}^2$."
    slips = ((a - b) * c + d**2, a - (b * c + d**2), a - b * c + 2 * d)
    return Problem(prompt, a - b * c + d**2, slips)


def _two_price_changes(rng: Random) -> Problem:
    price, up, down = 100 * rng.randint(1, 12), 10 * rng.randint(1, 6), 10 * rng.randint(1, 6)
    item = rng.choice(["bicycle", "coat", "guitar", "desk", "camera"])
    prompt = (
        f"The price of a {item} was \\${price}. First it was raised by {up}\\%, and later the new "
        f"price was lowered by {down}\\%. What was the price in dollars after both changes?"
    )
    slips = (
        Rational(price * (100 + up - down), 100),
        Rational(price * (100 + up), 100) - down,
        Rational(price * (100 - up) * (100 + down), 10_000),
    )
    return Problem(prompt, Rational(price * (100 + up) * (100 - down), 10_000), slips)


def _ratio_share(rng: Random) -> Problem:
    b, a = rng.choice(coprime_pairs(2, 11))
    total = (a + b) * rng.randint(3, 15)
    one, other = rng.choice([("red", "blue"), ("green", "yellow"), ("black", "white")])
    prompt = (
        f"A jar holds only {one} and {other} marbles, {total} in all. The ratio of {one} to "
        f"{other} marbles is ${a}:{b}$. How many more {one} than {other} marbles are there?"
    )
    part = total // (a + b)
    return Problem(prompt, part * (a - b), (part * a, part * b, a - b))


def _average_with_new(rng: Random) -> Problem:
    n, mean = rng.randint(4, 12), rng.randint(50, 90)
    new_mean = mean + rng.choice([-4, -3, -2, -1, 1, 2, 3, 4])
    name = rng.choice(["Ana", "Ben", "Chidi", "Dora", "Emre", "Farah"])
    prompt = (
        f"After {n} tests {name} had an average score of {mean}. One more test changed the "
        f"average to {new_mean}. What was the score on that test?"
    )
    score = new_mean * (n + 1) - mean * n
    if not 0 < score <= 100:
        return _average_with_new(rng)
    slips = (2 * new_mean - mean, n * (new_mean - mean) + mean, new_mean * n - mean * (n - 1))
    return Problem(prompt, score, slips)


def _common_remainder(rng: Random) -> Problem:
    a, b, c = sorted(rng.sample(range(4, 19), 3))
    r = rng.randint(1, a - 1)
    if lcm(a, b, c) == a * b * c:
        return _common_remainder(rng)
    prompt = (
        f"What is the smallest integer greater than {r} that leaves a remainder of {r} "
        f"when divided by each of {a}, {b} and {c}?"
    )
    multiple = lcm(a, b, c)
    slips = (a * b * c + r, multiple, multiple - r, gcd(a, b, c) + r)
    return Problem(prompt, multiple + r, slips)


def _repeating_decimal(rng: Random) -> Problem:
    first, pair = rng.randint(1, 9), rng.choice([p for p in range(10, 99) if p % 11])
    prompt = (
        f"Write the repeating decimal $0.{first}\\overline{{{pair}}}$ "
        "as a common fraction in lowest terms."
    )
    digits = 100 * first + pair
    slips = (Rational(digits, 999), Rational(digits, 990), Rational(digits, 1000))
    return Problem(prompt, Rational(digits - first, 990), slips)


TEMPLATES = (
    Template("fraction-sum", 1, _fraction_sum),
    Template("order-of-operations", 1, _order_of_operations),
    Template("two-price-changes", 2, _two_price_changes),
    Template("ratio-share", 2, _ratio_share),
    Template("average-with-new", 3, _average_with_new),
    Template("common-remainder", 4, _common_remainder),
    Template("repeating-decimal", 5, _repeating_decimal),
)
