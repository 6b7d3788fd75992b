"""Random numbers that belong to names: the same names give the same number, in any order.

A draw is a hash of its names, so that adding a question or an LLM to a simulated world
changes no draw of another one, and every process sees the same world.
"""

from functools import lru_cache
from hashlib import blake2b
from math import exp, log
from statistics import NormalDist

_NORMAL = NormalDist()
_STEP = 2.0**-52


def uniforms(count: int, *names: object) -> tuple[float, ...]:
    """Return ``count`` (at most 8) independent uniform draws in (0, 1) for ``names``."""
    text = "\x1f".join(map(str, names))
    digest = blake2b(text.encode(), digest_size=8 * count).digest()
    words = (int.from_bytes(digest[i : i + 8], "big") for i in range(0, 8 * count, 8))
    return tuple(((word >> 12) + 0.5) * _STEP for word in words)


def uniform(*names: object) -> float:
    """Return the uniform draw in (0, 1) for ``names``; the same as that of ``uniforms(1, ...)``."""
    digest = blake2b("\x1f".join(map(str, names)).encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "big") >> 12) + 0.5) * _STEP


def as_normal(u: float) -> float:
    """Turn a uniform draw into a standard normal one."""
    return _NORMAL.inv_cdf(u)


def normal(*names: object) -> float:
    """Return the standard normal draw for ``names``."""
    return as_normal(uniform(*names))


def logistic(*names: object) -> float:
    """Return the standard logistic draw for ``names``."""
    u = uniform(*names)
    return log(u / (1.0 - u))


def mean_right(intercept: float, spread: float) -> float:
    """Return E[sigmoid(intercept + spread * N)] with N standard normal, by the trapezoid rule."""
    points, weights = _normal_grid()
    total = sum(weight / (1.0 + exp(-(intercept + spread * x))) for x, weight in points)
    return total / weights


@lru_cache(maxsize=1)
def _normal_grid() -> tuple[tuple[tuple[float, float], ...], float]:
    """Return points of the normal density up to a factor, and their sum."""
    points = tuple((x / 10.0, exp(-((x / 10.0) ** 2) / 2.0)) for x in range(-60, 61))
    return points, sum(weight for _, weight in points)


def solve_intercept(target: float, spread: float) -> float:
    """Return the intercept at which :func:`mean_right` is ``target`` (0 < target < 1)."""
    low, high = -60.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2.0
        if mean_right(middle, spread) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
