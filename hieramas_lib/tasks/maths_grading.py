"""Tell whether two maths answers are equal, within a hard time limit, from any thread.

The comparing is done by :mod:`~hieramas_lib.tasks.maths_worker` in a process started once
and kept warm. It is started by command line, not by multiprocessing, so that it works the
same from a notebook, a script without a main guard, and a pool's worker process.
"""

import atexit
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from functools import lru_cache
from typing import IO, Any

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.maths_rules import settle

TIME_LIMIT_S = 1.2
"""Four times what the slowest of 794 pairs of golds and answers of MATH-500 and ours takes."""

START_LIMIT_S = 120.0
BUSY_FACTOR = 10
"""Wall seconds that one second of CPU time may take before the worker counts as hung."""


_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")
"""Environment of the worker: it parses what models wrote, and has no business with keys."""


class GraderError(RuntimeError):
    """A grade could not be given, by no fault of the answer's author."""


class TimeLimitReached(GraderError):
    """The system ended a comparison at its limit of CPU time, however busy the machine is."""


class MathsComparer:
    """A warm worker process; started again when it breaks.

    Args:
        time_limit_s: Seconds for one comparison: of CPU time, so that a verdict does not
            depend on how busy the machine is, where the system can limit it; else of wall time.
    """

    def __init__(self, time_limit_s: float = TIME_LIMIT_S) -> None:
        self.time_limit_s = time_limit_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._replies: queue.Queue[str | None] = queue.Queue()
        self._owner = os.getpid()
        atexit.register(self.close)

    def compare(self, gold: str, answer: str) -> str:
        """Return one of the worker's verdicts.

        Raises:
            TimeLimitReached: the comparison took more CPU time than the limit.
            GraderError: the worker broke, or hung.
        """
        with self._lock:
            try:
                reply = self._ask(gold, answer)
            except BaseException:
                self._stop()  # also when interrupted: its reply must not answer the next one
                raise
        if reply.get("error") == "timeout":
            raise TimeLimitReached(f"timeout: no verdict within {self.time_limit_s:g} s")
        if "error" in reply:
            raise GraderError(reply["error"])
        return str(reply["verdict"])

    def close(self) -> None:
        """Stop the worker; the next comparison starts another."""
        if os.getpid() != self._owner:  # a forked child at its end: the worker is not its own
            return
        with self._lock:
            self._stop()

    def _ask(self, gold: str, answer: str) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        request = {"gold": gold, "answer": answer, "limit_s": self.time_limit_s}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise GraderError(f"the maths worker broke: {error}") from None
        return self._reply(self.time_limit_s * (BUSY_FACTOR if hasattr(os, "fork") else 1))

    def _start(self) -> None:
        self._stop()
        self._replies = queue.Queue()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hieramas_lib.tasks.maths_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={name: os.environ[name] for name in _KEPT if name in os.environ}
            | {"PYTHONPATH": path},
            start_new_session=True,  # an interrupt of the notebook is not meant for it
        )
        assert self._process.stdout is not None
        reader = threading.Thread(
            target=_pass_on, args=(self._process.stdout, self._replies), daemon=True
        )
        reader.start()
        if not self._reply(START_LIMIT_S).get("ready"):
            raise GraderError("the maths worker did not start")

    def _reply(self, limit_s: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=limit_s)
        except queue.Empty:
            raise GraderError(f"timeout: no verdict within {limit_s:g} s") from None
        if line is None:
            raise GraderError(
                "the maths worker ended unexpectedly; "
                "`python -m hieramas_lib.tasks.maths_worker` shows why"
            )
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _stop(self) -> None:
        if self._process is not None:
            if hasattr(os, "killpg") and self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # with the child that serves
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            self._process = None


def _pass_on(lines: IO[str], replies: "queue.Queue[str | None]") -> None:
    """Move lines from a pipe to a queue; None marks the end."""
    with contextlib.suppress(ValueError, OSError):
        for line in lines:
            replies.put(line)
    replies.put(None)


@lru_cache(maxsize=4)
def _comparer_of(process_id: int) -> MathsComparer:
    """One comparer a process: a forked child must not share its parent's pipe."""
    return MathsComparer()


def shared_comparer() -> MathsComparer:
    """Return this process's comparer."""
    return _comparer_of(os.getpid())


@lru_cache(maxsize=100_000)
def maths_verdict(gold: str, answer: str) -> str:
    """Return ``"equal"``, ``"different"``, what could not be read, or ``"timeout"`` (memoised).

    A timeout is the answer's doing if the gold answer can be evaluated in time: a program that
    takes too long is wrong as well.

    Raises:
        GraderError: the worker failed, or the gold answer is too hard; not memoised.
    """
    settled = settle(gold, answer)
    if settled is not None:
        return "equal" if settled else "different"
    try:
        return shared_comparer().compare(gold, answer)
    except TimeLimitReached:
        alone = shared_comparer().compare(gold, "0")  # which has the gold answer evaluated
        return alone if alone == "unreadable gold" else "timeout"
