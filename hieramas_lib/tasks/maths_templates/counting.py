"""Counting and probability."""

from collections import Counter
from math import comb, factorial, perm, prod
from random import Random

from sympy import Rational

from hieramas_lib.tasks.maths_templates.template import Problem, Template

_WORDS = (
    "BANANA", "PEPPER", "COFFEE", "LETTER", "BALLOON", "SUCCESS", "CHEESE", "TATTOO", "ASSESS",
    "PARALLEL", "COMMITTEE", "ADDRESS", "CANADA", "ALASKA",
)  # fmt: skip


def _meals(rng: Random) -> Problem:
    a, b, c = rng.randint(2, 6), rng.randint(3, 9), rng.randint(2, 7)
    prompt = (
        f"A café offers {a} starters, {b} main dishes and {c} desserts. A meal is one main dish "
        "and one dessert, with or without one starter. How many different meals can be ordered?"
    )
    return Problem(prompt, (a + 1) * b * c, (a * b * c, b * c, a + b + c))


def _committee(rng: Random) -> Problem:
    m, w = rng.randint(5, 9), rng.randint(5, 9)
    i, j = rng.randint(2, 4), rng.randint(2, 4)
    prompt = (
        f"A club has {m} juniors and {w} seniors. In how many ways can it choose a committee of "
        f"{i} juniors and {j} seniors?"
    )
    slips = (comb(m + w, i + j), comb(m, i) + comb(w, j), perm(m, i) * perm(w, j))
    return Problem(prompt, comb(m, i) * comb(w, j), slips)


def _dice_sum(rng: Random) -> Problem:
    n = rng.choice([4, 6, 8, 10, 12])
    total = rng.randint(4, 2 * n - 2)
    prompt = (
        f"Two fair {n}-sided dice, each numbered from 1 to {n}, are rolled. What is the "
        f"probability that the two numbers add up to {total}?"
    )
    ways = n - abs(total - n - 1)
    slips = (Rational(1, 2 * n - 1), Rational((ways + 1) // 2, n * n), Rational(ways - 1, n * n))
    return Problem(prompt, Rational(ways, n * n), slips)


def _letter_arrangements(rng: Random) -> Problem:
    word = rng.choice(_WORDS)
    prompt = f"In how many different ways can the letters of the word {word} be arranged in a row?"
    repeats = sorted((factorial(k) for k in Counter(word).values() if k > 1), reverse=True)
    total = factorial(len(word))
    slips = (total // repeats[0], total, total // (2 * prod(repeats)), total // sum(repeats))
    return Problem(prompt, total // prod(repeats), slips)


def _same_colour(rng: Random) -> Problem:
    r, b = rng.randint(3, 9), rng.randint(3, 9)
    n = r + b
    prompt = (
        f"A bag holds {r} red balls and {b} blue balls. Two balls are drawn at random without "
        "replacement. What is the probability that they have the same colour?"
    )
    slips = (
        Rational(r * r + b * b, n * n),
        Rational(2 * r * b, n * (n - 1)),
        Rational(comb(r, 2), comb(n, 2)),
    )
    return Problem(prompt, Rational(comb(r, 2) + comb(b, 2), comb(n, 2)), slips)


def _at_least_heads(rng: Random) -> Problem:
    n = rng.randint(5, 9)
    k = rng.randint(n // 2, n - 2)
    prompt = (
        f"A fair coin is tossed {n} times. "
        f"What is the probability that it lands heads at least {k} times?"
    )
    ways = [comb(n, i) for i in range(n + 1)]
    slips = (sum(ways[k + 1 :]), ways[k], sum(ways[: k + 1]))
    gold = Rational(sum(ways[k:]), 2**n)
    return Problem(prompt, gold, tuple(Rational(slip, 2**n) for slip in slips))


def _paths_avoiding(rng: Random) -> Problem:
    m, n = rng.randint(4, 8), rng.randint(4, 8)
    a, b = rng.randint(1, m - 1), rng.randint(1, n - 1)
    prompt = (
        f"A robot walks on a grid from $(0, 0)$ to $({m}, {n})$, at each step one unit to the "
        f"right or one unit up. How many of its paths do not pass through the point $({a}, {b})$?"
    )
    total = comb(m + n, m)
    before, after = comb(a + b, a), comb(m + n - a - b, m - a)
    slips = (total, before * after, total - before - after, total - before)
    return Problem(prompt, total - before * after, slips)


TEMPLATES = (
    Template("meals", 1, _meals),
    Template("committee", 2, _committee),
    Template("dice-sum", 2, _dice_sum),
    Template("letter-arrangements", 3, _letter_arrangements),
    Template("same-colour", 3, _same_colour),
    Template("at-least-heads", 4, _at_least_heads),
    Template("paths-avoiding", 5, _paths_avoiding),
)
