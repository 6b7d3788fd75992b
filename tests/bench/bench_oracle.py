"""How fast teams are replayed, and what the oracle finds on the hard world (design 7, 14).

Run ``python tests/bench/bench_oracle.py [world seeds]``: one line a world next to its anchors,
and the times. It asserts nothing.
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.oracle.anchors import find_anchors
from hieramas_lib.teams.oracle.best_team import best_by_subject, best_team
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.symbolic.replay import SymbolicTeams

POOL = load_pool(data_path("llm_pool.yaml")).simulated()
ROLES = load_roles("choice")
HARD = load_settings("hard")
DECISION = "gemma-3-27b"


def options() -> TeamOptions:
    graphs = reference_pool(len(ROLES.roles), 100, seed=0).topologies
    return TeamOptions(ROLES, POOL.names, 2, graphs, DECISION)


def replays_per_second(draws: int) -> None:
    """Print the speed on random teams of eight kept roles, nothing remembered between them."""
    tasks = load_tasks("knowledge")
    questions = SymbolicTeams(World((), HARD, POOL, 0), POOL, ROLES, tasks, draws=draws)
    rng = np.random.default_rng(0)
    choices = options()
    teams = [choices.random(rng) for _ in range(200)]
    teams = [team for team in teams if len(team.kept) == len(ROLES.roles)]
    for team in teams:
        questions.results(team)
    spent = 0.0
    for seed, team in enumerate(teams):
        fresh = questions.redrawn(seed)
        fresh.results(choices.alone())
        start = time.process_time()
        fresh.results(team)
        spent += time.process_time() - start
    done = len(teams) * draws * len(tasks)
    print(
        f"{len(tasks)} questions x {draws} draws, {len(teams)} teams: {done / spent:,.0f} "
        "team-questions per CPU second, draws of luck included (goal 50,000)"
    )


def one_world(seed: int, tasks: Sequence[Task]) -> None:
    """Print one world's anchors and best teams."""
    chosen = options()
    world = World((), HARD, POOL, seed)
    first, second = halves(tasks, 0)
    search = SymbolicTeams(world, POOL, ROLES, first, draws=1)
    judge = SymbolicTeams(world, POOL, ROLES, second, draws=4, seed=1)
    anchors = find_anchors(chosen, judge)
    base = find_anchors(chosen, judge, teams=2, style="answer only").strongest_alone
    start = time.process_time()
    constant = best_team(chosen, search, judge, HARD)
    middle = time.process_time()
    _, subjects = best_by_subject(chosen, search, judge, HARD, constant.team)
    end = time.process_time()
    figures = (anchors.random, anchors.decision_alone, base, anchors.strongest_alone)
    print(
        f"{seed:>5} "
        + " ".join(f"{e.mean:>8.3f}" for e in (*figures, constant.judged, subjects))
        + f" {constant.judged.question_error:>6.3f} {constant.searched.mean:>9.3f}"
        + f" {len(constant.team.kept):>5} {constant.judged.cost:>5.1f}"
        + f" {constant.found.tried:>7,} {middle - start:>6.0f} s {end - middle:>6.0f} s"
    )
    for supernode in constant.team.supernodes:
        if not supernode.pruned:
            print(f"      {supernode.role}: {', '.join(supernode.proposers)}"
                  f" -> {supernode.synthesizer}")  # fmt: skip


if __name__ == "__main__":
    for count in (1, 8, 32):
        replays_per_second(count)
    shipped = load_tasks("knowledge")
    print(f"\nHard world, knowledge, decision {DECISION}; utility on questions not searched on")
    print(
        " seed   random    alone     base      cot constant subjects  error  searched roles  cost"
        "   tried   time (constant, subjects)"
    )
    for world_seed in map(int, sys.argv[1:] or ("0", "1", "2")):
        one_world(world_seed, [*shipped, *more_questions(shipped, 9)])
