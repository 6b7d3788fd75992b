"""Execute notebooks in batches: checked before a kernel starts, skipped where complete.

papermill injects parameters and executes; what it leaves open is done here: unknown names and
wrong types are refused, a run is identified by its configuration, and it counts as complete only
if its notebook ran to the last cell.
"""

import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.config import read_parameters, resolve, run_id
from hieramas_lib.paths import results_path

LAST = ("15_report",)
"""Notebooks that read the results of all others: run alone, at the end, and never out of date."""

_KERNEL_ENVIRONMENT = {
    runs.UNDER_RUNNER: "1",
    "TQDM_DISABLE": "1",
    # One thread a kernel: several run at once, and sums do not depend on the number of cores.
    "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
_STARTED = re.compile(r"""^[^#\n]*\bstart_run\(\s*(["'])(?P<name>[^"'\n]*)\1""", re.MULTILINE)
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """A run that has been checked: what to execute, with which values, into which folder."""

    notebook: Path
    values: dict[str, Any]
    folder: Path

    @property
    def up_to_date(self) -> bool:
        """Whether the run is complete and, for one that reads all others, the newest."""
        if runs.status(self.folder) != "complete":
            return False
        if self.notebook.stem not in LAST:
            return True
        others = (p for p in results_path().glob("*/*/run.json") if p.parent != self.folder)
        own = (self.folder / "run.json").stat().st_mtime_ns
        return all(path.stat().st_mtime_ns < own for path in others)


def notebooks() -> list[Path]:
    """Return the collection in reading order."""
    return sorted(runs.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def find_notebook(name: str) -> Path:
    """Find a notebook by path, name (``05_stage1_policy``, ``my_05``) or number (``05``).

    Raises:
        ConfigError: there is none, or several.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.exists():
        return path
    own = sorted(runs.NOTEBOOKS.glob("my_*.ipynb"))
    found = [p for p in notebooks() if path.stem in (p.stem, p.stem[:2])]
    found += [p for p in own if path.stem == p.stem]
    if len(found) == 1:
        return found[0]
    there = ", ".join(p.stem for p in found or [*notebooks(), *own])
    raise ConfigError(f"no notebook {name!r}; there are {there or 'none'}")


def run_notebook(
    notebook: Path, parameters: Mapping[str, Any] | None = None, *, force: bool = False
) -> Outcome:
    """Execute ``notebook`` with ``parameters`` in place of its defaults, into the run's folder.

    Nothing is executed if the run with that configuration is complete, unless ``force``.

    Raises:
        ConfigError: unknown parameter, wrong type or a copy that starts the run of another
            notebook (all before a kernel starts), or bad input that the notebook itself found.
        NotebookFailed: a cell raised, the kernel died, or the run was not finished.
    """
    plan = _plan(notebook, parameters or {})
    if plan.up_to_date and not force:
        return Outcome(notebook.stem, plan.folder, 0.0, skipped=True)
    return _execute(plan)


def run_all(
    *,
    force: bool = False,
    workers: int = 2,
    on_progress: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run the whole collection at its defaults, ``workers`` notebooks at a time.

    Complete runs are skipped unless ``force``. A failing notebook does not stop the others.
    ``on_progress`` gets one line a notebook as it ends.

    Raises:
        NotebookFailed: at the end, with one line for each notebook that failed.
    """
    return run_several(
        [(path, {}) for path in notebooks()], force=force, workers=workers, on_progress=on_progress
    )


def run_several(
    chosen: Sequence[tuple[Path, Mapping[str, Any]]],
    *,
    force: bool = False,
    workers: int = 2,
    on_progress: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run notebooks, each with its parameters; the rest is as in :func:`run_all`.

    Raises:
        ConfigError: a parameter is unknown or has the wrong type; before any notebook runs.
        NotebookFailed: at the end, with one line for each notebook that failed.
    """
    plans = [_plan(path, values) for path, values in chosen]
    last = [plan for plan in plans if plan.notebook.stem in LAST]
    todo = [plan for plan in plans if plan not in last and (force or not plan.up_to_date)]
    outcomes = [
        Outcome(plan.notebook.stem, plan.folder, 0.0, skipped=True)
        for plan in plans
        if plan not in todo and plan not in last
    ]
    for outcome in outcomes:
        on_progress(_line(outcome))
    failures: list[str] = []
    for batch, width in ((todo, workers), (last, 1)):
        for stem, future in _submit(batch, min(width, len(batch)), force):
            try:
                outcomes.append(future.result())
                on_progress(_line(outcomes[-1]))
            except Exception as error:
                known = isinstance(error, NotebookFailed | ConfigError)
                failures.append(str(error) if known else f"{stem}: {type(error).__name__}: {error}")
                on_progress(f"{stem:<22} FAILED")
    if failures:
        raise NotebookFailed("\n".join(failures))
    return outcomes


def _submit(
    plans: Sequence[_Plan], workers: int, force: bool
) -> Iterator[tuple[str, Future[Outcome]]]:
    """Run plans, ``workers`` at a time and each in a process of its own; yield them as they end."""
    if not plans:
        return
    pool = ThreadPoolExecutor(workers)
    try:
        futures = {pool.submit(_in_own_process, p, force): p.notebook.stem for p in plans}
        for future in as_completed(futures):
            yield futures[future], future
    finally:
        pool.shutdown(cancel_futures=True)  # Ctrl-C begins no further notebook


def _in_own_process(plan: _Plan, force: bool) -> Outcome:
    """Run one plan in a new process: if it is killed, no other notebook goes with it."""
    # Spawned, not forked: the same on every system, and safe beside threads.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context) as process:
            return process.submit(run_notebook, plan.notebook, plan.values, force=force).result()
    except BrokenProcessPool as error:
        raise NotebookFailed(
            f"{plan.notebook.stem}: {error} If memory ran out, run fewer notebooks at a time "
            "(--workers 1)"
        ) from None


def _line(outcome: Outcome) -> str:
    if not outcome.skipped:
        return f"{outcome.experiment:<22} done in {outcome.seconds:.0f} s"
    return f"{outcome.experiment:<22} skipped (complete)"


def _plan(notebook: Path, values: Mapping[str, Any]) -> _Plan:
    config = resolve(read_parameters(notebook), values, notebook.stem)
    _refuse_name_of_another(notebook)
    plain = config.plain()
    folder = results_path(notebook.stem, run_id(notebook.stem, config))
    return _Plan(notebook, {name: plain[name] for name in values}, folder)


def _refuse_name_of_another(notebook: Path) -> None:
    """Raise ConfigError if the notebook, a copy as a rule, starts a run under another name."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    if (started := _STARTED.search(code)) and started["name"] != notebook.stem:
        raise ConfigError(
            f"{notebook.name}: it starts the run of {started['name']!r}. Fix: rename the first "
            f"argument of start_run to {notebook.stem!r}"
        )


def _execute(plan: _Plan) -> Outcome:
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    began = time.monotonic()
    plan.folder.mkdir(parents=True, exist_ok=True)
    (plan.folder / "run.json").unlink(missing_ok=True)
    try:
        with environment(_KERNEL_ENVIRONMENT):
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
        (plan.folder / "run.json").unlink(missing_ok=True)
        raise _failure(plan.notebook.stem, error) from None
    except (DeadKernelError, RuntimeError) as error:
        raise NotebookFailed(f"{plan.notebook.stem}: the kernel died: {error}") from None
    if runs.status(plan.folder) != "written":
        raise NotebookFailed(
            f"{plan.notebook.stem}: no finished run in {plan.folder}. The notebook must call "
            f'start_run("{plan.notebook.stem}", ...) with its own parameters, and run.finish()'
        )
    runs.mark_complete(plan.folder)
    return Outcome(plan.notebook.stem, plan.folder, time.monotonic() - began, skipped=False)


def _failure(stem: str, error: Any) -> Exception:
    """Return the error to raise for papermill's: ours is one the user can fix."""
    if error.ename == "ConfigError":
        return ConfigError(f"{stem}: {error.evalue}")
    if error.ename == "BudgetExceeded":
        # The error's notes come after it; the last says how much was finished.
        last = error.traceback[-1] if error.traceback else error.evalue
        done = "" if error.evalue in last else f"; {last}"
        return NotebookFailed(
            f"{stem}: the budget is used up: {error.evalue}{done}. The answers so far are kept in "
            f"{results_path('calls.sqlite')} and not paid again: raise budget_usd and run again"
        )
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return NotebookFailed(
        f"{stem}: cell {error.cell_index} ({first.strip()!r} ...) raised "
        f"{error.ename}: {error.evalue}"
    )


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
