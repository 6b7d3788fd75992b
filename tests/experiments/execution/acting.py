"""Stands in for worker processes and kernels: what runs do is acted out in this process."""

from collections.abc import Callable
from concurrent.futures import Future

from hieramas_lib.experiments import runs
from hieramas_lib.experiments.execution.kernel import NotebookFailed, Outcome
from hieramas_lib.experiments.execution.plan import Plan


def act(plan: Plan) -> Outcome:
    """Write the marker of a complete run, or fail where the notebook or its action says so."""
    if "FAILS" in plan.notebook.read_text() or plan.values.get("action") == "fail":
        raise NotebookFailed(f"{plan.experiment}: asked to fail")
    runs.write_whole(plan.folder / "run.json", b'{"status": "complete"}')
    return Outcome(plan.experiment, plan.folder, 1.0, skipped=False)


class ActingWorkers:
    """Executes each plan at once, by calling ``execute``."""

    def __init__(self, execute: Callable[[Plan], Outcome] = act, slots: int = 2) -> None:
        self.execute = execute
        self.slots = slots
        self.stopped = False

    def submit(self, plan: Plan) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        try:
            future.set_result(self.execute(plan))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        self.stopped = True
