"""How many tokens a text has, by a fixed rule that needs no tokeniser's vocabulary."""

import re
from functools import lru_cache

_PIECE = re.compile(r"[^\W\d_]{1,8}|\d{1,3}|[^\w\s]|_")


@lru_cache(maxsize=4096)
def count_tokens(text: str) -> int:
    """Count the pieces of ``text``: eight letters at most, three digits at most, or one sign.

    White space is free, as tokenisers glue it to the next word. The shipped knowledge questions
    have 4.3 characters a token by this rule, the maths and code tasks 3.0 to 3.5, near the
    byte-pair encodings of current LLMs. Other scripts are counted consistently, not realistically.
    """
    return len(_PIECE.findall(text))


def cut_tokens(text: str, limit: int) -> str:
    """Return the start of ``text`` that has ``limit`` tokens, all of it if it has fewer."""
    for number, piece in enumerate(_PIECE.finditer(text)):
        if number == limit:
            return text[: piece.start()]
    return text
