"""How often calls may go out."""

import threading
import time
from collections.abc import Callable


class Rate:
    """Spaces calls evenly, so that no more than so many go out in any minute; safe for threads.

    Args:
        per_minute: Calls a minute.
        clock: Gives the time in seconds.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._gap_s = 60.0 / per_minute
        self._clock = clock
        self._next = float("-inf")
        self._lock = threading.Lock()

    def take(self) -> float:
        """Take the next free slot; return how many seconds it is away."""
        with self._lock:
            now = self._clock()
            slot = max(now, self._next)
            self._next = slot + self._gap_s
        return slot - now
