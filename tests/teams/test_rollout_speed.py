"""Rollouts per second with LLMs that answer at once; printed (run with ``-s``), not asserted."""

import asyncio
from time import process_time

import pytest
from team_stubs import TASK, some_roles

from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team


class InstantLLM:
    """Answers every request alike, and counts."""

    def __init__(self) -> None:
        self.calls = 0
        self.completion = Completion("Mercury.\nAnswer: B", "stop", 200, 60, 1e-4, 0.0, False, "k")

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        return self.completion


def measure(size: int, rollouts: int) -> tuple[float, int]:
    """Return rollouts per second of CPU time, and calls made."""
    roles = some_roles(size)
    nodes = tuple(Supernode(name, ("a", "b"), "c") for name in roles.names)
    graphs = reference_pool(size, 15, seed=0)
    jobs = [Job(Team(roles, nodes, graphs[i % len(graphs)], "d"), TASK) for i in range(rollouts)]
    llms = InstantLLM()
    start = process_time()
    results = asyncio.run(run_batch(jobs, llms))
    spent = process_time() - start
    assert all(rollout.grade.correct for rollout in results)
    return rollouts / spent, llms.calls


@pytest.mark.parametrize(("size", "goal"), [(3, 1000), (8, 400)])
def test_rollouts_per_second(size: int, goal: int) -> None:
    measure(size, 20)
    speed, calls = measure(size, 300)
    print(f"\n{size} supernodes x (2+1): {speed:,.0f} rollouts/s of CPU time (goal {goal:,})")
    assert calls == 300 * (3 * size + 1)
