"""Team rollouts through the OpenAI SDK: ``python killed_sweep.py URL STORE RECORDS COUNT``.

It goes on from what the store has, and writes its records last, whole or not at all.
"""

import asyncio
import json
import sys
from pathlib import Path

from world_cases import choice_tasks, make_pool

from hieramas_lib.experiments.records import item_record
from hieramas_lib.experiments.runs import write_whole
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team

TASKS = choice_tasks(20)
EXPERIMENT = "killed_sweep"


def pool_at(url: str) -> LLMPool:
    """The test's pool as the OpenAI SDK reaches it at ``url``."""
    pool = make_pool()
    at = {"client": "openai", "base_url": f"{url}/v1"}
    return pool.model_copy(update={"llms": tuple(spec.model_copy(update=at) for spec in pool.llms)})


def jobs(count: int) -> list[Job]:
    """``count`` rollouts of ten calls: three roles with two proposers each, on several graphs."""
    roles = load_roles("choice")
    roles = roles.model_copy(update={"roles": roles.roles[:3]})
    nodes = tuple(
        Supernode(name, ("llama-3.1-8b", "gpt-4o-mini"), "gpt-5-nano") for name in roles.names
    )
    graphs = reference_pool(3, 6, seed=0)
    return [
        Job(Team(roles, nodes, graphs[number % len(graphs)], "gpt-5-mini"), task)
        for number, task in enumerate(TASKS[:count])
    ]


def main(url: str, store: Path, records: Path, count: int) -> None:
    """Run the sweep to its end."""
    llms = connect(pool_at(url), store=CallStore(store, experiment=EXPERIMENT))
    rollouts = asyncio.run(run_batch(jobs(count), llms, slots=3))
    rows = [
        item_record(rollout, task, "team", pool=llms.pool)
        for rollout, task in zip(rollouts, TASKS[:count], strict=True)
    ]
    for row in rows:
        del row["latency_s"]  # How long a call took is no result.
    write_whole(records, "".join(json.dumps(row) + "\n" for row in rows).encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
