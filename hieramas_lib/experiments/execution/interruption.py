"""Ctrl-C while a kernel works: its calls under way come to their end, and no kernel is left."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import psutil

Result = TypeVar("Result")

GRACE_S = 5.0
"""How long an interrupted kernel may take to wait for its calls."""

_POLL_S = 0.2
_END_S = 30.0


def interruptible(work: Callable[[], Result]) -> Result:
    """Do ``work``, which runs a kernel, and interrupt the kernel where this process is.

    A kernel is in a session of its own and hears nothing of Ctrl-C. It is interrupted like with
    JupyterLab's stop button: no further call goes out, those under way are waited for and kept.
    After :data:`GRACE_S`, or a second Ctrl-C, it is killed.

    Raises:
        KeyboardInterrupt: after the kernel has ended.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            # With a timeout, as Ctrl-C is not noticed in an endless wait on every system.
            while not future.done():
                wait({future}, timeout=_POLL_S)
        except KeyboardInterrupt:
            _end_kernels(future)
            raise
        return future.result()


def _end_kernels(future: "Future[Result]") -> None:
    try:
        for kernel in _kernels():
            kernel.send_signal(signal.SIGINT)
        wait({future}, timeout=GRACE_S)
    finally:
        for kernel in _kernels():
            kernel.kill()
        wait({future}, timeout=_END_S)


def _kernels() -> "Iterator[psutil.Process]":
    """Yield the kernels that this process has started."""
    import psutil

    for child in psutil.Process().children():
        try:
            if any("ipykernel" in argument for argument in child.cmdline()):
                yield child
        except psutil.Error:
            continue  # It has ended meanwhile.
