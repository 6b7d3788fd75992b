"""What a supernode is worth, measured by itself on the simulated pool (design 7).

A supernode's own message is graded, and its own calls are paid for; what a decision would make of
the message is left out.
"""

from collections.abc import Sequence
from functools import cache
from math import hypot, pi, sqrt
from typing import Final

import numpy as np

from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Kind, Task
from hieramas_lib.teams.oracle.estimate import Results
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.search import best_of_all
from hieramas_lib.teams.roles import Role, RoleSet, load_roles
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

NEUTRAL: Final = "Solver"
"""A role that is at home in no subject and out of place in none."""

_LEAST_RESIDUAL: Final = 0.1
"""Logits; intercepts are solved with the residual as unit, so it cannot be 0."""


@cache
def neutral_roles(kind: Kind) -> RoleSet:
    """Return the role set of ``kind`` with :data:`NEUTRAL` as its only role."""
    text = "Solves the task by itself."
    solver = Role(name=NEUTRAL, duty="solver", profile=text, instruction="Solve the task.")
    return load_roles(kind).model_copy(update={"name": f"neutral {kind}", "roles": (solver,)})


def open_world(
    settings: WorldSettings, pool: LLMPool, roles: RoleSet, tasks: Sequence[Task], seed: int, *,
    draws: int = 2,
) -> SymbolicTeams:  # fmt: skip
    """Open the world with this seed; the luck of calls has the same seed."""
    world = World((), settings, pool, seed)
    return SymbolicTeams(world, pool, roles, tasks, draws=draws, seed=seed)


def supernode_results(questions: SymbolicTeams, supernode: Supernode) -> Results:
    """Return how often a supernode's message is right, and what its own calls cost.

    ``questions`` are asked with :func:`neutral_roles`.
    """
    team = Team(questions.roles, (supernode,), Topology(1), supernode.synthesizer)
    replay = questions.replay(team)
    message = replay.nodes[0]
    # With the message given, only the decision is left to pay for.
    decision = questions.replay(team, held={0: message}).cost
    return Results((message == 0).astype(np.float64), (replay.cost - decision)[None, :])


def rotations(names: Sequence[str], seed: int) -> list[tuple[str, ...]]:
    """Shuffle ``names`` and return all rotations of that order.

    Among the first W of them, whatever W is, every name stands equally often.
    """
    shuffled = [names[i] for i in np.random.default_rng(seed).permutation(len(names))]
    return [(*shuffled[i:], *shuffled[:i]) for i in range(len(names))]


def by_width(
    questions: SymbolicTeams, orders: Sequence[Sequence[str]], synthesizer: str
) -> list[dict[str, float]]:
    """Let proposers join one after another; return a row for each W from 0 to all.

    Each of the ``orders`` says who joins when; accuracy, utility and cost are means over them.
    """
    rows: list[dict[str, float]] = []
    for width in range(len(orders[0]) + 1):
        crews = {tuple(order[:width]) for order in orders}
        nodes = [Supernode(NEUTRAL, crew, synthesizer) for crew in sorted(crews)]
        rows.append({"width": width, **_means([supernode_results(questions, n) for n in nodes])})
    return rows


def equal_llms(
    pool: LLMPool, settings: WorldSettings, like: str, families: int, members: int
) -> tuple[LLMPool, WorldSettings]:
    """Replace the pool by LLMs that differ in name and family only.

    Args:
        pool: Where prices come from; its reference LLM stays, as the unit of cost.
        settings: Where targets come from; all get the same loading too, the middle one.
        like: LLM whose price, length and accuracy all of them have.
        families: How many families, named A, B, ...
        members: LLMs of each, named A1, A2, ...; one more family, Z, has a single one.

    Returns:
        The pool, and settings with targets for it.
    """
    names = {f"{chr(65 + f)}{m + 1}": chr(65 + f) for f in range(families) for m in range(members)}
    model = pool[like]
    twins = tuple(
        model.model_copy(update={"name": name, "family": family})
        for name, family in (names | {"Z1": "Z"}).items()
    )
    llms = (*twins, pool[pool.reference])
    targets = settings.targets | {twin.name: settings.targets[like] for twin in twins}
    low, high = settings.difficulty["choice"].loading
    equal = settings.model_copy(update={"targets": targets})
    middle = (low + high) / 2
    return (
        pool.model_copy(update={"name": f"equal {pool.name}", "llms": llms}),
        equal.with_knobs("difficulty", loading=(middle, middle)),
    )


def forgetful(settings: WorldSettings) -> WorldSettings:
    """Draw anew in every call what each LLM knows about each question.

    Everything that lasts and belongs to one LLM alone, on one question or subject, turns into call
    noise of the same variance. What a whole family shares stays.
    """
    knobs = settings.difficulty["choice"]
    scale = pi / sqrt(3.0)  # standard deviation of a logistic draw
    lasting = hypot(scale * knobs.residual, knobs.role_noise, knobs.interaction_sd)
    left = scale * _LEAST_RESIDUAL
    noise = sqrt(knobs.call_noise**2 + lasting**2 - left**2)
    return settings.with_knobs(
        "difficulty", residual=_LEAST_RESIDUAL, role_noise=0.0, interaction_sd=0.0, call_noise=noise
    )


def trios(families: Sequence[str], members: int) -> dict[str, list[tuple[str, ...]]]:
    """Name teams of three equal LLMs by what they share, with every LLM equally often in each.

    ``families`` are three letters, ``members`` at least three; see :func:`equal_llms`.
    """
    numbers = range(1, members + 1)
    return {
        "3 copies of one LLM": [(f"{f}{n}",) * 3 for f in families for n in numbers],
        "3 LLMs of one family": [(f"{f}1", f"{f}2", f"{f}3") for f in families],
        "LLMs of 3 families": [tuple(f"{f}{n}" for f in families) for n in numbers],
    }


def by_company(questions: SymbolicTeams, members: int = 3) -> list[dict[str, object]]:
    """Return a row for each kind of trio of :func:`trios`, Z1 synthesizing."""
    rows: list[dict[str, object]] = []
    for company, crews in trios("ABC", members).items():
        nodes = [Supernode(NEUTRAL, crew, "Z1") for crew in crews]
        means = _means([supernode_results(questions, node) for node in nodes])
        rows.append({"company": company, **means})
    return rows


def best_supernode(questions: SymbolicTeams, llms: Sequence[str], width: int) -> Supernode:
    """Try every filling with at most ``width`` proposers; return the one of highest utility."""
    options = TeamOptions(
        questions.roles, tuple(llms), width, (Topology(1),), decision=llms[0], reads="all"
    )

    def score(team: Team) -> float:
        node = team.supernodes[0]
        if node.pruned:
            return -np.inf
        return float(supernode_results(questions, node).utility.mean())

    return best_of_all(options, score).team.supernodes[0]


def _means(results: Sequence[Results]) -> dict[str, float]:
    return {
        "accuracy": float(np.mean([r.right.mean() for r in results])),
        "utility": float(np.mean([r.utility.mean() for r in results])),
        "cost_reference": float(np.mean([r.cost.mean() for r in results])),
    }
