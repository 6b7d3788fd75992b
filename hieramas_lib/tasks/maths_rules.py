"""String rules for maths answers: what math-verify gets wrong, or need not be asked.

Pure and quick. :func:`prepare` rewrites an answer so that math-verify reads it as meant;
:func:`settle` decides what can be decided on strings alone.
"""

import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation

_COMMANDS = (
    ("−", "-"), ("–", "-"), ("×", r"\cdot "), ("·", r"\cdot "), ("π", r"\pi "),
    ("∞", r"\infty "), ("½", r"\frac{1}{2}"), ("√", r"\sqrt "), ("∪", r"\cup "),
    ("≤", r"\le "), ("≥", r"\ge "), ("°", ""),
    (r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\cfrac", r"\frac"), (r"\left", ""),
    (r"\right", ""), (r"\$", ""), (r"\%", ""), ("%", ""), (r"\degree", ""), (r"\lbrace", r"\{"),
    (r"\rbrace", r"\}"), ("{,}", ","), ("{:}", ":"),
)  # fmt: skip
_SPACES = re.compile(r"(?<!\\)\\[,;:!> ]|\\quad\b|\\qquad\b|~")
_DEGREES = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ\b)|\\text\s*\{\s*degrees?\s*\}", re.I)
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|normal)?|math(?:bf|rm|it)|mbox|operatorname)\s*\{([^{}]*)\}"
)
_UNIT_TEXT = re.compile(
    r"(?<=[\d}\w])\s*\\(?:text|mbox|mathrm)\s*\{\s*[^{}\d]*\}(?:\s*\^\s*\{?\d\}?)?$"
)
_UNIT_WORD = re.compile(
    r"^(-?\$?[\d.,/]+|-?\\frac\{\d+\}\{\d+\}|.*\\pi)\s*"
    r"(?:(?:square|cubic|sq\.?|cu\.?)\s+)?"
    r"(?:[a-zA-Z]{4,}(?:\s+[a-zA-Z]+)*|cm|mm|km|m|g|kg|mg|l|ml|s|h|hr|hrs|min|in|ft|mi|mph|day)"
    r"(?:\s*\^\s*\{?[23]\}?)?$"
)
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "dozen": 12}
_PARTS = {
    "halves": 2, "half": 2, "thirds": 3, "third": 3, "fourths": 4, "fourth": 4, "quarters": 4,
    "quarter": 4, "fifths": 5, "fifth": 5, "sixths": 6, "sixth": 6, "sevenths": 7, "eighths": 8,
    "eighth": 8, "ninths": 9, "ninth": 9, "tenths": 10, "tenth": 10,
}  # fmt: skip
_SCALED = re.compile(rf"^(-?)([\d.,]+)\s+({'|'.join(_SCALES)})\b(?:\s+[a-z ]+)?$")
_PARTED = re.compile(rf"^(-?\d+)\s+({'|'.join(_PARTS)})\b(?:\s+[a-z ]+)?$")
_WORDED_POWER = {"squared": "^2", "cubed": "^3", "factorial": "!"}
_POWERED = re.compile(rf"^(.*[\w)}}])\s+({'|'.join(_WORDED_POWER)})$")
_NO_UNIT = re.compile(
    r"^\S+\s+(?:minus|plus|less|more|over|times|divided|multiplied|choose|mod|modulo|percent|per"
    r"|percentage|squared|cubed|factorial|hundred|thousand|million|billion|dozen)\b"
)
_SPLIT_NUMBER = re.compile(r"\d\s+\d")
_SPACED_THOUSANDS = re.compile(r"^-?\d{1,3}(?:\s\d{3})+$")
_THOUSANDS = re.compile(r"(?<![\d,])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_MIXED = re.compile(
    r"^(-?)\s*(\d+)"
    r"(?:\s*\\frac\s*\{(\d+)\}\s*\{(\d+)\}|\s*\\frac(\d)(\d)|\s+(\d+)/(\d+))$"
)
_BASE = re.compile(r"^([0-9A-Za-z]+)_(?:\{(\d+)\}|(\d+))$")
_CLOCK = re.compile(r"^(\d{1,2}):(\d{2})\s*([ap])?\.?\s*(?:m\.?)?$", re.IGNORECASE)
_CALL = re.compile(r"(?<!\\)\bsqrt\s*\(([^()]*)\)|\\sqrt\s*\(([^()]*)\)")
_EXP = re.compile(r"(?<!\\)\bexp\s*\(([^()]*)\)")
_PLAIN_FRACTION = re.compile(r"\\frac(\d)(\d)")
_BETWEEN = re.compile(r"^([^<>=]+?)\s*(<|\\le)\s*[a-z]\s*(<|\\le)\s*([^<>=]+)$")
_BOUND = re.compile(r"^[a-z]\s*(<|>|\\le|\\ge)\s*([^<>=]+)$")
_WORD = re.compile(r"(?<!\\)[A-Za-z]{4,}")


