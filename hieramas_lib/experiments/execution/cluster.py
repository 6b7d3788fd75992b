"""The workers of a ``dask.distributed`` scheduler: the same runs, on several machines.

All machines see one results folder. Each run has a call store of its own in its folder, since a
SQLite file cannot be written from two machines; so a run that is picked up elsewhere still pays
for no answer twice, but equal calls of two runs are paid for by each.
"""

import threading
from concurrent.futures import Future
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.kernel import Outcome
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.experiments.execution.run_process import RunProcess

_CONNECT_S = 15
_POLL_S = 0.5


class ClusterWorkers:
    """The workers of the scheduler at ``address``, such as ``tcp://10.0.0.1:8786``.

    Workers may come and go while runs are executed. A run whose worker is lost is begun again on
    another one.

    Raises:
        ConfigError: the package is missing, or no scheduler answers there.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ConfigError(
                '--scheduler needs dask.distributed: pip install -e ".[cluster]"'
            ) from None
        try:
            self._client: Any = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"--scheduler {address}: no scheduler answers there ({error}). Fix: start one with "
                "`dask scheduler`, and give the tcp:// address that it prints"
            ) from None
        self._executor = self._client.get_executor(pure=False)

    @property
    def slots(self) -> int:
        """Threads of the workers that are there now; 1 while there are none yet."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Execute a plan when its turn has come."""
        future: Future[Outcome] = self._executor.submit(run_on_worker, plan)
        return future

    def stop(self) -> None:
        """Cancel what is under way, which the workers then end, and leave the scheduler alone."""
        self._executor.shutdown(wait=False)
        self._client.close()


def run_on_worker(plan: Plan) -> Outcome:
    """Execute a plan in a process beside this dask worker, for as long as it is asked for.

    Raises:
        ConfigError, NotebookFailed: as :func:`.kernel.execute` does.
    """
    process, ended = RunProcess(), threading.Event()
    watch = threading.Thread(target=_stop_if_dropped, args=(process, ended, *_current_task()))
    watch.start()
    try:
        return process.run(plan)
    finally:
        ended.set()
        process.stop()
        watch.join()


def _current_task() -> tuple[Any, Any]:
    from distributed import get_worker

    worker = get_worker()
    return worker, worker.get_current_task()


def _stop_if_dropped(process: RunProcess, ended: threading.Event, worker: Any, key: Any) -> None:
    """Stop the process when the scheduler no longer wants the task, as dask cannot do it."""
    while not ended.wait(_POLL_S):
        task = worker.state.tasks.get(key)
        if task is None or task.state != "executing":
            process.stop()
            return
