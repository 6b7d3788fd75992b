"""What a request and the nearest one on a tape do not share: why a call was not found.

Requests are the parsed text of ``ChatRequest.canonical``.
"""

from collections.abc import Sequence
from typing import Any


def difference(asked: dict[str, Any], stored: Sequence[dict[str, Any]]) -> str:
    """Say how the nearest of the ``stored`` requests differs from ``asked``."""
    closest = nearest(asked, stored)
    if closest is None:
        return "there is no stored request to compare it with"
    fields = differs(asked, closest)
    if not fields:
        return "the same request is stored"
    return f"the nearest stored call differs in {fields}"


def nearest(asked: dict[str, Any], stored: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the stored request with the fewest fields other than ``asked``'s, first come."""

    def distance(other: dict[str, Any]) -> tuple[int, int]:
        differing = sum(asked[field] != other.get(field) for field in asked)
        ours, theirs = _flat(asked), _flat(other)
        return differing, -_common_prefix(ours, theirs)

    return min(stored, key=distance, default=None)


def differs(asked: dict[str, Any], stored: dict[str, Any]) -> str:
    """Say in words which fields differ."""
    parts = []
    for field in asked:
        if asked[field] == stored.get(field):
            continue
        if field != "messages":
            parts.append(f"{field}: stored {stored.get(field)!r}, asked {asked[field]!r}")
            continue
        ours, theirs = _flat(asked), _flat(stored)
        at = max(_common_prefix(ours, theirs) - 10, 0)
        theirs, ours = theirs[at : at + 60], ours[at : at + 60]
        parts.append(f"messages: stored ...{theirs!r}, asked ...{ours!r}")
    return "; ".join(parts)


def _flat(request: dict[str, Any]) -> str:
    return "\n".join(f"{m['role']}: {m['content']}" for m in request["messages"])


def _common_prefix(a: str, b: str) -> int:
    pairs = zip(a, b, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
