"""What one faulty member costs a method: the same questions answered without it and with it.

For each question one of the members that acted on it in the clean run is drawn, and its texts are
exchanged (:mod:`hieramas_lib.llms.faulty_service`). A member is a role: where several LLMs fill
it, all of them go wrong together. Whoever alone gives the final answer is not drawn: no method
can survive that, and so it would say nothing about teams.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    member: str | None = None,
) -> "pd.DataFrame":
    """Answer ``tasks`` cleanly, then with each kind of fault; return the records of all.

    Columns beside those of :mod:`.records`: ``fault``; ``member``, the role that goes wrong when
    one does, the same for all kinds and empty where nobody can; ``sent``, how many messages the
    graph let that role send to other roles.

    Args:
        method: A trained method that calls ``llms``.
        llms: What it calls.
        tasks: The planned items.
        kinds: Faults, one after the other.
        seed: Of the draw of the faulty members; also the column ``seed``.
        member: The role that goes wrong on every task, in place of a draw.
    """
    import pandas as pd

    clean = await answer_all(method, tasks)
    runs: list[tuple[str, list[Rollout]]] = [(CLEAN, clean)]
    drawn = draw_members(clean, seed) if member is None else {t.id: member for t in tasks}
    sample = 0 if any(_differ_in_sample_only(rollout) for rollout in clean) else None
    for kind in kinds:
        with llms.fault(Fault(kind, drawn, sample)):
            runs.append((kind, await answer_all(method, tasks)))
    rows = []
    for name, rollouts in runs:
        for rollout, task in zip(rollouts, tasks, strict=True):
            record = item_record(rollout, task, method.name, pool=llms.pool, seed=seed)
            role = drawn.get(task.id, "")
            sent = sum(source == role for source, _ in rollout.requested_edges)
            rows.append(record | {"fault": name, "member": role, "sent": sent})
    return pd.DataFrame(rows)


def draw_members(clean: Sequence[Rollout], seed: int) -> dict[str, str]:
    """Draw a faulty member for every task that has members; see :func:`members`."""
    several = {rollout.task_id: members(rollout) for rollout in clean}
    return {task: draw_member(task, roles, seed) for task, roles in several.items() if roles}


def members(rollout: Rollout) -> tuple[str, ...]:
    """Return the roles of which one can go wrong without being the whole answer.

    Left out are the decision, and one that has the last word by itself. In a debate nobody has:
    whoever speaks in its last round has a vote.
    """
    if _differ_in_sample_only(rollout):
        return (rollout.calls[0].role,)
    final = {call.role for call in rollout.calls if call.position == "decision"}
    if not rollout.rounds:
        final |= {call.role for call in rollout.calls[-1:]}
    return tuple(dict.fromkeys(call.role for call in rollout.calls if call.role not in final))


def drop_table(records: "pd.DataFrame") -> "pd.DataFrame":
    """Compare each method with itself under each fault, on the same questions.

    Columns: ``method, fault, n, seeds``, ``accuracy`` under the fault with its interval;
    ``accuracy_gain`` (faulty minus clean, so negative for a drop) and ``sent_gain`` (messages of
    the faulty member to other roles, faulty minus clean) with bootstrap intervals over tasks;
    ``sent``, its messages in the clean run; ``exposed``, the share of items on which a member
    could go wrong.

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
            about = {"method": method, "fault": fault}
            rows.append(about | _drop(clean.loc[faulty.index], faulty))
    return pd.DataFrame(rows)


def _drop(clean: "pd.DataFrame", faulty: "pd.DataFrame") -> dict[str, Any]:
    """Return the numbers of one row; both frames have the same items in the same order."""
    tasks = faulty.index.get_level_values("task_id").tolist()
    row: dict[str, Any] = {
        "n": len(set(tasks)),
        "seeds": faulty.index.get_level_values("seed").nunique(),
    }
    estimates = {
        "accuracy": proportion(faulty["correct"], tasks),
        "accuracy_gain": paired_difference(faulty["correct"], clean["correct"], tasks),
        "sent_gain": paired_difference(faulty["sent"], clean["sent"], tasks),
    }
    for name, interval in estimates.items():
        row |= {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
    exposed = float((faulty["member"] != "").mean())
    return row | {"sent": float(clean["sent"].mean()), "exposed": exposed}


def _differ_in_sample_only(rollout: Rollout) -> bool:
    calls = {(call.role, call.position, call.llm) for call in rollout.calls}
    return len(calls) == 1 and len(rollout.calls) > 1
