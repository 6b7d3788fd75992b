"""Execute one planned run: papermill injects the parameters and executes, the rest is here.

A run is made by one process at a time, and counts as complete only if its notebook ran to the last
cell.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.execution.interruption import interruptible
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.experiments.pool_choice import ALLOTTED
from hieramas_lib.paths import call_store_path

FAILURE = "failure.json"
"""File in the folder of a run that failed: ``{"error": message}``."""

LOCK_WAIT_S = 60.0
"""How long a run that another process is making is waited for: a killed one soon ends."""

_KERNEL_ENVIRONMENT = {
    runs.UNDER_RUNNER: "1",
    "TQDM_DISABLE": "1",
    # One thread a kernel: several run at once, and sums do not depend on the number of cores.
    "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
_KERNEL_START_S = 120
_KERNEL_ARGUMENTS = [
    # ipykernel warns of plain TCP on each start; the connection is local.
    "--log-level=ERROR",
    # jupyter_client interrupts a kernel before it asks it to end. One that is still busy with the
    # last message then reports an error where there is none; nothing else is kept back.
    "--IPKernelApp.exec_lines="
    "__import__('logging').getLogger('IPKernelApp').addFilter("
    "lambda record: 'KeyboardInterrupt caught in kernel' not in record.getMessage())",
]


class NotebookFailed(RuntimeError):
    """A notebook stopped; the message names notebook, cell and error."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one notebook ended well.

    Attributes:
        experiment: Name of the notebook.
        folder: The run's folder.
        seconds: Wall time of this call.
        skipped: Whether the run was complete already.
    """

    experiment: str
    folder: Path
    seconds: float
    skipped: bool


def execute(plan: Plan) -> Outcome:
    """Run a plan, whether or not the run is complete; Ctrl-C is as in :mod:`.interruption`.

    Raises:
        ConfigError: bad input that the notebook itself found, or another process is at this run.
        NotebookFailed: a cell raised, the kernel died, or the run was not finished.
    """
    began = time.monotonic()
    plan.folder.mkdir(parents=True, exist_ok=True)
    with _alone(plan), environment(_environment(plan)):
        for name in ("run.json", FAILURE):
            (plan.folder / name).unlink(missing_ok=True)
        try:
            interruptible(lambda: _papermill(plan))
            _finish(plan)
        except (ConfigError, NotebookFailed) as error:
            (plan.folder / "run.json").unlink(missing_ok=True)
            text = json.dumps({"error": str(error)}, ensure_ascii=False)
            runs.write_whole(plan.folder / FAILURE, text.encode())
            raise
    return Outcome(plan.experiment, plan.folder, time.monotonic() - began, skipped=False)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, for kernels too, and put back what was there."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _environment(plan: Plan) -> dict[str, str]:
    values = _KERNEL_ENVIRONMENT | {
        "HIERAMAS_RESULTS": str(plan.folder.parents[1]),
        ALLOTTED: repr(plan.allotted_usd),
    }
    return values if plan.calls is None else values | {"HIERAMAS_CALLS": str(plan.calls)}


@contextmanager
def _alone(plan: Plan) -> Iterator[None]:
    """Keep other processes from this run; the system releases the lock of one that is killed."""
    from filelock import FileLock, Timeout

    lock = FileLock(plan.folder / ".lock")
    try:
        lock.acquire(timeout=LOCK_WAIT_S)
    except Timeout:
        raise ConfigError(
            f"{plan.experiment}: another process is making run {plan.folder.name}. Fix: wait for "
            "it or end it; the same command then goes on"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _papermill(plan: Plan) -> None:
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    try:
        papermill.execute_notebook(
            plan.notebook,
            plan.folder / "notebook.ipynb",
            parameters=plan.values,
            kernel_name="python3",
            progress_bar=False,
            start_timeout=_KERNEL_START_S,
            extra_arguments=list(_KERNEL_ARGUMENTS),  # nbclient appends to it
        )
    except PapermillExecutionError as error:
        raise _failure(plan, error) from None
    except (DeadKernelError, RuntimeError) as error:
        raise NotebookFailed(f"{plan.experiment}: the kernel died: {error}") from None


def _finish(plan: Plan) -> None:
    if runs.status(plan.folder) != "written":
        raise NotebookFailed(
            f"{plan.experiment}: no finished run in {plan.folder}. The notebook must call "
            f'start_notebook("{plan.experiment}", globals()), and run.finish()'
        )
    runs.mark_complete(plan.folder)


def _failure(plan: Plan, error: Any) -> Exception:
    """Return the error to raise for papermill's: ours is one the user can fix."""
    if error.ename == "ConfigError":
        return ConfigError(f"{plan.experiment}: {error.evalue}")
    if error.ename == "BudgetExceeded":
        return NotebookFailed(f"{plan.experiment}: {_used_up(plan, error)}")
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return NotebookFailed(
        f"{plan.experiment}: cell {error.cell_index} ({first.strip()!r} ...) raised "
        f"{error.ename}: {error.evalue}"
    )


def _used_up(plan: Plan, error: Any) -> str:
    # The error's notes come after it; the last says how much was finished.
    last = error.traceback[-1] if error.traceback else error.evalue
    done = "" if error.evalue in last else f"; {last}"
    of_sweep = plan.allotted_usd < plan.parameters.get("budget_usd", 0.0)
    return (
        f"the budget is used up: {error.evalue}{done}. The answers so far are kept in "
        f"{plan.calls or call_store_path()} and not paid again: raise "
        f"{'the limit of the sweep' if of_sweep else 'budget_usd'} and run again"
    )
