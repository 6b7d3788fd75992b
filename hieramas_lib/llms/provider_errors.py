"""Every way in which a call of a provider can fail, as one of this project's errors."""

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.pool import LLMSpec

MAX_WAIT_S = 120.0
"""The longest wait that a server may ask for by a Retry-After; as in the OpenAI SDK."""

_MESSAGE_LENGTH = 300
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "credit balance is too low")
"""What OpenAI and Anthropic say, with 429 or 400, when an account has no credit left."""


class Faults:
    """Makes the errors of one LLM's calls; none of them shows the key.

    A fault of the set-up (401, 403, 404, no credit left, or no server on this machine) is a
    ConfigError, which stops the run: it would meet every call alike. Every other one is a
    CallError, which costs the item at hand and no more.
    """

    def __init__(self, spec: LLMSpec, key: str | None) -> None:
        """Speak about ``spec``; ``key`` is taken out of every message, as a server may echo it."""
        self._spec = spec
        self._key = key

    def raised(self, error: Exception) -> CallError | ConfigError:
        """Return the error for an exception of the SDK."""
        status, response = getattr(error, "status_code", None), getattr(error, "response", None)
        address = self._spec.own_address
        if address and _was_refused(error):
            return ConfigError(
                f"LLM {self._spec.name!r}: nobody listens at {address}. Start the server, or "
                "correct `base_url:` in the pool file"
            )
        if not isinstance(status, int):
            return self._call_error(_kind(error), str(error) or type(error).__name__)
        wait = None if response is None else asked_wait_s(response.headers)
        asked = "" if wait is None else f"the server asks to wait {wait:.0f} s: "
        return self._of_status(status, asked + str(error), getattr(error, "body", None))

    def overdue(self, limit_s: float) -> CallError:
        """Return the error for a call that took longer than all its attempts may."""
        return self._call_error("timeout", f"no answer within {limit_s:g} s, all attempts together")

    def reported(self, error: dict[str, Any]) -> CallError | ConfigError:
        """Return the error for a fault that a router reports inside a reply with status 200."""
        code, message = error.get("code"), str(error.get("message", error))
        if isinstance(code, int):
            return self._of_status(code, message, error)
        return self._call_error("server", message)

    def malformed(self, what: str) -> CallError:
        """Return the error for a reply with status 200 that is no chat reply."""
        return self._call_error("malformed", what)

    def _of_status(self, status: int, message: str, body: object) -> CallError | ConfigError:
        text = json.dumps(body, default=str) + message
        spent = out_of_credit(status, text.encode(errors="replace"))
        fix = None if _is_moderation(body) else self._fix(402 if spent else status)
        if fix is None:
            return self._call_error(_kind_of_status(status), message)
        said = self._scrub(message)
        return ConfigError(f"LLM {self._spec.name!r}: {fix}. The server said {status}: {said}")

    def _fix(self, status: int) -> str | None:
        """Say what to change, if it is the set-up that is wrong."""
        spec, where = self._spec, self._spec.address or "its provider"
        if status == 404:
            return (
                f"{where} has no model {spec.model!r}; correct `model:` or `base_url:` in the "
                "pool file"
            )
        if status == 402:
            return (
                f"the credit at {where} is used up; top it up and run again: all answers so far "
                "are kept in the call store and not paid for again"
            )
        if status not in (401, 403):
            return None
        if spec.key_env is None:
            return f"{where} wants a key; name its environment variable by `key_env:` in the pool"
        if status == 401:
            return f"{where} does not accept the key in {spec.key_env}; set it to a valid one"
        return (
            f"{where} does not let the key in {spec.key_env} use model {spec.model!r}; allow it in "
            "the provider's settings, or take another key or model"
        )

    def _call_error(self, kind: str, message: str) -> CallError:
        return CallError(kind, self._scrub(f"{self._spec.name}: {message}"))

    def _scrub(self, message: str) -> str:
        if self._key:
            message = message.replace(self._key, "***")
        return " ".join(message.split())[:_MESSAGE_LENGTH]


def out_of_credit(status: int, body: bytes) -> bool:
    """Whether a reply says that the account's credit, not this minute's share, is used up."""
    return status == 402 or (
        status in (400, 429) and any(phrase.encode() in body for phrase in _NO_CREDIT)
    )


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After asks for; None if there is none to be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return float(headers[name]) / unit
        except (KeyError, ValueError):
            pass
    try:
        return parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()
    except (KeyError, ValueError, OverflowError):
        return None


def _was_refused(error: BaseException | None) -> bool:
    """Whether the connection was refused, somewhere down the chain of causes."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_moderation(body: object) -> bool:
    """Whether a 403 is about this one prompt: OpenRouter then gives the reasons."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return isinstance(metadata, dict) and ("reasons" in metadata or "flagged_input" in metadata)


def _kind(error: Exception) -> str:
    """Classify by class name, the same in both SDKs; neither is imported for it."""
    if "Timeout" in type(error).__name__:
        return "timeout"
    return "connection" if "Connection" in type(error).__name__ else "malformed"


def _kind_of_status(status: int) -> str:
    if status == 408:
        return "timeout"
    if status == 429:
        return "rate_limit"
    return "server" if status >= 500 else "rejected"
