"""Same seed, same bytes: at one slot and at many, in one process and in another."""

import json
import os
import subprocess
import sys

import pytest
from team_stubs import TASK, StubLLM, make_team

from hieramas_lib.methods.run import run
from hieramas_lib.teams import graph_pool
from hieramas_lib.teams.executor import run_team

SCRIPT = """
import asyncio, random, sys
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team

benchmark, slots = sys.argv[1], int(sys.argv[2])
tasks = load_tasks(benchmark)
pool = load_pool(data_path("llm_pool.yaml")).simulated()
service = connect(pool, world=World(tasks, load_settings("hard"), pool, seed=3))
roles = load_roles(tasks[0].kind)
graphs = reference_pool(len(roles.roles), 12, seed=3)
draw = random.Random(3)


class Jitter:
    # Calls come back in an order that no two runs share.
    async def complete(self, request):
        if slots > 1:
            await asyncio.sleep(0.002 * random.random())
        return await service.complete(request)


def team(graph):
    names = [*pool.names, SKIP]
    nodes = tuple(
        Supernode(role, (draw.choice(names), draw.choice(names)), draw.choice(names))
        for role in roles.names
    )
    return Team(roles, nodes, graph, "gemma-3-27b", draw.choice(["all", "sinks"]))


jobs = [Job(team(graph), task) for task in tasks[:: len(tasks) // 6][:6] for graph in graphs]
# The same team on the same task a second time: one of the two is answered from the store.
jobs += jobs[:5]
for rollout in asyncio.run(run_batch(jobs, Jitter(), slots=slots, grade_nodes=True)):
    sys.stdout.buffer.write(rollout.to_json().encode() + b"\\n")
"""


def lines(benchmark: str, slots: int, hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, benchmark, str(slots)],
        env=environment, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("benchmark", ["knowledge", "maths"])
def test_same_bytes_at_1_and_64_slots_in_two_processes(benchmark: str) -> None:
    one = lines(benchmark, 1, "1")
    assert one == lines(benchmark, 64, "2")
    records = [json.loads(line) for line in one.splitlines()]
    assert len(records) == 6 * 12 + 5
    assert len({record["grade"]["status"] for record in records}) > 1, "the runs differ in nothing"


def test_a_line_holds_every_position_with_key_tokens_cost_and_text() -> None:
    rollout = run(run_team(make_team(graph_pool.chain(2)), TASK, StubLLM(), grade_nodes=True))
    record = json.loads(rollout.to_json())
    assert [(c["role"], c["position"], c["llm"]) for c in record["calls"]] == [
        (call.role, call.position, call.llm) for call in rollout.calls
    ]
    for call, line in zip(rollout.calls, record["calls"], strict=True):
        assert call.completion is not None
        assert line["completion"] == {
            "text": call.text,
            "finish_reason": "stop",
            "prompt_tokens": call.completion.prompt_tokens,
            "completion_tokens": 5,
            "cost_usd": call.completion.cost_usd,
            "latency_s": call.completion.latency_s,
            "request_key": call.completion.request_key,
        }
    assert record["requested_edges"] == record["delivered_edges"] != []
    assert record["nodes"][0]["grade"]["status"] == "correct"
    assert "\n" not in rollout.to_json()
