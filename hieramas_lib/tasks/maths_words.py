"""Numbers written with words: "7 million", "5 twelfths", "x squared". They are no units."""

import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation

_SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12,
}  # fmt: skip
_PARTS = {
    "halves": 2, "half": 2, "thirds": 3, "third": 3, "fourths": 4, "fourth": 4, "quarters": 4,
    "quarter": 4, "fifths": 5, "fifth": 5, "sixths": 6, "sixth": 6, "sevenths": 7, "seventh": 7,
    "eighths": 8, "eighth": 8, "ninths": 9, "ninth": 9, "tenths": 10, "tenth": 10,
    "elevenths": 11, "eleventh": 11, "twelfths": 12, "twelfth": 12, "thirteenths": 13,
    "fourteenths": 14, "fifteenths": 15, "sixteenths": 16, "seventeenths": 17, "eighteenths": 18,
    "nineteenths": 19, "twentieths": 20, "hundredths": 100, "hundredth": 100,
    "thousandths": 1000, "thousandth": 1000, "millionths": 10**6, "billionths": 10**9,
}  # fmt: skip
COUNTS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip
_TENS = "thirty|forty|fifty|sixty|seventy|eighty|ninety"
NUMBER_WORD = rf"(?:{'|'.join([*_SCALES, *_PARTS, *COUNTS])}|{_TENS}|quadrillion)"
_OTHER_WORDS = rf"(?:\s+(?!{NUMBER_WORD}\b)[a-z]+)*\s*$"
_SCALED = re.compile(rf"^(-?)([\d.,]+)\s+({'|'.join(_SCALES)})\b{_OTHER_WORDS}")
_PARTED = re.compile(rf"^(-?\d+)\s+({'|'.join(_PARTS)})\b(?:\s+of\b.*)?$")
_WORDED_POWER = {"squared": "^2", "cubed": "^3", "factorial": "!"}
_POWERED = re.compile(rf"^(.*[\w)}}])\s+({'|'.join(_WORDED_POWER)})$")
_IN_WORDS = re.compile(rf"^(-?[\d.]+)\s*\(((?:{NUMBER_WORD}|and|[\s-])+)\)$", re.IGNORECASE)
_SCIENTIFIC = re.compile(r"^(-?\d+(?:\.\d+)?)[eE]([+-]?\d{1,2})$")


def spelled(answer: str) -> str:
    """Turn "7 million", "3 fourths", "x squared" and "1.5e3" into numbers; they are no units."""
    if scaled := _SCALED.match(answer):
        sign, number, word = scaled.groups()
        with suppress(InvalidOperation):
            return f"{sign}{Decimal(number.replace(',', '')) * _SCALES[word]:f}"
    if parted := _PARTED.match(answer):
        return rf"\frac{{{parted[1]}}}{{{_PARTS[parted[2]]}}}"
    if worded := _IN_WORDS.match(answer):
        count = COUNTS.get(worded[2].strip().lower())
        if count is None or str(count) == worded[1]:
            return worded[1]
    if scientific := _SCIENTIFIC.match(answer):
        return f"{Decimal(scientific[1]).scaleb(int(scientific[2])):f}"
    answer = re.sub(r"^(-?[\d.]+)\s*[xX]\s*(?=10\s*\^)", r"\1 \\cdot ", answer)
    if powered := _POWERED.match(answer):
        return powered[1] + _WORDED_POWER[powered[2]]
    return answer
