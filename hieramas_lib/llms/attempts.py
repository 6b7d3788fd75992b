"""How often a call was sent and may have been billed: counted by its client, charged by limits.

An SDK repeats a call by itself and shows the last attempt only. The ones before it may have been
billed all the same: a timeout or a lost connection does not stop the provider's work.
"""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Attempts:
    """Attempts of one call.

    Attributes:
        billable: Those that may have been billed, the one with the answer included.
    """

    billable: int = 0


_OF_CALL: ContextVar[Attempts] = ContextVar("attempts of the call under way")


def count_in(attempts: Attempts) -> None:
    """Have the call that the running task makes next counted in ``attempts``.

    It counts as one attempt, unless its client begins to count itself.
    """
    attempts.billable = 1
    _OF_CALL.set(attempts)


def begin_count() -> None:
    """Begin at 0, as the client of the call will count each attempt; see :func:`count_attempt`."""
    attempts = _OF_CALL.get(None)
    if attempts is None:
        _OF_CALL.set(Attempts())
    else:
        attempts.billable = 0


def count_attempt() -> None:
    """Count an attempt that may have been billed."""
    _OF_CALL.get().billable += 1
