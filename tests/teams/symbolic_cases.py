"""Random teams on the shipped questions of every kind, replayed with texts and without."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Kind, Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

POOL = load_pool(data_path("llm_pool.yaml")).simulated()
SETS: dict[Kind, str] = {"choice": "knowledge", "maths": "maths", "code": "humaneval"}
HARD = load_settings("hard")


def some_tasks(kind: Kind, count: int) -> list[Task]:
    """Every so many-th question of the shipped set, so that all subjects are there."""
    tasks = load_tasks(SETS[kind])
    return tasks[:: max(1, len(tasks) // count)][:count]


def settings(*, call_noise: float = 0.0, blank_rate: float = 0.0) -> WorldSettings:
    """The hard world with other luck."""
    noise = HARD.with_knobs("difficulty", call_noise=call_noise)
    return noise.with_knobs("replies", blank_rate=blank_rate)


def random_team(roles: RoleSet, rng: np.random.Generator, *, skip: float = 0.25) -> Team:
    """Any graph, any LLMs, with up to three proposers, skips and repeated LLMs included."""
    size, width = len(roles.roles), int(rng.integers(0, 4))

    def llm() -> str:
        return SKIP if rng.random() < skip else str(rng.choice(POOL.names))

    nodes = tuple(Supernode(n, tuple(llm() for _ in range(width)), llm()) for n in roles.names)
    order = rng.permutation(size)
    density = rng.random()
    edges = [
        (int(order[i]), int(order[j]))
        for j in range(size) for i in range(j) if rng.random() < density
    ]  # fmt: skip
    decision, reads = str(rng.choice(POOL.names)), str(rng.choice(["all", "sinks"]))
    return Team(roles, nodes, Topology(size, tuple(edges)), decision, reads)  # type: ignore[arg-type]


def service(tasks: Sequence[Task], knobs: WorldSettings, seed: int = 0) -> LLMService:
    """The simulated pool, with texts."""
    return connect(POOL, world=World(tasks, knobs, POOL, seed))


def with_texts(
    team: Team, tasks: Sequence[Task], llms: LLMService, samples: int = 1
) -> list[Rollout]:
    """Rollouts, repetition by repetition."""
    jobs = [Job(team, task, sample) for sample in range(samples) for task in tasks]
    return asyncio.run(run_batch(jobs, llms))


def roles_for(kind: Kind) -> RoleSet:
    return load_roles(kind)


def again(task: Task, number: int) -> Task:
    """Another question with the same answers."""
    return replace(task, id=f"{task.id}#{number}", prompt=f"{task.prompt}\nVersion {number}.")
