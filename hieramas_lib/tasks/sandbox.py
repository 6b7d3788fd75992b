"""Running model-written programs: limits, isolation and a verdict they cannot forge.

Each program runs in processes of its own, forked from a warm server (Linux and macOS). On Linux
with user namespaces it has no network, sees Python's own folders read-only and one empty
folder in memory; elsewhere an audit hook stands in, which careless programs do not pass but a
determined attacker can. Run the whole project inside a container where that is not enough.
On Windows each program is a plain subprocess with a time limit and little more
(:mod:`.sandbox_plain`).
"""

import atexit
import contextlib
import os
import queue
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.sandbox_plain import run_plain
from hieramas_lib.tasks.sandbox_wire import read_frame, write_frame

ProgramStatus = Literal["passed", "failed", "timeout", "error"]

WORKERS = 2
"""Servers, and so programs that run at the same time, in one process of ours."""

PROGRAM_LIMIT = 2**20
"""Longest program in characters."""

_GRACE_S = 10.0  # beyond a program's own limit before its server counts as broken
_START_S = 30.0


class SandboxUnusable(RuntimeError):
    """Programs cannot be run safely and graded rightly here; the message names the cause."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The verdict on one program.

    Attributes:
        status: ``passed`` (ran to its end, all assertions held), ``failed``, ``timeout``, or
            ``error`` (a failure of ours, never the program's).
        detail: The exception's type, or how the program ended, e.g. ``"exit 0"``.
        seconds: Wall time from the program's start until nothing of it was left; two equal
            results may differ in it.
    """

    status: ProgramStatus
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)


class Server:
    """One warm server process and the pipes to it; one program at a time."""

    def __init__(self, namespaces: bool = True) -> None:
        self._weak = [] if namespaces else ["--weak"]
        self._process: subprocess.Popen[bytes] | None = None
        self.namespaces = False

    def run(self, program: str, tests: str, timeout_s: float) -> ProgramResult:
        """Run one program; a server that died is started again, once."""
        for attempt in (1, 2):
            try:
                return self._run_once(program, tests, timeout_s)
            except (OSError, EOFError, ValueError) as error:
                self.stop()
                if attempt == 2:
                    return ProgramResult("error", f"sandbox server: {error}")
            except BaseException:
                self.stop()  # else an interrupted program's verdict would be the next one's
                raise
        raise AssertionError("unreachable")

    def _run_once(self, program: str, tests: str, timeout_s: float) -> ProgramResult:
        process = self._started()
        request = {"program": program, "timeout_s": timeout_s, "apart": bool(tests)}
        write_frame(_fd(process.stdin), request)
        write_frame(_fd(process.stdin), tests)
        verdict = self._read(process, timeout_s + _GRACE_S)
        return ProgramResult(verdict["status"], verdict["detail"], verdict["seconds"])

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-m", "hieramas_lib.tasks.sandbox_server", *self._weak],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=ROOT, start_new_session=True, bufsize=0,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        try:
            self.namespaces = bool(self._read(self._process, _START_S)["namespaces"])
        except (OSError, EOFError, ValueError) as error:
            self._process.kill()
            stream = self._process.stderr
            said = stream.read().decode(errors="replace") if stream else ""
            self.stop()
            raise SandboxUnusable(
                f"the sandbox server did not start ({error}): {said[-500:]}"
            ) from error
        return self._process

    def _read(self, process: "subprocess.Popen[bytes]", seconds: float) -> dict[str, Any]:
        if not select.select([_fd(process.stdout)], [], [], seconds)[0]:
            raise TimeoutError("no answer")
        frame: dict[str, Any] = read_frame(_fd(process.stdout))
        return frame

    def stop(self) -> None:
        """End the server process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.kill()
        process.wait()

    def forget(self) -> None:
        """Close our ends of the pipes and leave the process alone: it is another's child."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def _fd(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise OSError("no pipe")
    return stream.fileno()


class Sandbox:
    """A pool of servers. Thread-safe; started and self-tested by the first program."""

    def __init__(self, workers: int = WORKERS, namespaces: bool = True) -> None:
        self.servers = tuple(Server(namespaces) for _ in range(workers))
        self._idle: queue.LifoQueue[Server] = queue.LifoQueue()
        for server in self.servers:
            self._idle.put(server)
        self._trusted = False
        self._trust_lock = threading.Lock()

    def run(self, program: str, tests: str = "", timeout_s: float = 5.0) -> ProgramResult:
        """Run one program, see :func:`run_program`."""
        with self._trust_lock:
            if not self._trusted:
                self._self_test()
                self._trusted = True
        return self._run(program, tests, timeout_s)

    def _run(self, program: str, tests: str, timeout_s: float) -> ProgramResult:
        if len(program) > PROGRAM_LIMIT:
            return ProgramResult("failed", "program too long")
        server = self._idle.get()
        try:
            if os.name == "nt":
                started = time.monotonic()
                verdict = run_plain(program, tests, timeout_s)
                return ProgramResult(*verdict, time.monotonic() - started)
            return server.run(program, tests, timeout_s)
        finally:
            self._idle.put(server)

    def _self_test(self) -> None:
        for program, tests, timeout_s, status in _SELF_TEST:
            result = self._run(program, tests, timeout_s)
            if result.status != status:
                raise SandboxUnusable(
                    f"the sandbox's self-test fails on this machine: {program!r} with tests "
                    f"{tests!r} is {result.status} ({result.detail}), not {status}"
                )

    def stop(self) -> None:
        """End the server processes; the next program starts them again."""
        for server in self.servers:
            server.stop()


_SELF_TEST: tuple[tuple[str, str, float, ProgramStatus], ...] = (
    ("def f(x): return x + 1", "assert f(1) == 2", 10.0, "passed"),
    ("def f(x): return x", "assert f(1) == 2", 10.0, "failed"),
    ("assert 1 + 1 == 2", "", 10.0, "passed"),
    ("while True: pass", "", 0.1, "timeout"),
    ("", "assert True", 10.0, "failed"),
)

_shared: Sandbox | None = None
_shared_lock = threading.Lock()


def run_program(program: str, *, tests: str = "", timeout_s: float = 5.0) -> ProgramResult:
    """Run a program under limits and return whether it passes.

    With ``tests`` the program is the candidate, and the tests run in another process, which
    calls the candidate's functions with copies of plain values and gets plain values back:
    nothing the candidate does can reach the verdict. The tests see the candidate's top-level
    names. Without, the program is run as a script that holds its own assertions; this suits
    trusted assertions about ordinary code, but a program that knows this module could claim
    to have reached its end. A program without a statement never passes.

    Args:
        program: Python source.
        tests: Python source with assertions that call functions of ``program``.
        timeout_s: Wall-clock limit in seconds for program and tests together.

    Raises:
        SandboxUnusable: the server does not start, or its self-test fails.
    """
    return shared_sandbox().run(program, tests, timeout_s)


def shared_sandbox() -> Sandbox:
    """Return this process's sandbox; a forked child gets its own."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Sandbox()
            atexit.register(_shared.stop)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_forget_after_fork)
        return _shared


def _forget_after_fork() -> None:
    # A forked child must not talk to its parent's servers, nor keep their pipes open.
    global _shared, _shared_lock
    inherited, _shared, _shared_lock = _shared, None, threading.Lock()
    if inherited is not None:
        atexit.unregister(inherited.stop)
        for server in inherited.servers:
            server.forget()
