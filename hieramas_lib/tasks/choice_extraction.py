"""Which option a text settles on.

Three grounds, the strongest one that is there decides: an explicit statement ("Answer: C",
"the answer is (C)", a boxed letter, "option C is correct"), the last of them; a letter that
stands for itself (bold, or opening a line); an option's text given alone. A statement of
several letters, or grounds of one rank that differ, settle on nothing.
"""

import re
from collections.abc import Sequence

from hieramas_lib.tasks.task import LETTERS

_MARKUP = re.compile(r"\*\*|__|`|\$|\\[()\[\]]")
_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:bf|rm)|mbox)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"(?<!\\)\\+(?:boxed|fbox)\s*\{+\s*([^{}]{1,200}?)\s*\}")
_ANCHOR = re.compile(
    r"""(?:answers?|choice|option|solution)["']?
    (?:\s+(?:to\s+(?:this|the)\s+(?:question|problem)|here|therefore|then|thus))?
    \s*(?:(?:is|are|would\s+be|must\s+be|should\s+be)(?:\s*:|\b)|:|=)
    (?:\s*(?:option|choice|answer|letter|simply|clearly|therefore|definitely|indeed)\b\s*:?){0,3}
    | \b(?:choose|select|pick|go\s+with|opt\s+for|settle\s+on)\s+
    (?:(?:option|answer|choice)\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)
_VERDICT = re.compile(
    r"(?<![Ii]f )(?:\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s+\(?([A-J])\)?|\(([A-J])\)|\b([B-HJ]))"
    r"(?:\s*[\"“(][^\"”()\n]{0,80}[\"”)])?\s+is\s+(?:the\s+)?(?:only\s+)?(?:correct|right|best)"
    r"(?:\s+(?:answer|option|choice)|\s*[.!]|\s*$)",
    re.MULTILINE,
)
_NONE = re.compile(
    r"(?:none|not\s+(?:listed|given|among|possible|clear)|unable|cannot|can't|unknown"
    r"|undetermined|unclear|impossible)\b",
    re.IGNORECASE,
)
# "A" and "I" are words too: followed by a lower-case word, "A" is a letter only before these.
_AFTER_LETTER = re.compile(
    r"\s+(?:because|since|as|for|which|that|due|so|but|and|or|with|by|based|given|from|is)\b"
)
_LETTER = r"[(\[\"]{0,2}(?<![^\W\d_])([A-Z])(?![^\W\d_]|['’])[)\]\"]{0,2}"
_FIRST = re.compile(_LETTER)
_FIRST_LOWER = re.compile(r"\(([a-j])\)|([a-j])(?=[).:\s]*$)")
_NEXT = re.compile(
    rf"\s*(?:,|/|&|and\b|or\b)\s*(?:(?:and|or|option|both)\s+)?{_LETTER}"
    r"(?!\s+(?:is|are|was|has|would|does|cannot|can)\b)|[ \t]+([A-Z])(?=[\s.,]*$)"
)
_BOLD = re.compile(r"\*\*\s*\(?([A-J])(?:\)|\.|:|\)\.)?(?:\s[^*\n]*)?\*\*")
# The look-ahead keeps initials ("B. F. Skinner") from being options.
_LINE = re.compile(
    r"^[\s>*\-\"'“]*\(?([A-J])(?:[).:]{1,3}(?=\s|$)(?!\s+[A-Z]\.)|(?=\W*$))", re.MULTILINE
)
_IS_LETTER = re.compile(r"\b(?:is|be)\s*:?\s+\(?([A-HJ])(?:\)|\.\s|\)?\.?$)", re.MULTILINE)
_PARENTHESISED = re.compile(r"\(([A-J])\)")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|except|isn't|cannot|can't|unlike)\b", re.I)
_LEAD_IN = re.compile(r"^(?:[:;\"'“‘–—{\s]|-(?!\d))+")
"""What may stand between an anchor and what it names; the minus of "-1" is not it."""


def extract_choice(text: str, choices: Sequence[str]) -> str | None:
    """Return the letter of the option that ``text`` settles on, None if it settles on none."""
    letters = LETTERS[: len(choices)]
    options = [_normalise(choice) for choice in choices]
    text = _TEXT_COMMAND.sub(r"\1", text)
    statements = _statements(text, letters, options)
    named = statements[max(statements)] if statements else _standing_letters(text, letters)
    if statements or named:
        return named if len(named) == 1 else None
    return _option_alone(text, letters, options)


def _statements(text: str, letters: str, options: Sequence[str]) -> dict[int, str]:
    """Map where an explicit statement stands to the letters it names ("" for "none")."""
    plain = _MARKUP.sub(lambda match: " " * len(match[0]), text)
    found: dict[int, str] = {}
    for match in _VERDICT.finditer(plain):
        letter = next(group for group in match.groups() if group)
        if letter in letters:
            found[match.start()] = letter
    for match in _BOXED.finditer(text):
        named = _named(_MARKUP.sub("", match[1]), letters, options)
        if named is not None:
            found[match.start()] = named
    for match in _ANCHOR.finditer(plain):
        named = _named(plain[match.end() : match.end() + 300], letters, options)
        if named is not None:
            found[match.end()] = named
    return found


def _named(rest: str, letters: str, options: Sequence[str]) -> str | None:
    """Read what a statement names: letters, "" for none of them, None if it names nothing."""
    line = _LEAD_IN.sub("", rest.strip()).split("\n", 1)[0].strip().rstrip("}")
    first = _first_letter(line, letters)
    if first is None or line[first[1] :].strip():
        for option, letter in sorted(zip(options, letters, strict=True), key=_longest_first):
            if option and re.match(rf"{re.escape(option)}(?![\w%]|[.,/^]\w)", _normalise(line)):
                return letter
    if first is None:
        return "" if _NONE.match(line) else None
    letter, end = first
    stated = options[letters.index(letter)]
    if stated and _normalise(line[end:]).lstrip(" .,:;)-–—(").startswith(stated):
        return letter
    named = {letter}
    while (match := _NEXT.match(line, end)) and (match[1] or match[2]) in letters:
        if match[1] in ("A", "I") and re.match(r"\s+(?!and\b|or\b)[a-z]", line[match.end() :]):
            break
        named.add(match[1] or match[2])
        end = match.end()
    return "".join(sorted(named))


def _longest_first(option_and_letter: tuple[str, str]) -> int:
    return -len(option_and_letter[0])


def _first_letter(line: str, letters: str) -> tuple[str, int] | None:
    """Return the letter that opens ``line`` and where it ends, unless it is a word there."""
    match = _FIRST_LOWER.match(line) or _FIRST.match(line)
    if match is None:
        return None
    letter = next(group for group in match.groups() if group).upper()
    rest = line[match.end() :]
    is_word = letter in "AI" and match[0] == letter and re.match(r"\s+[a-z]", rest)
    if letter not in letters or (is_word and (letter == "I" or not _AFTER_LETTER.match(rest))):
        return None
    return letter, match.end()


def _standing_letters(text: str, letters: str) -> str:
    """Return the letters that stand for themselves; a last line of one letter overrules."""
    plain = _MARKUP.sub("", text)
    last = plain.strip().rsplit("\n", 1)[-1].strip()
    alone = re.fullmatch(r"[\"'(\[]*([A-Ja-hj])[)\].:\"']*", last)
    if alone and alone[1].upper() in letters:
        return alone[1].upper()
    found = {*_BOLD.findall(text), *_LINE.findall(plain), *_IS_LETTER.findall(plain)}
    if not found & set(letters) and not _NEGATION.search(last):
        found = set(_PARENTHESISED.findall(last))
    return "".join(sorted(found & set(letters)))


def _option_alone(text: str, letters: str, options: Sequence[str]) -> str | None:
    """Return the letter of the only option whose text the reply's single line states."""
    lines = [line for line in map(_normalise, text.strip().split("\n")) if line]
    if not lines:
        return None
    if options.count(lines[-1]) == 1:
        return letters[options.index(lines[-1])]
    if len(lines) > 1 or _NEGATION.search(text):
        return None
    found = (re.search(rf"(?<!\w){re.escape(option)}(?!\w)", lines[0]) for option in options)
    stated = [o for o, match in zip(options, found, strict=True) if match and len(o) > 2]
    stated = [o for o in stated if not any(o != other and o in other for other in stated)]
    return letters[options.index(stated[0])] if len(stated) == 1 else None


def _normalise(text: str) -> str:
    """Bring an option or a line to one form: no markup, case, quotes or closing full stop."""
    text = _MARKUP.sub("", _TEXT_COMMAND.sub(r"\1", text)).casefold()
    text = re.sub(r"[\"“”'‘’{}]", "", text)
    return re.sub(r"\s+", " ", text).strip().rstrip(".!;,").strip()
