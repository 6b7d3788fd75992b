"""Speed of running teams, with LLMs that answer at once or after a set time (design 14).

Run ``hieramas bench teams``. It prints figures next to their goals and to what other systems took
when measured in the same way (stubbed LLMs, CPU time of one core, two cores shared with other
work), and asserts none: a busy machine is no fault of the code.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "teams"))

from team_stubs import TASK, some_roles

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.service import LLMService
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import chain, reference_pool
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team

NAMES = ("a", "b", "c", "d")

REPEATS = 5
"""Measurements of which the median counts."""

PEERS = """\
other systems, rollouts/s and core: GDesigner 116 / 85 / 35 at 4 / 6 / 16 agents (about 5, 7, 17
  calls); MASRouter 233 at 5 calls; Agent Q-Mix 800 at 3 agents x 2 rounds, of whom most never
  run; inspect_ai 54 at 1 call; bare asyncio without prompts 2,500 at 10 calls, 1,000 at 25"""

PEERS_IN_FLIGHT = """\
other systems: GDesigner runs a rollout's agents one after the other (6 agents and the decision at
  0.2 s: 1.48 s, ideal 0.6 s at depth 2); MASRouter 85 calls of 0.05 s in 4.48 s, one at a time;
  Agent Q-Mix 1.42 s where 0.6 s would do; bare asyncio 0.94 to 0.95 of the slots in use"""


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


def stored(stub: StubLLM, path: Path | None = None) -> LLMService:
    """The stub behind the service, so that every call is keyed, priced and written.

    In memory, where simulated calls go, answers alone are kept; in a file, requests, too.
    """
    fields = {"client": "simulated", "family": "f", "profile": "p"}
    specs = tuple(LLMSpec.model_validate(fields | {"name": n, "model": n}) for n in NAMES)
    pool = LLMPool(name="bench", skip_profile="-", reference="a", llms=specs)
    store = CallStore(path, "live", keep_requests=path is not None)
    return LLMService(pool, dict.fromkeys(NAMES, stub), store)


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


def median(measure: Callable[[], float]) -> float:
    """Return the median of some measurements."""
    return float(np.median([measure() for _ in range(REPEATS)]))


def rollouts_per_second(size: int, goal: int, count: int = 200) -> None:
    """Time rollouts with LLMs that answer at once, with and without a call store."""
    jobs = jobs_of(size, count)
    timed(jobs, StubLLM(), time.process_time)
    bare = median(lambda: timed(jobs, StubLLM(), time.process_time))
    memory = median(lambda: timed(jobs, stored(StubLLM()), time.process_time))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "calls.sqlite"
        file = median(lambda: timed(jobs, stored(StubLLM(), path), time.process_time))
    print(
        f"{size} supernodes x (2+1), {3 * size + 1} calls, rollouts/s of CPU time: "
        f"{count / memory:,.0f} with calls kept in memory (goal {goal:,}), "
        f"{count / file:,.0f} in a file, {count / bare:,.0f} without a store"
    )


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent b of seconds = a * size ** b, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(what: str, sizes: Sequence[int], measure: Callable[[int], float]) -> None:
    """Print how CPU time grows with a size; 1 is linear."""
    seconds = [median(lambda size=size: measure(size)) for size in sizes]
    times = ", ".join(f"{size}: {s * 1e3:,.1f} ms" for size, s in zip(sizes, seconds, strict=True))
    print(f"growth with {what}: exponent {slope(sizes, seconds):.2f} (goal 1.1); {times}")


def in_tasks(count: int) -> float:
    """Time rollouts of ``count`` tasks."""
    return timed(jobs_of(3, count), stored(StubLLM()), time.process_time)


def in_graphs(count: int) -> float:
    """Time drawing a pool of ``count`` graphs of eight roles, and trying each on one task."""
    start = time.process_time()
    graphs = reference_pool(8, count, seed=0)
    drawn = time.process_time() - start
    roles = some_roles(8)
    nodes = tuple(Supernode(name, (), "c") for name in roles.names)
    jobs = [Job(Team(roles, nodes, graph, "d"), TASK) for graph in graphs]
    return drawn + timed(jobs, stored(StubLLM()), time.process_time)


def in_roles(count: int) -> float:
    """Time teams of ``count`` roles in a chain: as many edges as roles, but for one."""
    roles = many_roles(count)
    nodes = tuple(Supernode(name, ("a", "b"), "c") for name in roles.names)
    jobs = [Job(Team(roles, nodes, chain(count), "d"), TASK, i) for i in range(40)]
    return timed(jobs, stored(StubLLM()), time.process_time)


def many_roles(count: int) -> RoleSet:
    """Return as many roles as wanted, of equal prompts."""
    roles = some_roles(1)
    named = [roles.roles[0].model_copy(update={"name": f"Role {i}"}) for i in range(count)]
    return roles.model_copy(update={"roles": tuple(named)})


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
    print(PEERS)
    critical_path(0.2)
    occupancy(0.2, 64)
    print(PEERS_IN_FLIGHT)
    growth("tasks", (50, 100, 200, 400), in_tasks)
    growth("graphs K", (25, 50, 100, 200), in_graphs)
    growth("roles in a chain", (4, 8, 16, 32), in_roles)
