"""Answer tasks with a method and keep one tidy row an item.

Columns of a records frame: ``method, benchmark, subject, task_id, split, seed, simulated, status,
correct, extracted, cost_usd, cost_reference, utility, prompt_tokens, completion_tokens, calls,
unpriced, latency_s, topology_id, kept_roles, pruned, tied``. Every planned item has a row: one
whose call did not come back has status ``error`` and is not correct. ``cost_usd`` is as if nothing
were cached, and "at least" where ``unpriced`` is not 0; ``cost_reference`` is the same in calls of
the pool's reference LLM.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.runs import is_simulated
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.utility import utility

if TYPE_CHECKING:
    import pandas as pd


async def evaluate(
    method: Method,
    tasks: Sequence[Task],
    *,
    pool: LLMPool,
    seed: int = 0,
    split: str = "test",
    slots: int = 64,
    on_answer: Callable[[], None] = lambda: None,
) -> "pd.DataFrame":
    """Answer ``tasks`` and return their records, one row a task, in the order given.

    Args:
        method: A trained method, or one that does not learn.
        tasks: The planned items.
        pool: The LLMs that answer: gives the reference cost, and whether they are simulated.
        seed: Of the method's training, or 0; a column only.
        split: Where the tasks come from; a column only.
        slots: Tasks under way at once.
        on_answer: Called after each task, for progress.
    """
    import pandas as pd

    rollouts = await answer_all(method, tasks, slots=slots, on_answer=on_answer)
    return pd.DataFrame(
        [
            item_record(rollout, task, method.name, pool=pool, seed=seed, split=split)
            for rollout, task in zip(rollouts, tasks, strict=True)
        ]
    )


async def answer_all(
    method: Method,
    tasks: Sequence[Task],
    *,
    slots: int = 64,
    on_answer: Callable[[], None] = lambda: None,
) -> list[Rollout]:
    """Answer ``tasks``, at most ``slots`` at a time; the rollouts come in the order given.

    A task whose call failed gives a rollout without calls and with status ``error``. Any other
    error stops the evaluation: no further task is begun, those under way come to their end (what
    they pay for is kept in the call store), then the first error is raised.
    """
    queue = iter(enumerate(tasks))
    results: dict[int, Rollout] = {}
    errors: list[Exception] = []

    async def work() -> None:
        for index, task in queue:
            if errors:
                return
            try:
                results[index] = await method.answer(task)
            except CallError as error:
                results[index] = Rollout(task.id, "", Grade("error", detail=str(error)), ())
            except Exception as error:
                error.add_note(f"{method.name} was answering task {task.id!r}")
                errors.append(error)
            on_answer()

    await asyncio.gather(*(work() for _ in range(min(slots, len(tasks)))))
    if errors:
        left = len(tasks) - len(results)
        errors[0].add_note(
            f"{len(results)} of {len(tasks)} tasks are answered and their calls kept in the call "
            f"store; {left} are left, and the same run goes on with them"
        )
        raise errors[0]
    return [results[index] for index in range(len(tasks))]


def item_record(
    rollout: Rollout, task: Task, method: str, *, pool: LLMPool, seed: int = 0, split: str = "test"
) -> dict[str, Any]:
    """Return one row; cost in reference calls and utility are NaN where the pool has no price."""
    usage, reference = rollout.usage, _reference_cost(pool)
    return {
        "method": method,
        "benchmark": task.benchmark,
        "subject": task.subject,
        "task_id": task.id,
        "split": split,
        "seed": seed,
        "simulated": is_simulated(pool),
        "status": rollout.grade.status,
        "correct": rollout.grade.correct,
        "extracted": rollout.grade.extracted,
        "cost_usd": usage.cost_usd,
        "cost_reference": usage.cost_usd / reference,
        "utility": utility(rollout, reference),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "calls": usage.calls,
        "unpriced": usage.unpriced,
        "latency_s": rollout.latency_s,
        "topology_id": rollout.topology_id,
        "kept_roles": len(rollout.nodes),
        "pruned": ", ".join(rollout.pruned),
        "tied": rollout.tied,
    }


def _reference_cost(pool: LLMPool) -> float:
    try:
        return pool.reference_cost
    except ConfigError:
        return float("nan")
