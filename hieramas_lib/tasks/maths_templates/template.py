"""What a template is, and how a problem drawn from it is checked and written down."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TypeAlias

import sympy

Answer: TypeAlias = "int | str | sympy.Basic"
"""A number, an expression, a set or a point; a string is LaTeX that is compared as written."""

MIN_TEMPTING, MAX_TEMPTING = 2, 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its text, its answer, and what typical slips give, likeliest first."""

    prompt: str
    gold: Answer
    tempting: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A family of problems that differ in their numbers; ``make`` draws one."""

    name: str
    level: int
    make: Callable[[Random], Problem]


def draw(template: Template, seed: str, used: set[str]) -> Problem:
    """Draw a problem whose prompt is not in ``used`` and whose wrong answers are wrong.

    Draws in which a slip leads to the right answer, or too few slips differ, are put back.

    Raises:
        RuntimeError: 500 draws gave none; the template is at fault.
    """
    rng = Random(seed)
    for _ in range(500):
        problem = template.make(rng)
        tempting = _distinct_slips(problem)
        if problem.prompt not in used and len(tempting) >= MIN_TEMPTING:
            return Problem(problem.prompt, problem.gold, tempting[:MAX_TEMPTING])
    raise RuntimeError(f"template {template.name!r} gives too few distinct problems")


def _distinct_slips(problem: Problem) -> tuple[Answer, ...]:
    kept: list[Answer] = []
    for slip in problem.tempting:
        if not any(is_same(slip, other) for other in (problem.gold, *kept)):
            kept.append(slip)
    return tuple(kept)


def is_same(one: Answer, other: Answer) -> bool:
    """Tell whether two answers are equal as mathematics."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    a, b = sympy.sympify(one), sympy.sympify(other)
    if isinstance(a, sympy.Expr) and isinstance(b, sympy.Expr):
        return bool(sympy.simplify(a - b) == 0)
    return bool(a == b)


def write(answer: Answer) -> str:
    """Write an answer in LaTeX."""
    if isinstance(answer, str):
        return answer
    value = sympy.sympify(answer)
    if isinstance(value, sympy.Tuple):
        return "(" + ", ".join(write(part) for part in value) + ")"
    text = sympy.latex(value).replace(r"\left", "").replace(r"\right", "")
    return re.sub(r"(^|[(\[] ?|, )- ", r"\1-", text)


def nonzero(rng: Random, low: int, high: int) -> int:
    """Draw an integer from ``low`` to ``high`` that is not 0."""
    return rng.choice([value for value in range(low, high + 1) if value])


def coprime_pairs(low: int, high: int) -> list[tuple[int, int]]:
    """Return all pairs from ``low`` to ``high`` without a common factor, smaller first."""
    values = range(low, high + 1)
    return [(a, b) for a, b in combinations(values, 2) if sympy.gcd(a, b) == 1]
