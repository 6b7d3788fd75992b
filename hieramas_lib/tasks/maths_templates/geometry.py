"""Geometry."""

from random import Random

from sympy import Rational, pi, sqrt

from hieramas_lib.tasks.maths_templates.template import Problem, Template


def _rectangle_perimeter(rng: Random) -> Problem:
    a, b = rng.sample(range(3, 25), 2)
    prompt = (
        f"A rectangle has an area of {a * b} square centimetres, and one of its sides is {a} "
        "centimetres long. What is its perimeter, in centimetres?"
    )
    return Problem(prompt, 2 * (a + b), (a + b, b, 4 * a))


def _hypotenuse(rng: Random) -> Problem:
    a, b = sorted(rng.sample(range(2, 15), 2))
    prompt = (
        f"The legs of a right triangle are {a} and {b} units long. "
        "How long is its hypotenuse? Give an exact answer in simplest form."
    )
    return Problem(prompt, sqrt(a * a + b * b), (sqrt(b * b - a * a), a + b, a * a + b * b))


def _sector_area(rng: Random) -> Problem:
    r, angle = rng.randint(3, 15), 15 * rng.choice([2, 3, 4, 5, 6, 8, 9, 10, 14, 16, 20])
    prompt = (
        f"A sector of a circle of radius {r} has a central angle of {angle} degrees. "
        "What is the area of the sector? Express your answer in terms of $\\pi$."
    )
    gold = pi * Rational(angle * r * r, 360)
    return Problem(prompt, gold, (pi * Rational(angle * 2 * r, 360), 2 * gold, pi * r * r - gold))


def _triangle_area(rng: Random) -> Problem:
    a, b, c = sorted(rng.sample(range(4, 15), 3))
    if a + b <= c:
        return _triangle_area(rng)
    prompt = (
        f"What is the area of a triangle with sides of length {a}, {b} and {c}? "
        "Give an exact answer in simplest form."
    )
    s = Rational(a + b + c, 2)
    gold = sqrt(s * (s - a) * (s - b) * (s - c))
    slips = (Rational(a * b, 2), sqrt((s - a) * (s - b) * (s - c)), 4 * gold, 2 * gold)
    return Problem(prompt, gold, slips)


def _cone_volume(rng: Random) -> Problem:
    r, slant = sorted(rng.sample(range(2, 16), 2))
    prompt = (
        f"A right circular cone has a base of radius {r}, and its slant height is {slant}. "
        "What is its volume? Express your answer in terms of $\\pi$."
    )
    gold = pi * r * r * sqrt(slant**2 - r**2) / 3
    slips = (pi * Rational(r * r * slant, 3), 3 * gold, pi * r * slant)
    return Problem(prompt, gold, slips)


def _altitude_to_hypotenuse(rng: Random) -> Problem:
    a, b = sorted(rng.sample(range(2, 16), 2))
    prompt = (
        f"In right triangle $ABC$ with the right angle at $C$, $AC = {a}$ and $BC = {b}$. "
        "The foot of the altitude from $C$ is $H$. What is $CH$?"
    )
    hypotenuse = sqrt(a * a + b * b)
    return Problem(prompt, a * b / hypotenuse, (hypotenuse / 2, sqrt(a * b), Rational(a * b, 2)))


def _inradius(rng: Random) -> Problem:
    a, b, c = sorted(rng.sample(range(5, 18), 3))
    if a + b <= c:
        return _inradius(rng)
    prompt = (
        f"A triangle has sides of length {a}, {b} and {c}. What is the radius of the circle that "
        "touches all three sides from the inside?"
    )
    s = Rational(a + b + c, 2)
    area = sqrt(s * (s - a) * (s - b) * (s - c))
    return Problem(prompt, area / s, (a * b * c / (4 * area), area / (2 * s), 2 * area / s))


TEMPLATES = (
    Template("rectangle-perimeter", 1, _rectangle_perimeter),
    Template("hypotenuse", 2, _hypotenuse),
    Template("sector-area", 3, _sector_area),
    Template("triangle-area", 3, _triangle_area),
    Template("cone-volume", 4, _cone_volume),
    Template("altitude-to-hypotenuse", 4, _altitude_to_hypotenuse),
    Template("inradius", 5, _inradius),
)