def prepare(answer: str) -> str:
    """Rewrite ``answer`` in the LaTeX that math-verify reads as it was meant."""
    answer = answer.strip().strip("$").strip()
    answer = _UNIT_TEXT.sub("", _DEGREES.sub("", answer))
    answer = _SPACES.sub(" ", re.sub(r"(?<=\d),\\!(?=\d)", ",", answer))
    for written, meant in _COMMANDS:
        answer = answer.replace(written, meant)
    answer = re.sub(r"(?<!\\)\\+(?=sqrt|frac|pi\b)", r"\\", _TEXT.sub(r" \1 ", answer))
    answer = re.sub(r"^\s*\$|(?<=-)\$", "", answer).strip().rstrip("\\").strip()
    answer = _THOUSANDS.sub(lambda match: match[1].replace(",", ""), answer)
    answer = _spelled(answer)
    if (unit := _UNIT_WORD.match(answer)) and not _NO_UNIT.match(answer):
        answer = unit[1]
    answer = _CALL.sub(lambda match: rf"\sqrt{{{match[1] or match[2]}}}", answer)
    answer = _EXP.sub(r"e^{\1}", answer)
    answer = re.sub(r"(?<![\\A-Za-z])pi\b", r"\\pi ", answer)
    answer = re.sub(r"(?<![\\A-Za-z])(?:oo|inf(?:inity)?)\b", r"\\infty ", answer)
    answer = re.sub(r"\*\*", "^", answer)
    answer = answer.replace("*", r" \cdot ")
    answer = re.sub(r"(?<=\d)\s*(?=\((?![^()]*,))", r" \\cdot ", answer)
    answer = re.sub(r"\s+(?:or|and)\s+", ", ", answer)
    return _improper(_PLAIN_FRACTION.sub(r"\\frac{\1}{\2}", answer).strip())


def _spelled(answer: str) -> str:
    """Turn "7 million", "3 fourths" and "x squared" into numbers; they are no units."""
    if scaled := _SCALED.match(answer):
        sign, number, word = scaled.groups()
        with suppress(InvalidOperation):
            return f"{sign}{Decimal(number.replace(',', '')) * _SCALES[word]:f}"
    if parted := _PARTED.match(answer):
        return rf"\frac{{{parted[1]}}}{{{_PARTS[parted[2]]}}}"
    if powered := _POWERED.match(answer):
        return powered[1] + _WORDED_POWER[powered[2]]
    return answer


def _improper(answer: str) -> str:
    """Turn a mixed number into an improper fraction."""
    match = _MIXED.match(answer)
    if match is None:
        return answer
    sign, *rest = match.groups()
    whole, numerator, denominator = (int(part) for part in rest if part is not None)
    return rf"{sign}\frac{{{whole * denominator + numerator}}}{{{denominator}}}"


