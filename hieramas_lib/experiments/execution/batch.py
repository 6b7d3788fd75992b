"""Run one notebook here, or several at a time in processes apart."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.kernel import NotebookFailed, Outcome, execute
from hieramas_lib.experiments.execution.notebooks import LAST, notebooks
from hieramas_lib.experiments.execution.plan import Plan, plan_run
from hieramas_lib.experiments.execution.workers import LocalWorkers, Workers

_TICK_S = 1.0

Start = Callable[[Plan, Sequence[Plan]], Plan | None]
"""Given a plan and those under way: the plan to start now, or None to wait."""


def run_notebook(
    notebook: Path, parameters: Mapping[str, Any] | None = None, *, force: bool = False
) -> Outcome:
    """Execute ``notebook`` with ``parameters`` in place of its defaults, into the run's folder.

    Nothing is executed if the run with that configuration is complete, unless ``force``.

    Raises:
        ConfigError: unknown parameter, wrong type, a value that stands for nothing, or a copy
            that starts the run of another notebook (all before a kernel starts), or bad input
            that the notebook itself found.
        NotebookFailed: a cell raised, the kernel died, or the run was not finished.
        KeyboardInterrupt: after the kernel has ended.
    """
    plan = plan_run(notebook, parameters or {})
    if plan.up_to_date and not force:
        return Outcome(plan.experiment, plan.folder, 0.0, skipped=True)
    plan.check()
    return execute(plan)


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
        ConfigError: a parameter is unknown, has the wrong type or stands for nothing; before any
            notebook runs.
        NotebookFailed: at the end, with one line for each notebook that failed.
    """
    plans = [plan_run(path, values) for path, values in chosen]
    last = [plan for plan in plans if plan.experiment in LAST]
    todo = [plan for plan in plans if plan not in last and (force or not plan.up_to_date)]
    for plan in todo:
        plan.check()
    outcomes = [
        Outcome(plan.experiment, plan.folder, 0.0, skipped=True)
        for plan in plans
        if plan not in todo and plan not in last
    ]
    for outcome in outcomes:
        on_progress(_line(outcome))
    failures: list[str] = []
    for plan, ended in _in_turn(todo, last, workers, force):
        if isinstance(ended, Outcome):
            outcomes.append(ended)
            on_progress(_line(ended))
        else:
            failures.append(message(plan, ended))
            on_progress(f"{plan.experiment:<22} FAILED")
    if failures:
        raise NotebookFailed("\n".join(failures))
    return outcomes


def _in_turn(
    first: Sequence[Plan], last: Sequence[Plan], workers: int, force: bool
) -> Iterator[tuple[Plan, Outcome | Exception]]:
    """Run plans side by side, then those that read the results of all others one by one."""
    if first:
        yield from run_plans(first, LocalWorkers(min(workers, len(first))))
    for plan in last:
        if plan.up_to_date and not force:
            yield plan, Outcome(plan.experiment, plan.folder, 0.0, skipped=True)
        else:
            yield from run_plans([plan], LocalWorkers(1))


def run_plans(
    plans: Sequence[Plan],
    workers: Workers,
    *,
    start: Start = lambda plan, running: plan,
    on_tick: Callable[[int], None] = lambda running: None,
) -> Iterator[tuple[Plan, Outcome | Exception]]:
    """Execute plans, as many at a time as there are workers; yield each as it ends.

    Ends when none is under way and ``start`` begins none of the rest. However it is left, by
    Ctrl-C too, nothing of it goes on running.

    Args:
        plans: Begun in this order.
        workers: Stopped at the end.
        start: Says of the next plan whether it may begin.
        on_tick: Gets the number of runs under way, about once a second.
    """
    waiting = deque(plans)
    running: dict[Future[Outcome], Plan] = {}
    try:
        while True:
            while waiting and len(running) < workers.slots:
                plan = start(waiting[0], list(running.values()))
                if plan is None:
                    break
                waiting.popleft()
                running[workers.submit(plan)] = plan
            if not running:
                return
            on_tick(len(running))
            done, _ = wait(running, timeout=_TICK_S, return_when=FIRST_COMPLETED)
            for future in [future for future in running if future in done]:
                plan = running.pop(future)
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield plan, error or future.result()
    finally:
        workers.stop()


def message(plan: Plan, error: Exception) -> str:
    """Say in a line how a run failed."""
    known = isinstance(error, NotebookFailed | ConfigError)
    return str(error) if known else f"{plan.experiment}: {type(error).__name__}: {error}"


def _line(outcome: Outcome) -> str:
    if not outcome.skipped:
        return f"{outcome.experiment:<22} done in {outcome.seconds:.0f} s"
    return f"{outcome.experiment:<22} skipped (complete)"
