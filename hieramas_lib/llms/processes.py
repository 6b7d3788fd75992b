"""Telling whether the process that left a mark is still there."""

import os
import socket
from functools import lru_cache

_CLOCK_ERROR_S = 2.0
"""The time a process began is worked out from the wall clock, which may be set meanwhile."""


def this_process() -> str:
    """Name this process as no other one is: host, number, and when it began."""
    return _named(os.getpid())


def is_alive(process: str) -> bool:
    """Whether the process that :func:`this_process` named may still be running.

    One of another machine cannot be looked up, and counts as running.
    """
    import psutil

    host, number, began = process.rsplit(" ", 2)
    if host != socket.gethostname():
        return True
    try:
        found = psutil.Process(int(number))
        same = abs(found.create_time() - float(began)) < _CLOCK_ERROR_S
        return same and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@lru_cache(maxsize=1)
def _named(number: int) -> str:
    import psutil

    return f"{socket.gethostname()} {number} {psutil.Process(number).create_time():.2f}"