def as_interval(prepared: str) -> str:
    """Write a simple inequality (``-2 \\le x < 7``, ``x > 2``) as an interval; else unchanged."""
    text = prepared.replace("<=", r"\le ").replace(">=", r"\ge ").replace(r"\leq", r"\le ")
    text = text.replace(r"\geq", r"\ge ").replace("\\lt ", "<").replace("\\gt ", ">")
    if both := _BETWEEN.match(text):
        low, left, right, high = both.groups()
        return f"{'(' if left == '<' else '['}{low},{high}{')' if right == '<' else ']'}"
    if one := _BOUND.match(text):
        sign, bound = one.groups()
        if sign in ("<", r"\le"):
            return rf"(-\infty,{bound}{')' if sign == '<' else ']'}"
        return rf"{'(' if sign == '>' else '['}{bound},\infty)"
    return prepared


def canonical(answer: str) -> str:
    """Return the form in which equal strings are equal answers: prepared, without spaces."""
    text = prepare(answer)
    if not _SPACED_THOUSANDS.match(text):
        # Between two digits, a product sign or a space is not to be lost: 2 · 4 is not 24.
        text = re.sub(r"(?<=\d)\s*\\cdot\s*(?=\d)", "*", text)
        text = re.sub(r"(?<=\d)\s+(?=\d)", "_", text)
    text = re.sub(r"\s+", "", text).replace(r"\cdot", "").rstrip(".")
    text = re.sub(r"^\\?[a-z]\\in(?=[(\[\\])", "", text)
    return re.sub(r"\^\{(\w)\}", r"^\1", re.sub(r"_\{(\w+)\}", r"_\1", text))


def settle(gold: str, answer: str) -> bool | None:
    """Decide whether ``answer`` equals ``gold`` where strings suffice; None where not.

    Strings suffice for equal strings, words, clock times, numbers in a named base, and for
    brackets that say that one is a set and the other is none.
    """
    ours, theirs = canonical(gold), canonical(answer)
    if ours == theirs:
        return True
    if _NO_UNIT.match(prepare(answer)) or _is_split_number(prepare(answer)):
        return False
    if _CLOCK.match(ours):
        return _same_time(ours, theirs)
    if _is_words(gold, ours):
        return _letters(ours) == _letters(theirs)
    based = _BASE.match(ours), _BASE.match(theirs)
    if any(based) and not re.search(r"[a-z]", ours + theirs):
        return _same_based(ours, theirs)
    if ours.startswith(r"\{") and re.match(r"[(\[]", theirs) and "," in theirs:
        return False
    if re.match(r"[(\[]", ours) and "," in ours and theirs.startswith(r"\{"):
        return False
    return None


def _is_split_number(prepared: str) -> bool:
    """Tell whether digits stand apart without saying why, as in "1 2"."""
    return bool(_SPLIT_NUMBER.search(prepared)) and not _SPACED_THOUSANDS.match(prepared)


def _is_words(gold: str, canonical_gold: str) -> bool:
    """Tell whether a gold answer is text: set as text, a choice letter, or a long word."""
    set_as_text = re.fullmatch(r"\s*\\(?:text(?:bf|rm|it)?|mbox|mathrm)\s*\{[^{}]*\}\s*", gold)
    if set_as_text:
        return not canonical_gold[:1].isdigit()
    return bool(_WORD.fullmatch(canonical_gold))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _same_time(gold: str, answer: str) -> bool:
    ours, theirs = _CLOCK.match(gold), _CLOCK.match(answer)
    if ours is None or theirs is None:
        return False
    half = (ours[3] or "").lower(), (theirs[3] or "").lower()
    same = int(ours[1]) == int(theirs[1]) and ours[2] == theirs[2]
    return same and (half[0] == half[1] or "" in half)


def _same_based(gold: str, answer: str) -> bool:
    """Compare numbers written with a base; an answer may leave out the base that was asked for."""
    ours, theirs = _BASE.match(gold), _BASE.match(answer)
    if ours is None:  # the gold answer is in base 10
        return theirs is not None and theirs[1] == gold and "10" in (theirs[2], theirs[3])
    digits = theirs[1] if theirs else answer
    base = (theirs[2] or theirs[3]) if theirs else ours[2] or ours[3]
    return digits == ours[1] and base == (ours[2] or ours[3])
