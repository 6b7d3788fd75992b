"""``hieramas sweep``: many runs of one notebook, checked together, resumable, under one limit.

The state of a sweep is that of its runs' folders and call stores: a start executes what is not
complete, whatever ended an earlier one.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.batch import message, run_plans
from hieramas_lib.experiments.execution.kernel import Outcome
from hieramas_lib.experiments.execution.notebooks import find_notebook
from hieramas_lib.experiments.execution.plan import Plan, plan_run
from hieramas_lib.experiments.execution.spending import Spending
from hieramas_lib.experiments.execution.sweep_file import read_sweep
from hieramas_lib.experiments.execution.sweep_result import Progress, SweepResult, progress_of
from hieramas_lib.experiments.execution.workers import Workers

_FAULTS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep whose names and types have been checked.

    Attributes:
        name: Of its file, without the ending.
        plans: Its runs, each once.
        labels: For each run the parameters in which the runs differ, e.g. ``"width=1, seed=0"``.
        budget_usd: Limit on what all runs spend together; None for none.
    """

    name: str
    plans: tuple[Plan, ...]
    labels: tuple[str, ...]
    budget_usd: float | None

    def todo(self, *, force: bool = False) -> list[Plan]:
        """Return the runs that are not complete, or all; those that cannot cost money first."""
        left = [plan for plan in self.plans if force or not plan.up_to_date]
        return sorted(left, key=lambda plan: bool(plan.parameters.get("budget_usd", 0.0) > 0))

    def label(self, plan: Plan) -> str:
        """Return the label of one of its runs."""
        folders = [p.folder for p in self.plans]
        return self.labels[folders.index(plan.folder)]


def plan_sweep(path: Path, *, budget_usd: float | None = None) -> Sweep:
    """Read a sweep and check names and types of all its runs; nothing is started.

    Args:
        path: Its YAML file, see :class:`~.sweep_file.SweepFile`.
        budget_usd: Limit instead of the file's.

    Raises:
        ConfigError: names the file, and the faults of its runs.
    """
    file = read_sweep(path)
    try:
        beside = path.parent / file.notebook
        is_beside = beside.suffix == ".ipynb" and beside.exists()
        notebook = find_notebook(str(beside) if is_beside else file.notebook)
        chosen = file.values()
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    plans: list[Plan] = []
    faults: list[str] = []
    for values in chosen:
        try:
            plans.append(plan_run(notebook, values))
        except ConfigError as error:
            faults.append(str(error))
    _refuse(path, faults, len(chosen))
    unique = tuple({plan.folder: plan for plan in plans}.values())
    limit = file.budget_usd if budget_usd is None else budget_usd
    return Sweep(path.stem, unique, _labels(unique), limit)


def check_sweep(sweep: Sweep, todo: Sequence[Plan]) -> None:
    """Check what the parameters of the runs stand for, those that agree in it once.

    Raises:
        ConfigError: names the faults.
    """
    faults = []
    for plan in {plan.checked: plan for plan in todo}.values():
        try:
            plan.check()
        except ConfigError as error:
            faults.append(f"{sweep.label(plan)}: {error}" if sweep.label(plan) else str(error))
    _refuse(Path(sweep.name), faults, len(todo))


def run_sweep(
    sweep: Sweep,
    workers: Callable[[], Workers],
    *,
    own_stores: bool = False,
    force: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> SweepResult:
    """Execute the runs of a sweep that are not complete.

    A failing run stops no other.

    Args:
        sweep: What :func:`plan_sweep` returned.
        workers: Makes those that execute; called after all checks.
        own_stores: Whether each run has a call store in its folder: needed beyond one machine. A
            run that was begun so keeps to it.
        force: Whether to run again what is complete.
        on_progress: Called about once a second, and at the end.

    Raises:
        ConfigError: a value that stands for nothing; before any run starts.
        KeyboardInterrupt: after everything has been stopped.
    """
    todo = sweep.todo(force=force)
    check_sweep(sweep, todo)
    result = SweepResult(len(sweep.plans), len(sweep.plans) - len(todo))
    if not todo:
        return result
    stores = {plan.folder: _store(plan, own_stores) for plan in sweep.plans}
    todo = [replace(plan, calls=stores[plan.folder]) for plan in todo]
    spending = Spending(sweep.name, sweep.plans[0].experiment, stores.values(), sweep.budget_usd)
    began = time.monotonic()
    left = {plan.folder: sweep.label(plan) for plan in todo}

    def tick(running: int) -> None:
        if not own_stores:
            spending.refresh(None)
        result.spent_usd, result.seconds = spending.spent_usd, time.monotonic() - began
        on_progress(progress_of(result, running, len(left)))

    for plan, ended in run_plans(todo, workers(), start=spending.start, on_tick=tick):
        label = left.pop(plan.folder)
        spending.ended(plan, well=isinstance(ended, Outcome))
        if isinstance(ended, Outcome):
            result.done += 1
        else:
            result.failures.append((label, message(plan, ended)))
    tick(0)
    result.not_started = list(left.values())
    return result


def _store(plan: Plan, own: bool) -> Path | None:
    """Return the call store of a run in its folder; None if it uses the common one."""
    path = plan.folder / "calls.sqlite"
    return path if own or path.exists() else None


def write_parameters(sweep: Sweep, folder: Path) -> list[Path]:
    """Write the parameters of each run as ``0001.yaml`` and so on, for plain papermill's ``-f``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, plan in enumerate(sweep.plans, start=1):
        paths.append(folder / f"{number:04}.yaml")
        paths[-1].write_text(yaml.safe_dump(plan.values, sort_keys=False), encoding="utf-8")
    return paths


def _labels(plans: Sequence[Plan]) -> tuple[str, ...]:
    texts = [{n: json.dumps(v) for n, v in plan.parameters.items()} for plan in plans]
    differing = [name for name in texts[0] if len({text[name] for text in texts}) > 1]
    return tuple(", ".join(f"{name}={text[name]}" for name in differing) for text in texts)


def _refuse(path: Path, faults: Sequence[str], planned: int) -> None:
    """Raise ConfigError with the faults, each once and the first few."""
    if not faults:
        return
    distinct = list(dict.fromkeys(faults))
    shown = "".join(f"\n  {fault}" for fault in distinct[:_FAULTS_SHOWN])
    more = len(distinct) - _FAULTS_SHOWN
    raise ConfigError(
        f"{path}: {len(faults)} of {planned} runs cannot be made; nothing was started:{shown}"
        + (f"\n  and {more} more" if more > 0 else "")
    )
