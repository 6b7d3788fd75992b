"""The weak rule for systems without user namespaces (macOS, locked-down Linux).

Careless programs do not get past it; one that knows CPython well can.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from hieramas_lib.tasks.sandbox_isolation import python_folders, solution_folders

_FORBIDDEN = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
    "os.kill", "ctypes.", "pty.", "signal.pthread_kill",
)  # fmt: skip
_READING = ("os.listdir", "os.scandir", "os.chdir")
_WRITING = (
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.chown", "os.truncate", "os.utime", "os.setxattr", "os.removexattr",
)  # fmt: skip


def remove_unaudited() -> None:
    """Delete from this process's modules the ways to signal others that raise no event."""
    for module in ("os", "posix", "signal", "_signal"):
        for name in ("pidfd_open", "pidfd_send_signal"):
            vars(sys.modules.get(module, os)).pop(name, None)


def audit_hook(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Return a hook for :func:`sys.addaudithook`, which cannot be removed again.

    It refuses sockets, new processes, signals to others, foreign libraries, writing outside
    ``folder``, reading outside it and Python's own folders, and reading a benchmark's
    solutions, by PermissionError.
    """
    readable = tuple(os.path.realpath(path) for path in [*python_folders(), folder])
    hidden = tuple(os.path.realpath(path) for path in solution_folders())
    devices = ("/dev/null", "/dev/urandom")
    writable = (os.path.realpath(folder),)
    realpath, write_flags = os.path.realpath, os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def within(text: str, folders: tuple[str, ...]) -> bool:
        return any(text == folder or text.startswith(folder + "/") for folder in folders)

    def inside(path: Any, folders: tuple[str, ...]) -> bool:
        if isinstance(path, int):
            return True
        text = realpath(os.fsdecode(path))
        return text in devices or (within(text, folders) and not within(text, hidden))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not allowed in the sandbox")
        if event == "open":
            allowed = inside(args[0], writable if (args[2] or 0) & write_flags else readable)
        elif event in _READING:
            allowed = inside(args[0] if args[0] is not None else ".", readable)
        elif event in _WRITING:
            names = args[:2] if event in ("os.rename", "os.link", "os.symlink") else args[:1]
            allowed = all(inside(name, writable) for name in names)
        else:
            return
        if not allowed:
            raise PermissionError(f"{event} outside the working folder")

    return hook
