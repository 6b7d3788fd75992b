"""What a reasoning model thinks aloud is no part of its answer."""

import re

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_END = re.compile(r"</think(?:ing)?>")


def without_thoughts(text: str) -> str:
    """Return ``text`` without what stands between ``<think>`` tags.

    Where only the closing tag is there, what precedes it is left out too.
    """
    return _END.split(_THOUGHT.sub("", text))[-1]
