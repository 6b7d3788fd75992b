"""Who executes runs: processes of this machine, or whatever else keeps to the same protocol."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from hieramas_lib.experiments.execution.kernel import Outcome
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.experiments.execution.run_process import RunProcess


class Workers(Protocol):
    """Execute several runs at a time."""

    @property
    def slots(self) -> int:
        """Runs that can be executed at once, at least 1."""
        ...

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Execute a plan when its turn has come."""
        ...

    def stop(self) -> None:
        """End what is under way and leave nothing running."""
        ...


class LocalWorkers:
    """Processes of this machine, each for one run at a time."""

    def __init__(self, count: int) -> None:
        self.slots = count
        self._threads = ThreadPoolExecutor(count)
        self._of_thread = threading.local()
        self._processes: list[RunProcess] = []

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Execute a plan when its turn has come."""
        return self._threads.submit(self._run, plan)

    def stop(self) -> None:
        """End what is under way and leave nothing running."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        stops = [threading.Thread(target=process.stop) for process in self._processes]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        self._threads.shutdown()

    def _run(self, plan: Plan) -> Outcome:
        if not hasattr(self._of_thread, "process"):
            self._of_thread.process = RunProcess()
            self._processes.append(self._of_thread.process)
        process: RunProcess = self._of_thread.process
        return process.run(plan)
