"""Which expression a text gives as its answer.

In order of strength: the last box or ``Answer:`` line; the last "the answer is ..."; what
the last line ends on (its last formula, or its only number, or the only one of its numbers
that the text computed). A refusal, a text cut off within a formula, or several numbers
in prose give none.
"""

import re

MAX_ANSWER = 2000
"""Longest answer that is read, in characters."""

MAX_STATEMENTS = 20
"""How many statements are tried, from the last; bounds the time taken."""

_BOX = re.compile(r"(?<!\\)\\+(?:(?:boxed|fbox)\s*(?=\{)|boxed\s+(?=[\w\\-]))")
_LINE_ANCHOR = re.compile(
    r"^[\s>*_#-]*(?:(?:the\s+)?(?:final\s+|correct\s+)?answer\s*(?:\*\*|__)?\s*[:=]|(?-i:A):)"
    r"|####|\"answer\"\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_PROSE_ANCHOR = re.compile(
    r"\banswer\s+(?:is|would\s+be|must\s+be|should\s+be|equals)\b\s*:?", re.IGNORECASE
)
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|can\s+not|couldn't|unable|not\s+possible|don't\s+know|do\s+not\s+know"
    r"|not\s+enough|insufficient|none\b|unknown|sorry)",
    re.IGNORECASE,
)
# As pandoc reads dollars: no space inside, no digit behind, so that money is no formula.
_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|(?<![\\$])\$(?![\s$])((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]",
    re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.])-?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?(?![\w]*\d)")
_TURN = re.compile(r"\b(?:wait|oops|actually|correction)\b|\bno,", re.IGNORECASE)
_CORRECTED = re.compile(rf"{_PROSE_ANCHOR.pattern}(?:\s*actually\b)?|\banswer\s*:", re.IGNORECASE)
_REASON = re.compile(r"(?<=\S),?\s+(?:since|because)\b", re.IGNORECASE)
_VALUE = re.compile(r"[-$\\(\[{\d]|[A-Za-z]\b")
_TAG = re.compile(r"</?[a-z]{1,9}\s?/?>", re.IGNORECASE)
_SIGN = (
    r"(?:<=|>=|(?<=\s)!=|(?<![-=<])[<>](?!>)|[≤≥≠]|\\(?:leq?|geq?|neq?|lt|gt)(?:slant)?(?![a-z]))"
)
_SIDE = r"(?<![\w\\.,/-])-?\$?[\w\\][\w\\.,/^{}]*"
_RELATION = re.compile(rf"(?:{_SIDE})?\s?{_SIGN}\s?{_SIDE}(?:\s?{_SIGN}\s?{_SIDE})?")
_COMPUTED = re.compile(rf"=\s*(?:\\?\$)?({_NUMBER.pattern})")
_EXPRESSION = re.compile(r"[^A-Za-z]+|(?:[\w\\{}()\[\]^+*/=,.-]+ ?){1,3}")
_VERB = re.compile(r"\b(?:is|are|was|were|be|equals?|gives?|gets?|has|have)\b", re.IGNORECASE)
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")
_SENTENCE_END = re.compile(r"(?<=[^.\s])[.!?](?=\s+[A-Z]|\s*$)|\n")
_LEAD = re.compile(
    r"(?:(?:so|thus|therefore),?\s+)?(?:the\s+)?(?:(?:final|correct)\s+)?answer\s*(?:is|:)\s*:?",
    re.IGNORECASE,
)


def extract_expression(text: str) -> str | None:
    """Return the expression that ``text`` ends on, without box, dollars or closing full stop."""
    text = _CALCULATOR.sub("", text)
    boxes = [(match.start(), match.end(), _box_content) for match in _BOX.finditer(text)]
    lines = [(match.start(), match.end(), _anchored) for match in _LINE_ANCHOR.finditer(text)]
    strong = sorted([*boxes, *lines], key=lambda statement: statement[:2])
    if strong and (answer := _correction(text, strong[-1][1])):
        return answer
    prose = [(match.start(), match.end(), _anchored) for match in _PROSE_ANCHOR.finditer(text)]
    for _, end, read in (*strong[: -MAX_STATEMENTS - 1 : -1], *prose[: -MAX_STATEMENTS - 1 : -1]):
        if answer := read(text, end):
            return _stated(answer)
    return _stated(_last_line(text))


def _correction(text: str, start: int) -> str | None:
    """Return the value that takes back the statement at ``start``: "Wait, the answer is 8"."""
    turn = _TURN.search(text, start)
    anchors = list(_CORRECTED.finditer(text, turn.start())) if turn else []
    for anchor in anchors[: -MAX_STATEMENTS - 1 : -1]:
        answer = _stated(_anchored(text, anchor.end()))
        if answer and _VALUE.match(answer):
            return answer
    return None


def _stated(answer: str | None) -> str | None:
    """Turn a refusal, or nothing, into None."""
    if not answer or _REFUSAL.search(answer):
        return None
    return answer


