"""Speed of running teams, with LLMs that answer at once or after a set time (design 14).

Run ``python tests/bench/bench_teams.py``: it prints figures next to their goals and asserts none,
as a busy machine is no fault of the code.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "teams"))

from team_stubs import TASK, some_roles

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.service import LLMService
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team

NAMES = ("a", "b", "c", "d")


class StubLLM:
    """Answers every request alike after ``latency_s``, and counts."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.calls = 0
        self.latency_s = latency_s
        text = "Mercury.\nAnswer: B"
        self.completion = Completion(text, "stop", 200, 60, 1e-4, latency_s, False, "k")

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        return self.completion


def stored(stub: StubLLM, keep_requests: bool) -> LLMService:
    """The stub behind the service, so that every call is keyed, priced and written."""
    fields = {"client": "simulated", "family": "f", "profile": "p"}
    specs = tuple(LLMSpec.model_validate(fields | {"name": n, "model": n}) for n in NAMES)
    pool = LLMPool(name="bench", skip_profile="-", reference="a", llms=specs)
    return LLMService(
        pool, dict.fromkeys(NAMES, stub), CallStore(None, "live", keep_requests=keep_requests)
    )


def jobs_of(size: int, count: int) -> list[Job]:
    """Teams of ``size`` supernodes, two proposers each, on 15 graphs in turn."""
    roles = some_roles(size)
    nodes = tuple(Supernode(name, ("a", "b"), "c") for name in roles.names)
    graphs = reference_pool(size, 15, seed=0)
    return [Job(Team(roles, nodes, graphs[i % len(graphs)], "d"), TASK) for i in range(count)]


def timed(jobs: list[Job], llms: LLMClient, clock: Callable[[], float], slots: int = 64) -> float:
    """Return the seconds that ``clock`` counts while ``jobs`` run."""
    start = clock()
    rollouts = asyncio.run(run_batch(jobs, llms, slots=slots))
    spent = clock() - start
    assert all(rollout.grade.correct for rollout in rollouts)
    return spent


def rollouts_per_second(size: int, goal: int) -> None:
    """Time rollouts with LLMs that answer at once, bare and through a store in memory."""
    timed(jobs_of(size, 20), StubLLM(), time.process_time)
    jobs = jobs_of(size, 300)
    bare = timed(jobs, StubLLM(), time.process_time)
    answers, requests = (
        timed(jobs, stored(StubLLM(), keep), time.process_time) for keep in (False, True)
    )
    print(
        f"{size} supernodes x (2+1), rollouts/s of CPU time: {300 / bare:,.0f} bare, "
        f"{300 / answers:,.0f} with answers stored (goal {goal:,}), "
        f"{300 / requests:,.0f} with requests, too"
    )


def critical_path(latency_s: float) -> None:
    """Compare one rollout's time with that of its longest chain of calls."""
    job = jobs_of(8, 1)[0]
    (rollout,) = asyncio.run(run_batch([job], StubLLM(latency_s)))
    spent = timed([job], StubLLM(latency_s), time.perf_counter)
    goal = 1.05 * rollout.latency_s + 0.02
    print(
        f"one rollout, LLM latency {latency_s} s: {spent:.3f} s, "
        f"critical path {rollout.latency_s:.3f} s (goal {goal:.3f} s)"
    )


def occupancy(latency_s: float, slots: int) -> None:
    """Print the share of the slots' time in which a call was in flight.

    Chains without proposers have one call in flight at a time.
    """
    roles = some_roles(3)
    nodes = tuple(Supernode(name, (), "c") for name in roles.names)
    graphs = [g for g in reference_pool(3, 15, seed=0) if len(g.edges) == 3]
    jobs = [Job(Team(roles, nodes, graphs[i % len(graphs)], "d"), TASK, i) for i in range(200)]
    stub = StubLLM(latency_s)
    spent = timed(jobs, stub, time.perf_counter, slots)
    rounds = -(-len(jobs) // slots)
    share = stub.calls * latency_s / (slots * spent)
    most = len(jobs) / (slots * rounds)
    print(
        f"200 rollouts, {slots} slots, LLM latency {latency_s} s: {spent:.2f} s, "
        f"slots in use {share:.3f}, {share / most:.3f} of what 200 jobs allow (goal 0.95)"
    )


if __name__ == "__main__":
    rollouts_per_second(3, 1000)
    rollouts_per_second(8, 400)
    critical_path(0.2)
    occupancy(0.2, 64)
