"""The errors a user can cause and can fix."""

from typing import Literal

BudgetLimit = Literal["usd", "calls", "tokens", "seconds"]


class ConfigError(ValueError):
    """Bad input: a file, parameter, model name or key.

    The message names the file (or parameter), the field and the fix, and is raised
    before the first paid call.
    """


class CallError(RuntimeError):
    """An LLM call that ended without a usable completion, after the SDK's own retries.

    ``kind`` is one of ``"timeout" | "rate_limit" | "server" | "connection" | "malformed" |
    "rejected"``; ``"rejected"`` is a 4xx that no retry can mend.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class BudgetExceeded(RuntimeError):
    """A call was not made because it could have passed a limit.

    ``limit`` names it; the message says what was used so far.
    """

    def __init__(self, message: str, limit: BudgetLimit | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class ReplayMiss(LookupError):
    """A call in replay mode is not on the tape; the message names what differs."""
