"""Many teams replayed at once do what they do with texts."""

import asyncio

import numpy as np
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.learning_curve.mixed_tables import tables_of
from hieramas_lib.experiments.learning_curve.mixed_teams import MixedTeams
from hieramas_lib.experiments.learning_curve.rollouts import ReplayedRollouts, as_arrays
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Reads

POOL = load_pool(data_path("llm_pool.yaml")).simulated()
ROLES = load_roles("choice")
DECISION = "gemma-3-27b"
TASKS = load_tasks("knowledge", "train")[:20]
HARD = load_settings("hard")
NO_LUCK = HARD.model_copy(
    update={
        "difficulty": HARD.difficulty
        | {"choice": HARD.difficulty["choice"].model_copy(update={"call_noise": 0.0})},
        "replies": HARD.replies.model_copy(update={"blank_rate": 0.0}),
    }
)


def random_jobs(count: int, reads: Reads) -> list[Job]:
    """One random team for each of ``count`` rollouts."""
    graphs = reference_pool(len(ROLES.roles), 20, seed=0).topologies
    options = TeamOptions(ROLES, POOL.names, 2, graphs, DECISION, reads)
    rng = np.random.default_rng(0)
    return [Job(options.random(rng), TASKS[i % len(TASKS)], i) for i in range(count)]


def mixed(world: World, reads: Reads = "all") -> MixedTeams:
    tables = tables_of(world, POOL, ROLES, TASKS, DECISION)
    return MixedTeams(tables, world.settings, POOL.names.index(DECISION), reads)


@pytest.mark.parametrize("reads", ["all", "sinks"])
def test_without_luck_every_reply_is_that_of_the_text_path(reads: Reads):
    world = World(TASKS, NO_LUCK, POOL, seed=3)
    jobs = random_jobs(60, reads)
    expected = asyncio.run(run_batch(jobs, connect(POOL, world=world), grade_nodes=True))
    tables = tables_of(world, POOL, ROLES, TASKS, DECISION)
    runner = ReplayedRollouts(mixed(world, reads), tables.codes, POOL, seed=0)
    got = asyncio.run(runner(jobs))
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.task_id == theirs.task_id
        assert ours.grade.correct == theirs.grade.correct
        assert [n.role for n in ours.nodes] == [n.role for n in theirs.nodes]
        for node, text in zip(ours.nodes, theirs.nodes, strict=True):
            assert node.grade and text.grade and node.grade.correct == text.grade.correct
    costs = [[r.usage.cost_usd for r in rollouts] for rollouts in (got, expected)]
    assert np.mean(costs[0]) == pytest.approx(np.mean(costs[1]), rel=0.05)


def test_costs_are_the_expected_ones_of_the_symbolic_replay():
    world = World(TASKS, NO_LUCK, POOL, seed=4)
    symbolic = SymbolicTeams(world, POOL, ROLES, TASKS, draws=1)
    for job in random_jobs(5, "all"):
        batch = as_arrays(np.arange(len(TASKS)), [job.team] * len(TASKS), POOL.names)
        got = mixed(world).replay(batch, np.random.default_rng(0)).results
        expected = symbolic.results(job.team)
        assert got.right == pytest.approx(expected.right)
        assert got.cost == pytest.approx(expected.cost)


def test_luck_has_the_spread_of_the_symbolic_replay():
    """Accuracy of one team over many repetitions, call noise and blanks included."""
    noisy = HARD.model_copy(update={"replies": HARD.replies.model_copy(update={"blank_rate": 0.2})})
    world = World(TASKS, noisy, POOL, seed=5)
    team = random_jobs(1, "all")[0].team
    draws = 300
    symbolic = SymbolicTeams(world, POOL, ROLES, TASKS, draws=draws).results(team)
    column = np.tile(np.arange(len(TASKS)), draws)
    batch = as_arrays(column, [team] * len(column), POOL.names)
    got = mixed(world).replay(batch, np.random.default_rng(0)).results
    by_task = got.right.reshape(draws, len(TASKS)).mean(axis=0)
    assert by_task == pytest.approx(symbolic.right.mean(axis=0), abs=0.12)
    assert got.cost.mean() == pytest.approx(symbolic.cost.mean(), rel=0.01)


def test_equal_generators_give_equal_luck_to_every_seat():
    world = World(TASKS, HARD, POOL, seed=6)
    jobs = random_jobs(20, "all")
    batch = as_arrays(np.arange(len(TASKS)), [job.team for job in jobs], POOL.names)
    first, second = (mixed(world).replay(batch, np.random.default_rng(1)) for _ in range(2))
    assert (first.decision == second.decision).all() and (first.nodes == second.nodes).all()


def test_planners_are_not_followed():
    tasks = load_tasks("maths")[:3]
    world = World((), HARD, POOL, seed=0)
    with pytest.raises(ConfigError, match="mixed teams are for roles that all answer"):
        tables_of(world, POOL, load_roles("maths"), tasks, DECISION)
