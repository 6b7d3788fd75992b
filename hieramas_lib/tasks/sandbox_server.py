"""The warm fork server: ``python -m hieramas_lib.tasks.sandbox_server [--weak]``.

Reads two frames a program from standard input (the candidate with its limits, then the tests),
writes one frame back. Each program gets two processes, both forked from this one: the
*checker* runs the tests, and its child, the *candidate*, runs the program. The candidate is
forked before the tests are read, so they are not in its memory. When the verdict is there, or
the time is up, both are killed with everything they started.
"""

import bisect  # noqa: F401  (these are here to be warm: programs import them)
import collections  # noqa: F401
import contextlib
import copy  # noqa: F401
import datetime  # noqa: F401
import functools  # noqa: F401
import gc
import hashlib  # noqa: F401
import heapq  # noqa: F401
import itertools  # noqa: F401
import math  # noqa: F401
import operator  # noqa: F401
import os
import random
import re  # noqa: F401
import select
import shutil
import signal
import string  # noqa: F401
import sys
import tempfile
import time
import typing  # noqa: F401
from dataclasses import dataclass
from typing import Any

from hieramas_lib.tasks import sandbox_isolation as isolation
from hieramas_lib.tasks.sandbox_audit import audit_hook, remove_unaudited
from hieramas_lib.tasks.sandbox_candidate import REPLIES, REQUESTS, run_candidate
from hieramas_lib.tasks.sandbox_checker import Candidate, check
from hieramas_lib.tasks.sandbox_wire import read_frame, write_frame

_IDLE_POLL_S = 2.0
_CHECKER_ENDED = {"status": "error", "detail": "the checker ended"}
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Host:
    """What holds for every program of this server."""

    namespaces: bool
    address_space: int
    processes: int | None
    requests: int
    replies: int


def main() -> None:
    """Isolate this process, then serve until standard input closes or the parent ends."""
    parent = os.getppid()
    host = _prepare("--weak" in sys.argv[1:])
    write_frame(host.replies, {"namespaces": host.namespaces})
    while True:
        ready, _, _ = select.select([host.requests], [], [], _IDLE_POLL_S)
        if ready:
            try:
                request = read_frame(host.requests)
            except EOFError:
                return
            write_frame(host.replies, _run(request, host))
        elif os.getppid() != parent:
            return


def _prepare(weak: bool) -> Host:
    project = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != project]
    sys.argv[:] = [""]
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    address_space = isolation.address_space_bytes() + isolation.MEMORY_BYTES
    requests, replies = os.dup(0), os.dup(1)
    _close_standard_streams()
    namespaces = not weak and isolation.namespaces_work()
    if namespaces:
        isolation.enter_namespaces()
    else:
        isolation.become_nobody()
    isolation.adopt_orphans()
    gc.collect()
    gc.freeze()
    # The kernel counts processes by user: without a namespace, all of the user's count.
    processes = isolation.PROCESSES if namespaces else None
    return Host(namespaces, address_space, processes, requests, replies)


def _close_standard_streams() -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _run(request: dict[str, Any], host: Host) -> dict[str, Any]:
    """Run one program and leave nothing of it behind."""
    started = time.monotonic()
    deadline = started + request["timeout_s"]
    folder = isolation.FOLDER if host.namespaces else tempfile.mkdtemp(prefix="program-")
    if host.namespaces:
        isolation.fresh_folder()
    verdict_r, verdict_w = os.pipe()
    tests_r, tests_w = os.pipe()
    checker = os.fork()
    if checker == 0:
        _become_checker(request, host, folder, tests_r, verdict_w)
    os.close(verdict_w)
    os.close(tests_r)
    candidate = None
    try:
        with contextlib.suppress(BrokenPipeError):
            write_frame(tests_w, read_frame(host.requests))
        candidate = _next_frame(verdict_r, deadline)
        verdict = _next_frame(verdict_r, deadline) if candidate else None
        if verdict == _CHECKER_ENDED and not host.namespaces:
            verdict = verdict | {"status": "failed"}  # only there can a program reach it
    finally:
        os.close(verdict_r)
        os.close(tests_w)
        _sweep([pid for pid in (candidate and candidate.get("pid"), checker) if pid])
        if not host.namespaces:
            _remove(folder)
    verdict = verdict or {"status": "timeout", "detail": f"{request['timeout_s']:g} s"}
    return verdict | {"seconds": time.monotonic() - started}


def _next_frame(fd: int, deadline: float) -> dict[str, Any] | None:
    """Return the checker's next frame, or None once the time is up."""
    ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
    if not ready:
        return None
    try:
        frame: dict[str, Any] = read_frame(fd)
        return frame
    except EOFError:
        return _CHECKER_ENDED


def _sweep(pids: list[int]) -> None:
    """Kill the given processes, their groups and their descendants, and reap them all.

    In a process namespace the kernel kills all that the candidate started. Elsewhere orphans
    become our children (Linux), so killing every child until none is left ends them too.
    """
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for child in _children():
                os.kill(child, signal.SIGKILL)
            time.sleep(0.0005)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _remove(folder: str) -> None:
    for path, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _become_checker(
    request: dict[str, Any], host: Host, folder: str, tests_r: int, verdict_w: int
) -> None:
    """Fork the candidate, then run the tests; never returns."""
    try:
        os.close(host.requests)
        os.close(host.replies)
        requests_r, requests_w = os.pipe()
        replies_r, replies_w = os.pipe()
        if host.namespaces:
            isolation.new_process_namespace()
        pid = os.fork()
        if pid == 0:
            _become_candidate(request, host, folder, requests_r, replies_w)
        os.close(requests_r)
        os.close(replies_w)
        write_frame(verdict_w, {"pid": pid})
        tests = read_frame(tests_r)
        isolation.drop_privileges()
        cpu_s = int(request["timeout_s"]) + 2
        isolation.limit_resources(cpu_s, host.address_space, None)
        random.seed(0)
        write_frame(verdict_w, check(Candidate(pid, requests_w, replies_r), tests))
    finally:
        os._exit(0)


def _become_candidate(
    request: dict[str, Any], host: Host, folder: str, requests_r: int, replies_w: int
) -> None:
    """Take the candidate's place: limits first, then the program; never returns."""
    try:
        os.setsid()
        high = [os.dup(fd) for fd in (requests_r, replies_w, requests_r, replies_w)][-2:]
        os.dup2(high[0], REQUESTS)
        os.dup2(high[1], REPLIES)
        os.closerange(REPLIES + 1, 256)
        os.chdir(folder)
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
        cpu_s = int(request["timeout_s"]) + 2
        isolation.drop_privileges()
        isolation.limit_resources(cpu_s, host.address_space, host.processes)
        random.seed(0)
        if not host.namespaces:
            remove_unaudited()
            sys.addaudithook(audit_hook(folder))
        run_candidate(request["program"], "program" if request["apart"] else "__main__")
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
