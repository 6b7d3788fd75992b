"""The LLMs of a pool in tables: what they cost, what the ledger says, how many answer at once."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hieramas_lib.experiments.records import evaluate
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import summarise
from hieramas_lib.llms.pool import USUAL_PROMPT_TOKENS, LLMPool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.world import World
from hieramas_lib.methods.single import cot
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet

if TYPE_CHECKING:
    import pandas as pd

_PACE = 0.01
"""Seconds slept in a timing for each second of simulated latency."""


def price_table(pool: LLMPool) -> "pd.DataFrame":
    """Return the price list, one row an LLM, the dearest first and those without a price last.

    Columns: ``llm, family, input, output`` (US dollars per million tokens), ``short_usd`` and
    ``reasoned_usd`` (a usual call, answer only and step by step), ``date, source``.
    """
    import pandas as pd

    rows = [
        {
            "llm": spec.name,
            "family": spec.family,
            "input": spec.price.input if spec.price else None,
            "output": spec.price.output if spec.price else None,
            "short_usd": spec.cost(USUAL_PROMPT_TOKENS, spec.usual_tokens[0]),
            "reasoned_usd": spec.usual_cost(),
            "date": str(spec.price.date) if spec.price else "unknown",
            "source": spec.price.source if spec.price else "unknown",
        }
        for spec in pool.llms
    ]
    money = ["input", "output", "short_usd", "reasoned_usd"]
    table = pd.DataFrame(rows).astype(dict.fromkeys(money, float))
    return table.sort_values("reasoned_usd", ascending=False, kind="stable", ignore_index=True)


def ledger_table(store: CallStore, llms: Sequence[str]) -> "pd.DataFrame":
    """Return what a call store has booked for ``llms``, one row an LLM.

    Columns: ``llm, made`` (calls that went out), ``hits`` (answered from the store),
    ``prompt_tokens, completion_tokens, paid_usd, as_if_usd``.
    """
    import pandas as pd

    names = ("made", "hits", "prompt_tokens", "completion_tokens", "paid_usd", "as_if_usd")
    totals = summarise(store, "model")
    return pd.DataFrame(
        [
            {"llm": llm} | {name: getattr(totals[llm], name) for name in names}
            for llm in llms
            if llm in totals
        ]
    )


async def slot_times(
    world: World, pool: LLMPool, roles: RoleSet, tasks: Sequence[Task], slots: Sequence[int]
) -> "pd.DataFrame":
    """Time the pool's simulated reference LLM on ``tasks`` with so many calls under way at once.

    It really sleeps, a hundredth of the seconds that it says it takes.

    Columns: ``slots, waited_s`` (summed over calls), ``wall_s, speed_up``.
    """
    import pandas as pd

    rows = []
    for limit in slots:
        spec = pool[pool.reference].model_copy(update={"max_concurrency": limit})
        alone = pool.model_copy(update={"llms": (spec,)})
        client = SimulatedClient(spec, world, pace=_PACE)
        service = LLMService(alone, {spec.name: client}, CallStore())
        began = time.perf_counter()
        frame = await evaluate(cot(spec.name, service, roles), tasks, pool=alone)
        wall, waited = time.perf_counter() - began, _PACE * float(frame["latency_s"].sum())
        rows.append({"slots": limit, "waited_s": waited, "wall_s": wall, "speed_up": waited / wall})
    return pd.DataFrame(rows)
