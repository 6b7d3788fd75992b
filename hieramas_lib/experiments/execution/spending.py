"""One spending limit over all runs of a sweep, in whatever processes and however often started.

What was spent is read from the call stores, so that killed and failed runs count. A run that may
cost money holds its ``budget_usd`` while it is under way, and starts only if the limit has room
for that. When nothing else is under way it gets what is left; if that is not enough for it, no
other is started.
"""

import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from hieramas_lib.experiments import runs
from hieramas_lib.experiments.execution.plan import Plan
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.paths import call_store_path, results_path

_PAID = """
SELECT coalesce(sum(cost_usd), 0) FROM calls
WHERE paid AND NOT imported AND created >= ? AND experiment IN (?, '')
"""
_LOST = """
SELECT coalesce(sum(most_usd), 0) FROM unanswered WHERE sent >= ? AND experiment IN (?, '')
"""


class Spending:
    """What the runs of a sweep have spent since it was first started, and what is left.

    Args:
        sweep: Its name; ``results/sweeps/<name>.json`` keeps when it was first started.
        experiment: Name of its notebook.
        stores: Call stores of its runs, as in :attr:`.plan.Plan.calls`.
        limit_usd: US dollars for all together; None for no limit.
    """

    def __init__(
        self,
        sweep: str,
        experiment: str,
        stores: Iterable[Path | None],
        limit_usd: float | None,
    ) -> None:
        self.limit_usd = math.inf if limit_usd is None else limit_usd
        self._experiment = experiment
        self._began = _first_start(results_path("sweeps", f"{sweep}.json"))
        self._spent = {store: self._sum(store) for store in {None, *stores}}
        self._used_up = False

    @property
    def spent_usd(self) -> float:
        """US dollars paid, and at the worst case of calls that were cut off."""
        return math.fsum(self._spent.values())

    def refresh(self, store: Path | None) -> None:
        """Read again what a call store says; None is the common one."""
        self._spent[store] = self._sum(store)

    def ended(self, plan: Plan, *, well: bool) -> None:
        """Note that a run has ended, and whether well."""
        self.refresh(plan.calls)
        if not well and plan.allotted_usd < plan.parameters.get("budget_usd", 0.0):
            # What is left now would get no other run through.
            self._used_up = True

    def start(self, plan: Plan, running: Sequence[Plan]) -> Plan | None:
        """Return ``plan`` with what it may spend, or None if there is no room for it now."""
        wanted = plan.parameters.get("budget_usd", 0.0)
        if wanted <= 0 or math.isinf(self.limit_usd):
            return plan
        held = [p.allotted_usd for p in running if not math.isinf(p.allotted_usd)]
        free = self.limit_usd - self.spent_usd - math.fsum(held)
        if wanted <= free:
            return replace(plan, allotted_usd=wanted)
        if held or free <= 0 or self._used_up:
            return None
        return replace(plan, allotted_usd=free)

    def _sum(self, store_path: Path | None) -> float:
        path = store_path or call_store_path()
        if not path.exists():
            return 0.0
        store = CallStore(path)
        values = (self._began, self._experiment)
        try:
            return float(sum(store.rows(query, values)[0][0] for query in (_PAID, _LOST)))
        finally:
            store.close()


def _first_start(path: Path) -> float:
    """Return when the sweep was first started, which is now if it never was."""
    if not path.exists():
        runs.write_whole(path, json.dumps({"began": time.time()}).encode())
    return float(json.loads(path.read_text(encoding="utf-8"))["began"])
