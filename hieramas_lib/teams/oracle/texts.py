"""Expected utility by asking: the text path, for any LLM client.

For real LLMs nothing is known but what they answer, so this is their oracle, given money. On the
simulated pool it is what ``SymbolicTeams`` is checked against.
"""

from collections.abc import Sequence

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.oracle.estimate import Results
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team


async def text_results(
    team: Team,
    tasks: Sequence[Task],
    llms: LLMClient,
    pool: LLMPool,
    *,
    samples: int = 4,
    slots: int = 64,
) -> Results:
    """Run ``team`` on ``tasks`` with texts, ``samples`` times each.

    Equal prompts of two teams get the same reply, so their results can be compared by
    :meth:`Results.minus` as well; what differs early, differs in luck from there on.

    Args:
        team: The team.
        tasks: Questions of the kind of the team's roles.
        llms: Where calls go; simulated or real.
        pool: Their prices.
        samples: Repetitions of every question.
        slots: Rollouts under way at once.

    Raises:
        ConfigError: an LLM of the team has no price; before any call.
        Exception: what ``run_batch`` raises.
    """
    reference = pool.reference_cost
    _check_prices(team, pool)
    jobs = [Job(team, task, sample) for sample in range(samples) for task in tasks]
    rollouts = await run_batch(jobs, llms, slots=slots)
    shape = (samples, len(tasks))
    cost = np.array([rollout.usage.cost_usd / reference for rollout in rollouts])
    right = np.array([_verdict(rollout) for rollout in rollouts])
    return Results(right.reshape(shape), cost.reshape(shape))


def _verdict(rollout: Rollout) -> float:
    return np.nan if rollout.grade.status == "error" else float(rollout.grade.correct)


def _check_prices(team: Team, pool: LLMPool) -> None:
    nodes = [team.supernodes[node] for node in team.kept]
    used = {llm for node in nodes for llm in (*node.active_proposers, node.synthesizer)}
    for llm in sorted(used | {team.decision}):
        if pool[llm].price is None:
            raise ConfigError(f"pool {pool.name!r}: utility counts cost, so give {llm!r} a price")
