"""Number theory."""

from math import gcd, lcm, prod
from random import Random

from sympy import divisor_count, factorint
from sympy.ntheory.modular import crt

from hieramas_lib.tasks.maths_templates.template import Problem, Template

_DIGITS = "0123456789"
_MODULI = ((5, 7, 9), (4, 7, 9), (5, 6, 11), (7, 8, 9), (3, 8, 11), (5, 8, 13), (6, 7, 11))


def _least_common_multiple(rng: Random) -> Problem:
    common = rng.randint(2, 9)
    a, b = sorted(common * k for k in rng.sample(range(2, 12), 2))
    if b % a == 0:
        return _least_common_multiple(rng)
    prompt = f"What is the least common multiple of {a} and {b}?"
    return Problem(prompt, lcm(a, b), (a * b, gcd(a, b), a * b // common**2, a + b))


def _divisor_count(rng: Random) -> Problem:
    n = 2 ** rng.randint(1, 4) * 3 ** rng.randint(1, 3) * rng.choice([1, 5, 7, 25, 11])
    prompt = f"How many positive divisors does {n} have?"
    exponents = list(factorint(n).values())
    slips = (prod(exponents), divisor_count(n) - 2, sum(exponents), len(exponents))
    return Problem(prompt, divisor_count(n), slips)


def _base_conversion(rng: Random) -> Problem:
    n, base = rng.randint(60, 900), rng.randint(3, 8)
    prompt = (
        f"Write the base-10 number {n} in base {base}. "
        f"Give the base as a subscript, as in $12_{{{base}}}$."
    )
    digits = _in_base(n, base)
    slips = (digits[::-1], _in_base(n, base + 1), digits[1:] or digits, _in_base(n + 1, base))
    kept = [slip for slip in slips if slip[0] != "0" and all(int(d) < base for d in slip)]
    return Problem(prompt, f"{digits}_{{{base}}}", tuple(f"{slip}_{{{base}}}" for slip in kept))


def _in_base(n: int, base: int) -> str:
    return (_in_base(n // base, base) if n >= base else "") + _DIGITS[n % base]


def _factorial_zeros(rng: Random) -> Problem:
    n = rng.randint(26, 400)
    prompt = f"With how many zeros does the decimal expansion of ${n}!$ end?"
    zeros = sum(n // 5**k for k in range(1, 5))
    return Problem(prompt, zeros, (n // 5, n // 10, zeros + 1, n // 5 + n // 10))


def _power_remainder(rng: Random) -> Problem:
    a, n = rng.randint(2, 12), rng.randint(20, 200)
    m = rng.choice([7, 9, 11, 13, 17, 19, 23])
    if gcd(a, m) != 1 or a % m == 1:
        return _power_remainder(rng)
    prompt = f"What is the remainder when ${a}^{{{n}}}$ is divided by {m}?"
    return Problem(prompt, pow(a, n, m), (pow(a, n + 1, m), pow(a, n - 1, m), a * n % m, 1))


def _three_remainders(rng: Random) -> Problem:
    moduli = rng.choice(_MODULI)
    remainders = tuple(rng.randint(1, m - 1) for m in moduli)
    parts = [f"{r} when divided by {m}" for r, m in zip(remainders, moduli, strict=True)]
    prompt = (
        f"What is the smallest positive integer that leaves a remainder of {parts[0]}, "
        f"a remainder of {parts[1]}, and a remainder of {parts[2]}?"
    )
    gold = int(crt(moduli, remainders)[0])
    two = int(crt(moduli[:2], remainders[:2])[0])
    return Problem(prompt, gold, (two, gold + prod(moduli), prod(moduli) - gold))


def _divisible_by_either(rng: Random) -> Problem:
    n = rng.randint(200, 2000)
    c, *rest = rng.sample([2, 3, 4, 5, 6, 7, 9, 10, 11], 3)
    a, b = sorted(rest)
    if lcm(a, b) in (a, b) or a % c == 0 or b % c == 0:
        return _divisible_by_either(rng)
    prompt = (
        f"How many integers from 1 to {n} are divisible by {a} or by {b} (or by both), "
        f"but not by {c}?"
    )
    either = n // a + n // b - n // lcm(a, b)
    banned = n // lcm(a, c) + n // lcm(b, c) - n // lcm(a, b, c)
    exactly_one = either - n // lcm(a, b)
    slips = (
        either,
        n // a + n // b - n // lcm(a, c) - n // lcm(b, c),
        exactly_one - banned,
        either - n // lcm(a, b, c),
    )
    return Problem(prompt, either - banned, slips)


TEMPLATES = (
    Template("least-common-multiple", 1, _least_common_multiple),
    Template("divisor-count", 2, _divisor_count),
    Template("base-conversion", 2, _base_conversion),
    Template("factorial-zeros", 3, _factorial_zeros),
    Template("power-remainder", 3, _power_remainder),
    Template("three-remainders", 4, _three_remainders),
    Template("divisible-by-either", 5, _divisible_by_either),
)
