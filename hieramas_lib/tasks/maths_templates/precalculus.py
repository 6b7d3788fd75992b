"""Precalculus."""

from random import Random

import sympy
from sympy import I, Matrix, Rational, Tuple, cos, latex, pi, sin, sqrt

from hieramas_lib.tasks.maths_templates.template import Problem, Template, nonzero

x, y, z = sympy.symbols("x y z")

_ANGLES = tuple(Rational(k, 6) for k in (1, 2, 4, 5, 7, 8, 10, 11)) + tuple(
    Rational(k, 4) for k in (1, 3, 5, 7)
)


def _dot_product(rng: Random) -> Problem:
    u, v = ([nonzero(rng, -9, 9) for _ in range(3)] for _ in range(2))
    columns = [r" \\ ".join(map(str, vector)) for vector in (u, v)]
    left, right = (f"\\begin{{pmatrix}} {column} \\end{{pmatrix}}" for column in columns)
    prompt = f"Compute the dot product\n\\[{left} \\cdot {right}.\\]"
    products = [a * b for a, b in zip(u, v, strict=True)]
    signs = products[0] - products[1] + products[2]
    return Problem(prompt, sum(products), (signs, sum(map(abs, products)), sum(u) + sum(v)))


def _polar_to_rectangular(rng: Random) -> Problem:
    r = rng.randint(2, 12)
    angle = pi * rng.choice(_ANGLES)
    prompt = (
        f"Convert the polar coordinates $(r, \\theta) = \\left({r}, {latex(angle)}\\right)$ "
        "to rectangular coordinates $(x, y)$."
    )
    across, up = r * cos(angle), r * sin(angle)
    slips = (Tuple(up, across), Tuple(-across, up), Tuple(across, -up))
    return Problem(prompt, Tuple(across, up), slips)


def _determinant(rng: Random) -> Problem:
    matrix = Matrix(3, 3, [rng.randint(-5, 6) for _ in range(9)])
    body = r" \\ ".join(" & ".join(map(str, matrix.row(i))) for i in range(3))
    prompt = f"Compute the determinant\n\\[\\begin{{vmatrix}} {body} \\end{{vmatrix}}.\\]"
    wrapped = [matrix[0, i] * matrix[1, (i + 1) % 3] * matrix[2, (i + 2) % 3] for i in range(3)]
    gold = matrix.det()
    minors = [matrix[0, i] * matrix.minor(0, i) for i in range(3)]
    return Problem(prompt, gold, (sum(minors), sum(wrapped), -gold))


def _double_angle(rng: Random) -> Problem:
    p, q = sorted(rng.sample(range(1, 14), 2))
    if sympy.gcd(p, q) != 1:
        return _double_angle(rng)
    prompt = (
        f"Suppose that $\\sin \\theta = {latex(Rational(p, q))}$ and that "
        "$90^\\circ < \\theta < 180^\\circ$. What is $\\sin 2\\theta$?"
    )
    cosine = -sqrt(1 - Rational(p, q) ** 2)
    gold = 2 * Rational(p, q) * cosine
    return Problem(prompt, gold, (-gold, 2 * Rational(p, q), gold / 2, 1 - 2 * Rational(p, q) ** 2))


def _complex_base(rng: Random) -> sympy.Expr:
    across, up = rng.choice([(1, 1), (sqrt(3), 1), (1, sqrt(3))])
    return rng.choice([-1, 1]) * across + rng.choice([-1, 1]) * up * I


def _complex_power(rng: Random) -> Problem:
    base = _complex_base(rng)
    n = rng.randint(4, 11)
    prompt = (
        f"Evaluate $\\left({latex(base)}\\right)^{{{n}}}$. Write your answer in the form $a + bi$."
    )
    gold = sympy.expand(base**n)
    size = sympy.expand(abs(base) ** n)
    termwise = sympy.expand(sympy.re(base) ** n + (I * sympy.im(base)) ** n)
    slips = (sympy.conjugate(gold), -gold, size, termwise)
    return Problem(prompt, gold, slips)


def _distance_to_plane(rng: Random) -> Problem:
    normal = [nonzero(rng, -6, 6) for _ in range(3)]
    point = [rng.randint(-7, 7) for _ in range(3)]
    d = nonzero(rng, -15, 15)
    plane = normal[0] * x + normal[1] * y + normal[2] * z
    prompt = (
        f"Find the distance from the point $({point[0]}, {point[1]}, {point[2]})$ "
        f"to the plane ${latex(plane)} = {d}$."
    )
    value = sum(a * b for a, b in zip(normal, point, strict=True))
    if value == d:
        return _distance_to_plane(rng)
    length = sqrt(sum(a * a for a in normal))
    slips = (abs(value + d) / length, abs(value) / length, sympy.Integer(abs(value - d)))
    return Problem(prompt, abs(value - d) / length, tuple(slip for slip in slips if slip))


def _triangle_in_space(rng: Random) -> Problem:
    a, b, c = (Matrix([rng.randint(-4, 5) for _ in range(3)]) for _ in range(3))
    vertices = zip("ABC", (a, b, c), strict=True)
    listed = ", ".join(f"${name} = ({p[0]}, {p[1]}, {p[2]})$" for name, p in vertices)
    prompt = f"What is the area of the triangle with vertices {listed}?"
    cross = (b - a).cross(c - a)
    length = cross.norm()
    if length == 0:
        return _triangle_in_space(rng)
    dot = Rational(abs((b - a).dot(c - a)), 2)
    slips = (length, b.cross(c).norm() / 2, dot, length**2 / 2)
    return Problem(prompt, length / 2, tuple(slip for slip in slips if slip))


TEMPLATES = (
    Template("dot-product", 1, _dot_product),
    Template("polar-to-rectangular", 2, _polar_to_rectangular),
    Template("determinant", 3, _determinant),
    Template("double-angle", 3, _double_angle),
    Template("complex-power", 4, _complex_power),
    Template("distance-to-plane", 4, _distance_to_plane),
    Template("triangle-in-space", 5, _triangle_in_space),
)
