"""String rules for maths answers: what math-verify gets wrong, or need not be asked.

Pure and quick. :func:`prepare` rewrites an answer so that math-verify reads it as meant;
:func:`settle` decides what can be decided on strings alone.
"""

import re

from hieramas_lib.tasks.maths_words import COUNTS, NUMBER_WORD, spelled

_COMMANDS = (
    ("−", "-"), ("–", "-"), ("×", r"\cdot "), ("·", r"\cdot "), ("π", r"\pi "),
    ("∞", r"\infty "), ("½", r"\frac{1}{2}"), ("√", r"\sqrt "), ("∪", r"\cup "),
    ("≤", r"\le "), ("≥", r"\ge "), ("≠", r"\ne "), ("°", ""), ("²", "^2"), ("³", "^3"),
    (r"\varnothing", r"\emptyset"), ("∅", r"\emptyset "),
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
    r"(?<=[\d}\w])\s*\\(?:text|mbox|mathrm)\s*\{\s*([^{}\d]*)\}(?:\s*\^\s*\{?\d\}?)?$"
)
_SHORT_UNIT = r"cm|mm|km|m|g|kg|mg|l|ml|s|h|hr|hrs|min|in|ft|mi|mph|day"
_UNIT_WORD = re.compile(
    r"^(-?\$?[\d.,/]+|-?\\frac\{\d+\}\{\d+\}|.*\\pi)\s*"
    r"(?:(?:square|cubic|sq\.?|cu\.?)\s+)?"
    rf"(?:[a-zA-Z]{{4,}}(?:\s+[a-zA-Z]+)*|per(?:\s+[a-zA-Z]+)+|{_SHORT_UNIT})"
    rf"(?:\s*(?:/|\bper\b)\s*(?:[a-zA-Z]{{3,}}|{_SHORT_UNIT}))?"
    r"(?:\s*\^\s*\{?[23]\}?)?$"
)
_NO_UNIT = re.compile(
    r"^\S+\s+(?:minus|plus|less|more|fewer|over|times|divided|multiplied|choose|mod|modulo|point"
    r"|squared|cubed|factorial|per\s?cent(?:age)?\s+(?:more|less|fewer|of|higher|lower)"
    rf"|(?:square|cube)\s+root|{NUMBER_WORD})\b"
    r"|^-?[\d.,/]+\s+(?:[a-z]+\s+)*(?:roots?|sqrt|or\s+(?:more|fewer|less|greater|above|below)"
    rf"|{'|'.join(COUNTS)})\b"
)
_NO_UNIT_TEXT = re.compile(rf"or\b|and\b|(?:roots?|sqrt|{NUMBER_WORD})\b", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:approximately|approx\.?|about|around|roughly|\\approx|≈)\s*(?=[-$\d\\])")
_DECIMAL_COMMA = re.compile(r"^(-?\d+)\{,\}(\d{1,2})$")
_NAMED_TUPLE = re.compile(r"^\(\s*(\\?[a-z]+(?:\s*,\s*\\?[a-z]+)+)\s*\)\s*=\s*(?=\()")
_RELATION = re.compile(r"[<>≤≥≠]|\\(?:leq?|geq?|neq?|lt|gt)(?:slant)?(?![a-z])|(?<=\s)!=")
_EQUALITY = re.compile(r"(?<![<>!])=(?!>)")
_RANGE = re.compile(r"^[(\[]|\\\{|\\infty|\\cup|\\in(?![a-z])|\\mathbb|\\emptyset")
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
_BOUND_FIRST = re.compile(r"^([^<>=a-z\\]+)(<|>|\\le|\\ge)\s*([a-z])$")
_MIRRORED = {"<": ">", ">": "<", r"\le": r"\ge ", r"\ge": r"\le "}
_WORD = re.compile(r"(?<!\\)[A-Za-z]{4,}")


def prepare(answer: str) -> str:
    """Rewrite ``answer`` in the LaTeX that math-verify reads as it was meant."""
    answer = answer.strip().strip("$").strip()
    answer = _DECIMAL_COMMA.sub(r"\1.\2", _ABOUT.sub("", answer))
    answer = _UNIT_TEXT.sub(_unit_or_words, _DEGREES.sub("", answer))
    answer = _SPACES.sub(" ", re.sub(r"(?<=\d),\\!(?=\d)", ",", answer))
    for written, meant in _COMMANDS:
        answer = answer.replace(written, meant)
    answer = re.sub(r"(?<!\\)\\+(?=sqrt|frac|pi\b)", r"\\", _TEXT.sub(r" \1 ", answer))
    answer = re.sub(r"^\s*\$|(?<=-)\$", "", answer).strip().rstrip("\\").strip()
    answer = _THOUSANDS.sub(lambda match: match[1].replace(",", ""), answer)
    answer = spelled(_unnamed(answer))
    if (unit := _UNIT_WORD.match(answer)) and not _NO_UNIT.match(answer):
        answer = unit[1]
    answer = _CALL.sub(lambda match: rf"\sqrt{{{match[1] or match[2]}}}", answer)
    answer = _EXP.sub(r"e^{\1}", answer)
    answer = re.sub(r"(?<![\\A-Za-z])pi\b", r"\\pi ", answer)
    answer = re.sub(r"(?<![\\A-Za-z])(?:oo|inf(?:inity)?)\b", r"\\infty ", answer)
    answer = re.sub(r"\*\*", "^", answer)
    answer = answer.replace("*", r" \cdot ")
    answer = re.sub(r"(?<=\d)\s*(?=\((?![^()]*,))", r" \\cdot ", answer)
    answer = re.sub(r"\s+(?:or|and)\s+(?!(?:more|fewer|less|greater|above|below)\b)", ", ", answer)
    return _improper(_PLAIN_FRACTION.sub(r"\\frac{\1}{\2}", answer).strip())


def _unit_or_words(match: re.Match[str]) -> str:
    """Drop a unit set as text, and keep words that say more: "million", "or more"."""
    words = match[1].strip()
    kept = _NO_UNIT_TEXT.match(words) or _NO_UNIT.match(f"1 {words}")
    return f" {words}" if kept else ""


def _unnamed(answer: str) -> str:
    """Take off the names in "(x,y) = (3,4)", if they are in order."""
    if named := _NAMED_TUPLE.match(answer):
        names = [name.strip(" \\") for name in named[1].split(",")]
        if names == sorted(names):
            answer = answer[named.end() :]
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
    if first := _BOUND_FIRST.match(text):
        text = f"{first[3]} {_MIRRORED[first[2]]}{first[1].strip()}"
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
    bounds = prepare(gold), prepare(answer)
    if _is_bound_against_value(*bounds) or _is_bound_against_value(*bounds[::-1]):
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


def _is_bound_against_value(one: str, other: str) -> bool:
    """Tell whether ``one`` is an inequality, and ``other`` neither that nor a set."""
    if not _RELATION.search(one) or _EQUALITY.search(one):  # "x = 3, since x > 0" is a value
        return False
    return not (_RELATION.search(other) or _RANGE.search(other))


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
