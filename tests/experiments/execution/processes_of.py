"""Which processes belong to a test: those started with its results folder."""

import time
from pathlib import Path

import psutil


def processes_of(results: Path) -> list[psutil.Process]:
    """Return the processes, other than this one, that write to ``results``."""
    found = []
    for process in psutil.process_iter():
        try:
            own = process.environ().get("HIERAMAS_RESULTS") == str(results)
            if own and process.pid != psutil.Process().pid and process.status() != "zombie":
                found.append(process)
        except psutil.Error:
            continue
    return found


def left_after(results: Path, seconds: float) -> list[psutil.Process]:
    """Return the processes that are still there when they have had ``seconds`` to end."""
    deadline = time.monotonic() + seconds
    while (left := processes_of(results)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
