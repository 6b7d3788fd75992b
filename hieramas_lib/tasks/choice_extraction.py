"""Which option a text settles on.

Three grounds, the strongest one that is there decides: an explicit statement ("Answer: C",
"the answer is (C)", a boxed letter, "option C is correct"), the last of them; a letter that
stands for itself (bold, or opening a line); an option's text given alone. A statement of
several letters, or grounds of one rank that differ, settle on nothing. A sentence that denies,
asks, supposes or reports what others would say states nothing; a correction that follows the
last statement overrules it.
"""

import re
from collections.abc import Sequence
from typing import Literal

from hieramas_lib.tasks.task import LETTERS

_MARKUP = re.compile(r"\*\*|__|`|\$|\\[()\[\]]")
_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:bf|rm)|mbox)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"(?<!\\)\\+(?:boxed|fbox)\s*\{+\s*([^{}]{1,200}?)\s*\}")
_ANCHOR = re.compile(
    r"""(?:answers?|choice|option|solution)["']?
    (?:\s+(?:to\s+(?:this|the)\s+(?:question|problem)|here|therefore|then|thus))?
    \s*(?:(?:is|are|would\s+be|must\s+be|should\s+be)(?:\s*:|\b)|:|=)
    (?:\s*(?:option|choice|answer|letter|simply|clearly|therefore|definitely|indeed|actually
    |(?:most\s+)?(?:likely|probably)|thus|hence|still)\b\s*:?){0,3}
    | \banswer\s+[-–—]{1,3}\s+
    | ^[ \t>*\#-]{0,8}correct\s*:
    | <answer>
    | \b(?:choose|select|pick|go\s+with|opt\s+for|settle\s+on)\s+
    (?:(?:option|answer|choice)\s+)?""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_VERDICT = re.compile(
    r"(?<![Ii]f )(?:\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s+\(?([A-J])\)?|\(([A-J])\)|\b([B-HJ])"
    r"|\b([AI])(?=\s+is\s+(?:the|my)\s+[a-z ]{0,20}(?:answer|option|choice)\b))"
    r"(?:\s*[\"“(][^\"”()\n]{0,80}[\"”)])?\s+is\s+(?:(?:the|my)\s+(?:final\s+)?answer\b"
    r"|(?:the\s+)?(?:only\s+)?(?:correct|right|best)"
    r"(?:\s+(?:answer|option|choice)|\s*[.!]|\s*$))(?!\s*\?)",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_CHOOSE = r"(?:choose|select|pick|go\s+with|opt\s+for|settle\s+on)"
_DENIED = re.compile(
    rf"""(?:\bnot|n['’]t|\bcannot|\bnever|\bavoid|\brather\s+than|\bnor)\s+(?:\w+\s+)?{_CHOOSE}\b
    | (?:\bnot|n['’]t|\bnever)\s+(?:think|believe|agree|claim|say|true|the\s+case|sure|certain
      |convinced)\s+(?:that\b|it\b|the\s+(?:\w+\s+)?(?:answer|option|choice)\b|\(?[A-J]\b|$)
    | \b(?:false|wrong|incorrect|untrue|unlikely|mistake|impossible)\s+that\b
    | (?<!no\s)(?<!without\s)(?<!without\sa\s)(?<!beyond\s)\b(?:doubt|deny)\b
    | \b(?:wrong|incorrect|other|another|tempting|second(?:[-\s]best)?)\s+
      (?:answer|option|choice|solution)s?\b[^:]{{0,30}}:?\s*$
    | \b(?:many|some|others|people|students?|novices?|beginners?|candidates?|readers?)\b
      [^.]*\b(?:might|may|would|could|will|often|wrongly|mistakenly|tempted)\b
    | (?<!\bi\s)(?<!\bwe\s)\b(?:might|may|would|could)\s+(?:\w+\s+)?
      (?:say|think|believe|argue|claim|conclude|assume|guess|answer)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""What takes the force from a statement, in the clause up to the letter."""
_IF = re.compile(
    r"(?:\b(?:if|unless)\b(?!\s+(?:forced|(?:i|we|you|one)\s+(?:had|have|has|must|were\s+to)\b))"
    r"|^\s*(?:had|were)\b)(?!.*\b(?:so|thus|hence|therefore)\b)",
    re.IGNORECASE,
)
_ONLY_IF = re.compile(r"\b(?:if|unless)\b|\bhad\s+(?:the|it|we|he|she|they|this)\b", re.IGNORECASE)
_REJECTION = (
    r"\s+(?:is|was|are)\s+(?:clearly\s+|also\s+|therefore\s+)?"
    r"(?:wrong|incorrect|false|not\s+(?:the\s+|a\s+)?(?:correct|right|valid|best|answer))\b"
)
_REJECTED = re.compile(rf"(?<!\w)\(?([A-J])\)?{_REJECTION}|\(([A-J])\)\s*\?")
_NO_STATEMENT = re.compile(rf"[)\]\"'”’]*\s*\?|{_REJECTION}")
_NOT_BUT = re.compile(
    r"not\s+\(?[A-J]\)?(?:\s*(?:,|n?or)\s*\(?[A-J]\)?){0,9},?\s+but\s+(?:rather\s+|instead\s+)?"
)
_NOUN = re.compile(r"(?:the\s+)?(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ll]etter)\s+(?=[(\[\"]?[A-J]\b)")
_CORRECTION = re.compile(
    r"[.!?)\n—]\s{0,9}(?:but\s+|oh,?\s+)?(?=(?:hmm|wait|oops|actually|correction|sorry|scratch\s+that"
    r"|on\s+second\s+thoughts?|let\s+me\s+re)\b|no[,.:;!—])",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?i:it['’]s|it\s+is|it\s+(?:should|must)\s+be|make\s+(?:it|that)|i\s+mean|actually|correction"
    r"|wait|no|oops|sorry|rather|hmm)[,:;.\s—]{1,9}(?i:(?:actually|option|really|clearly)\s+)?"
    r"\(?([A-J])\)?(?=\s*(?:[.!;,]|$))",
    re.MULTILINE,
)
_WITHDRAWN = re.compile(
    r"\b(?:that|this|it)(?:['’]s|\s+is|\s+was)\s+(?:wrong|incorrect|not\s+(?:right|correct))\b"
    r"|\bmistake\b|\bmisread\b",
    re.IGNORECASE,
)
_MENTIONED = re.compile(r"\(([A-J])\)|\b([B-HJ])\b(?!['’])|\b[Oo]ption\s+([A-J])\b")
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
    r"^[ \t>*\-\"'“]{0,20}\(?([A-J])(?:[).:]{1,3}(?=\s|$)(?!\s+[A-Z]\.)|(?=[^\w\n]*$))",
    re.MULTILINE,
)
_IS_LETTER = re.compile(
    r"(?<!not )(?<!never )(?<!n['’]t )\b(?:is|be)(?:\s*:)?\s+\(?([A-HJ])(?:\)|\.\s|\)?\.?$)",
    re.MULTILINE,
)
_PARENTHESISED = re.compile(r"\(([A-J])\)")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|except|cannot|unlike)\b|n['’]t\b", re.I)
_LEAD_IN = re.compile(r"^(?:[:;\"'“‘–—{\s]|-(?!\d))+")
"""What may stand between an anchor and what it names; the minus of "-1" is not it."""


def extract_choice(text: str, choices: Sequence[str]) -> str | None:
    """Return the letter of the option that ``text`` settles on, None if it settles on none."""
    letters = LETTERS[: len(choices)]
    options = [_normalise(choice) for choice in choices]
    text = _TEXT_COMMAND.sub(r"\1", text)
    statements = _statements(text, letters, options)
    if statements:
        last = max(statements)
        named = _corrected(statements[last], text[last:], letters)
    else:
        named = _standing_letters(text, letters)
    if statements or named:
        return named if len(named) == 1 else None
    return _option_alone(text, letters, options)


def _statements(text: str, letters: str, options: Sequence[str]) -> dict[int, str]:
    """Map where an explicit statement stands to the letters it names ("" for "none")."""
    plain = _blank_markup(text)
    found: dict[int, str] = {}
    conditional: dict[int, str] = {}
    for match in _VERDICT.finditer(plain):
        letter = next(group for group in match.groups() if group)
        force = _force(plain, match.start(), match.start(), match.end())
        if letter in letters and force != "none":
            (found if force == "full" else conditional)[match.start()] = letter
    for match in _BOXED.finditer(text):
        named = _named(_MARKUP.sub("", match[1]), letters, options)
        if named is not None:
            found[match.start()] = named
    for match in _ANCHOR.finditer(plain):
        named = _named(plain[match.end() : match.end() + 300], letters, options)
        if named is None:
            continue
        force = _force(plain, match.start(), match.end(), match.end())
        if force != "none":
            (found if force == "full" else conditional)[match.end()] = named
    return found or conditional


def _blank_markup(text: str) -> str:
    """Put spaces for markup, so that positions stay those of ``text``."""
    return _MARKUP.sub(lambda match: " " * len(match[0]), text)


def _force(plain: str, start: int, letter: int, end: int) -> Literal["full", "if", "none"]:
    """Judge by its sentence whether a statement asserts, supposes ("if") or does neither.

    The match begins at ``start``, what it names at ``letter``, what follows it at ``end``.
    """
    before = _SENTENCE_END.split(plain[max(0, start - 300) : start])[-1] + plain[start:letter]
    clause = re.split(r"[,;]", before)[-1]
    if _DENIED.search(clause):
        return "none"
    supposed = _IF.search(before.replace("\n", " ")) is not None
    if re.search(r"\bwould\b|['’]d\b", clause):
        after = _SENTENCE_END.split(plain[end : end + 200].lstrip())[0]
        return "none" if supposed or _ONLY_IF.search(after) else "full"
    return "if" if supposed else "full"


def _corrected(named: str, rest: str, letters: str) -> str:
    """Return what holds after ``rest``, the text from the last statement on: "" if unclear."""
    plain = _blank_markup(rest)
    marker = _CORRECTION.search(plain)
    if marker is None:
        return named
    later = plain[marker.end() :]
    clear = [letter for letter in _CORRECTED.findall(later) if letter in letters]
    if clear:
        return clear[-1]
    mentioned = {next(filter(None, groups)) for groups in _MENTIONED.findall(later)}
    rejected = {first or second for first, second in _REJECTED.findall(later)}
    if named in rejected or (mentioned - rejected - {named}) & set(letters):
        return ""
    return "" if _WITHDRAWN.search(later) else named


def _named(rest: str, letters: str, options: Sequence[str]) -> str | None:
    """Read what a statement names: letters, "" for none of them, None if it names nothing."""
    line = _LEAD_IN.sub("", rest.strip()).split("\n", 1)[0].split("</", 1)[0].strip().rstrip("}")
    line = _NOUN.sub("", _NOT_BUT.sub("", line, count=1), count=1)
    first = _first_letter(line, letters)
    if first is None or line[first[1] :].strip():
        for option, letter in sorted(zip(options, letters, strict=True), key=_longest_first):
            whole = rf"{re.escape(option)}(?![\w%]|[.,/^]\w|\s*\?)"
            if option and re.match(whole, _normalise(line)):
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
    return None if _NO_STATEMENT.match(line, end) else "".join(sorted(named))


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
    found = {*_BOLD.findall(text), *_LINE.findall(plain)}
    for match in _IS_LETTER.finditer(plain):
        if _force(plain, match.start(), match.start(1), match.end(1)) != "none":
            found.add(match[1])
    if not found & set(letters) and not _NEGATION.search(last):
        found = set(_PARENTHESISED.findall(last))
    found -= {first or second for first, second in _REJECTED.findall(plain)}
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
