"""A few questions by id, a simulated pool that knows them, and a team put together by hand."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import pool_choice
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology


def find_questions(benchmark: str, **ids: str | Iterable[str]) -> list[Task]:
    """Return questions of a shipped benchmark in the order in which they are named.

    Args:
        benchmark: As :func:`~hieramas_lib.tasks.load.load_tasks` takes it.
        **ids: Parameter name to the id, or the ids, that it holds.

    Raises:
        ConfigError: names the parameter, the id that is not there, and the nearest that is.
    """
    tasks = {task.id: task for task in load_tasks(benchmark)}
    found = []
    for field, named in ids.items():
        for name in [named] if isinstance(named, str) else named:
            if name not in tasks:
                nearest = get_close_matches(name, tasks, n=1, cutoff=0.0)[0]
                raise ConfigError(
                    f"{field}: {benchmark} has no question {name!r}; did you mean {nearest!r}?"
                )
            found.append(tasks[name])
    return found


def simulated_llms(benchmark: str, difficulty: str, seed: int) -> LLMService:
    """Connect to the simulated pool in a world that knows the questions of ``benchmark``.

    Args:
        benchmark: As :func:`~.benchmark_source.benchmark_source` takes it.
        difficulty: Settings of the world, see ``data/simulation``.
        seed: Of the world.

    Raises:
        ConfigError: there is no such benchmark or difficulty.
    """
    return pool_choice.simulated_llms(
        pool_choice.pool_of(pool_choice.SIMULATED), benchmark_source(benchmark), difficulty, seed
    )


def hand_made_team(
    roles: RoleSet,
    proposers: Mapping[str, Sequence[str]],
    edges: Iterable[tuple[str, str]],
    *,
    synthesizer: str,
    decision: str,
) -> Team:
    """Return a team in which the roles of ``proposers`` act and all others are pruned.

    Args:
        roles: The role set; its order numbers the nodes.
        proposers: Role that acts to the LLMs that propose for it; with none, its synthesizer
            answers alone.
        edges: Pairs of roles, (who writes, who reads).
        synthesizer: LLM of every role's synthesizer.
        decision: LLM of the final answer.

    Raises:
        ConfigError: a role is not in the set, or the edges are no topology.
    """
    if unknown := [role for role in proposers if role not in roles.names]:
        raise ConfigError(
            f"proposers: role set {roles.name!r} has no {unknown[0]!r}, it has "
            f"{', '.join(roles.names)}"
        )
    supernodes = tuple(
        Supernode(role, tuple(proposers[role]), synthesizer)
        if role in proposers
        else Supernode(role, (), SKIP)
        for role in roles.names
    )
    return Team(roles, supernodes, Topology.from_names(roles.names, edges), decision)
