"""A process apart that executes runs: if it is killed, no other notebook goes with it.

Plans go in at its standard input and outcomes come out at its standard output, pickled. Starting
one takes seconds of imports, so it is kept for several runs. It ends, and its kernel with it, as
soon as its input is closed: with a stop, or because the process that started it has died.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from _thread import interrupt_main
from typing import IO

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.interruption import GRACE_S
from hieramas_lib.experiments.execution.kernel import NotebookFailed, Outcome, execute
from hieramas_lib.experiments.execution.plan import Plan

RUNS_OF_A_PROCESS = 20
"""After so many runs a new process is started, as each leaves something in memory."""


class RunProcess:
    """Executes plans one after the other, in a process that is started when needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._done = 0
        self._stopped = False

    def run(self, plan: Plan) -> Outcome:
        """Execute ``plan`` there.

        Raises:
            ConfigError, NotebookFailed: as :func:`.kernel.execute` does, or the process died.
        """
        process = self._started()
        try:
            assert process.stdin and process.stdout
            pickle.dump(plan, process.stdin)
            process.stdin.flush()
            outcome = pickle.load(process.stdout)
        except (EOFError, OSError):
            self._process = None
            raise NotebookFailed(_ended(plan, process.wait())) from None
        if isinstance(outcome, Outcome):
            return outcome
        raise outcome

    def stop(self) -> None:
        """End the process, and what it executes, for good."""
        self._stopped = True
        self._retire()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._stopped:
            raise NotebookFailed("stopped")
        if self._done == RUNS_OF_A_PROCESS:
            self._retire()
        if self._process is None:
            self._done = 0
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the process that has started this one.
            )
        self._done += 1
        return self._process

    def _retire(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            process.wait(GRACE_S * 3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ended(plan: Plan, code: int) -> str:
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return (
        f"{plan.experiment}: its process was terminated abruptly, {how}. If memory ran out, run "
        "fewer notebooks at a time (--workers 1)"
    )


def main() -> None:
    """Execute what comes in until the input is closed."""
    # What kernels print must not get between the outcomes.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    plans: queue.SimpleQueue[Plan | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, plans), daemon=True).start()
    try:
        while (plan := plans.get()) is not None:
            pickle.dump(_outcome(plan), answers)
            answers.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)  # Nobody is there to be told.


def _read(plans_in: IO[bytes], plans: "queue.SimpleQueue[Plan | None]") -> None:
    while True:
        try:
            plans.put(pickle.load(plans_in))
        except EOFError:
            plans.put(None)
            interrupt_main()
            return


def _outcome(plan: Plan) -> Outcome | Exception:
    try:
        return execute(plan)
    except (ConfigError, NotebookFailed) as error:
        return error
    except Exception as error:
        return NotebookFailed(f"{plan.experiment}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