def _box_content(text: str, start: int) -> str | None:
    """Return what the box opening at ``start`` holds, None if it is never closed."""
    if text[start] != "{":
        match = re.compile(r"[^\s$.,;]+").match(text, start)
        return _clean(match[0]) if match else None
    depth = 0
    for end in range(start, min(len(text), start + MAX_ANSWER)):
        if text[end] in "{}" and text[end - 1] != "\\":
            depth += 1 if text[end] == "{" else -1
        if depth == 0:
            return _clean(text[start + 1 : end])
    return None


def _anchored(text: str, start: int) -> str | None:
    """Return what ``text`` states right behind an anchor, None if that is nothing."""
    rest = text[start : start + MAX_ANSWER].lstrip(' \t*_:"').lstrip()
    if lead := _LEAD.match(rest):
        rest = rest[lead.end() :].lstrip(" \t*_:").lstrip()
    if box := _BOX.search(rest.split("\n", 1)[0]):
        return _box_content(rest, box.end())
    display = re.match(r"\\\[(.+?)\\\]|\$\$(.+?)\$\$", rest, re.DOTALL)
    if display:
        return _clean(display[1] or display[2])
    sentence = _first_sentence(rest)
    sentence = _REASON.split(sentence, maxsplit=1)[0]
    formulas = _formulas(sentence)
    if len(formulas) == 1:
        return formulas[0]
    return _clean(sentence) or None


def _first_sentence(text: str) -> str:
    """Return ``text`` up to its first full stop or line end outside a formula."""
    hidden = _FORMULA.sub(lambda match: "x" * len(match[0]), text)
    end = _SENTENCE_END.search(hidden)
    return text[: end.start()] if end else text


def _last_line(text: str) -> str | None:
    """Return the last formula, or else the number, of the last line's last sentence.

    Of several numbers, the only one that a computation (``2 + 3 = 5``) came to is meant.
    """
    last = text.rsplit("\n", 1)[-1]
    if text.count(r"\[") > text.count(r"\]") or "<<" in last or _BOX.search(last):
        return None  # cut off within a formula
    line = text.strip().rsplit("\n", 1)[-1].strip()[-MAX_ANSWER:]
    if len(re.findall(r"(?<!\\)\$(?![\d.])", line)) % 2 and "\\" in line:
        return None  # cut off within a formula
    line = _TAG.sub("", _LINE_ANCHOR.sub("", line))  # an anchor with nothing behind it
    whole = _clean(line)
    is_expression = _EXPRESSION.fullmatch(whole) and not _VERB.search(whole)
    if is_expression and (" " not in whole or re.search(r"\d", whole)):
        return _right_hand_side(whole)
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)[-1]
    if _REFUSAL.search(sentence):
        return None
    formulas = _formulas(sentence)
    if formulas:
        return _right_hand_side(formulas[-1])
    relations = list(_RELATION.finditer(sentence))
    if relations and not sentence[relations[-1].end() :].strip(" .!*"):
        return _clean(relations[-1][0]) if len(relations) == 1 else None
    sentence = _RELATION.sub(" ", sentence)  # "since 5 > 3, she has 12": neither is the answer
    tail = sentence.rsplit("=", 1)[-1] if "=" in sentence else sentence
    numbers = list(dict.fromkeys(match[0].replace("$", "") for match in _NUMBER.finditer(tail)))
    if len(numbers) == 1 or (numbers and "=" in sentence):
        return numbers[0]
    results = {match[1].replace("$", "") for match in _COMPUTED.finditer(text)}
    computed = [number for number in numbers if number in results]
    return computed[0] if len(computed) == 1 else None


def _formulas(text: str) -> list[str]:
    """Return the formulas in ``text``, without their delimiters."""
    found = (_clean(next(g for g in match.groups() if g)) for match in _FORMULA.finditer(text))
    return [formula for formula in found if formula]


def _right_hand_side(formula: str) -> str:
    """Return what a chain of equalities ends on; ``y = 2x`` and an inequality stay whole."""
    formula = re.split(r"=>(?=[^=<>]*[=<>])|\\implies|\\Rightarrow|⇒", formula)[-1].strip()
    if re.search(_SIGN, formula):
        return formula
    left, _, right = formula.rpartition("=")
    return formula if re.fullmatch(r"\s*[A-Za-z]?\s*", left) or not right.strip() else right.strip()


def _clean(expression: str) -> str:
    """Take off what surrounds an expression: spaces, dollars, emphasis, a doubled brace, a stop."""
    expression = expression.strip().strip("*`").strip()
    expression = re.sub(r"[.,;:\s]+$", "", expression)
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("{", "}")):
        inner = expression[len(opening) : len(expression) - len(closing)]
        enclosed = len(expression) > 2 and expression.startswith(opening)
        if enclosed and expression.endswith(closing) and _is_whole(inner, opening):
            expression = inner.strip()
    return expression


def _is_whole(inner: str, opening: str) -> bool:
    """Tell whether the delimiters around ``inner`` belong together."""
    if opening != "{":
        return opening not in inner
    depth = 0
    for character in inner:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0
