"""What the OpenAI and the Anthropic client share: one raw call, and every way it can end."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from hieramas_lib.errors import CallError

TIMEOUT_S = 120.0
"""Seconds that one attempt may be silent."""

MAX_RETRIES = 4
"""Further attempts by the SDK, which alone retries: stacked retries multiply."""

_MESSAGE_LENGTH = 300

PerLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, Any]
"""An SDK object for each event loop: its connections cannot be used from another."""


async def fetch_reply(
    sending: Awaitable[Any], *, name: str, key: str, deadline_s: float
) -> dict[str, Any]:
    """Await a raw SDK response and return its JSON object.

    The body is read here, not by the SDK, whose models turn a malformed reply into whatever
    error they stumble over.

    Args:
        sending: The SDK's ``with_raw_response`` call.
        name: The pool's name of the LLM, for messages.
        key: The key used; taken out of every message, as a server may echo it.
        deadline_s: Limit on all attempts together. It ends a body that drips on for ever and
            a wait that a server asks for without measure.

    Raises:
        CallError: anything but a JSON object came back.
    """
    try:
        async with asyncio.timeout(deadline_s):
            raw = await sending
    except Exception as error:
        message = _scrub(f"{name}: {error or type(error).__name__}", key)
        raise CallError(_kind(error), message) from None
    try:
        reply = json.loads(raw.http_response.content)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise malformed(name, "the reply is not a JSON object")
    if isinstance(reply.get("error"), dict):
        raise reported(name, reply["error"], key)
    return reply


def malformed(name: str, what: str) -> CallError:
    """Return the error for a reply with status 200 that is no chat reply."""
    return CallError("malformed", f"{name}: {what}")


def reported(name: str, error: dict[str, Any], key: str) -> CallError:
    """Return the error for a fault that a router reports inside a reply with status 200."""
    code = error.get("code")
    kind = _kind_of_status(code) if isinstance(code, int) else "server"
    return CallError(kind, _scrub(f"{name}: {error.get('message', error)}", key))


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON can carry and no file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def token_count(value: object) -> int | None:
    """Return a token count, or None if ``value`` is none."""
    return value if type(value) is int and value >= 0 else None


def _kind(error: Exception) -> str:
    """Classify by status and class name, the same in both SDKs; neither is imported for it."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _kind_of_status(status)
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "timeout"
    if "Connection" in type(error).__name__:
        return "connection"
    return "malformed"


def _kind_of_status(status: int) -> str:
    if status == 408:
        return "timeout"
    if status == 429:
        return "rate_limit"
    return "server" if status >= 500 else "rejected"


def _scrub(message: str, key: str) -> str:
    return " ".join(message.replace(key, "***").split())[:_MESSAGE_LENGTH]
