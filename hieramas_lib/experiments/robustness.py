"""What one faulty member costs a method: the same questions answered without it and with it.

For each question one of the members that acted on it in the clean run is drawn, and its texts are
exchanged (:mod:`hieramas_lib.llms.faulty_service`). A member is a role: where several LLMs fill
it, all of them go wrong together. Whoever alone gives the final answer is not drawn: no method
can survive that, and so it would say nothing about teams.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.records import answer_all, item_record
from hieramas_lib.experiments.statistics import paired_difference, proportion
from hieramas_lib.llms.faulty_service import Fault, FaultKind, FaultyService, draw_member
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout

if TYPE_CHECKING:
    import pandas as pd

CLEAN = "none"
"""Value of the column ``fault`` in records of answers without a faulty member."""


async def robustness_records(
    method: Method,
    llms: FaultyService,
    tasks: Sequence[Task],
    kinds: Sequence[FaultKind],
    *,
    seed: int,
) -> tuple["pd.DataFrame", list[Rollout]]:
    """Answer ``tasks`` cleanly, then with each kind of fault.

    Args:
        method: A trained method that calls ``llms``.
        llms: What it calls.
        tasks: The planned items.
        kinds: Faults, one after the other.
        seed: Of the draw of the faulty members; also the column ``seed``.

    Returns:
        The records (see :mod:`.records`) with the columns ``fault`` and ``faulty``, the role that
        went wrong, empty where nobody can: see :func:`members`; and all rollouts in their order.
    """
    import pandas as pd

    clean = await answer_all(method, tasks)
    runs: list[tuple[str, Mapping[str, str], list[Rollout]]] = [(CLEAN, {}, clean)]
    for kind in kinds:
        fault = plan_fault(kind, clean, seed)
        with llms.fault(fault):
            runs.append((kind, fault.members, await answer_all(method, tasks)))
    rows = [
        item_record(rollout, task, method.name, pool=llms.pool, seed=seed)
        | {"fault": name, "faulty": faulty.get(task.id, "")}
        for name, faulty, rollouts in runs
        for rollout, task in zip(rollouts, tasks, strict=True)
    ]
    return pd.DataFrame(rows), [rollout for _, _, rollouts in runs for rollout in rollouts]


def plan_fault(kind: FaultKind, clean: Sequence[Rollout], seed: int) -> Fault:
    """Draw a faulty member for every task that has members; see :func:`members`.

    Where the members of a method differ in their sample index only (self-consistency), the first
    sample goes wrong.
    """
    several = {rollout.task_id: members(rollout) for rollout in clean}
    drawn = {task: draw_member(task, roles, seed) for task, roles in several.items() if roles}
    samples = any(_differ_in_sample_only(rollout) for rollout in clean)
    return Fault(kind, drawn, sample=0 if samples else None)


def members(rollout: Rollout) -> tuple[str, ...]:
    """Return the roles of which one can go wrong without being the whole answer.

    Left out are the decision and one that is asked once and has the last word.
    """
    if _differ_in_sample_only(rollout):
        return (rollout.calls[0].role,)
    count = Counter(call.role for call in rollout.calls)
    last = rollout.calls[-1].role if rollout.calls else ""
    decisions = {call.role for call in rollout.calls if call.position == "decision"}
    final = decisions | ({last} if count[last] == 1 else set())
    return tuple(role for role in count if role not in final)


def drop_table(records: "pd.DataFrame") -> "pd.DataFrame":
    """Compare each method with itself under each fault, on the same questions.

    Columns: ``method, fault, n, seeds``, ``accuracy`` under the fault with its interval,
    ``accuracy_gain`` (faulty minus clean, so negative for a drop) with a bootstrap interval over
    tasks, and ``hit``, the share of items on which a member could go wrong.

    Raises:
        ConfigError: a method's clean and faulty records are not of the same items.
    """
    import pandas as pd

    rows = []
    for method, group in records.groupby("method", sort=False):
        clean = group[group["fault"] == CLEAN].set_index(["task_id", "seed"])
        for fault, faulty in group[group["fault"] != CLEAN].groupby("fault", sort=False):
            faulty = faulty.set_index(["task_id", "seed"])
            if set(faulty.index) != set(clean.index):
                raise ConfigError(f"{method}, fault {fault}: other items than without a fault")
            tasks = faulty.index.get_level_values("task_id").tolist()
            accuracy = proportion(faulty["correct"], tasks)
            gain = paired_difference(faulty["correct"], clean["correct"].loc[faulty.index], tasks)
            rows.append(
                {
                    "method": method, "fault": fault, "n": len(set(tasks)),
                    "seeds": group["seed"].nunique(),
                    "accuracy": accuracy.estimate, "accuracy_low": accuracy.low,
                    "accuracy_high": accuracy.high, "accuracy_gain": gain.estimate,
                    "accuracy_gain_low": gain.low, "accuracy_gain_high": gain.high,
                    "hit": float((faulty["faulty"] != "").mean()),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def _differ_in_sample_only(rollout: Rollout) -> bool:
    calls = {(call.role, call.position, call.llm) for call in rollout.calls}
    return len(calls) == 1 and len(rollout.calls) > 1
