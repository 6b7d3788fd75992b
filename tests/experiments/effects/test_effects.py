"""Every effect that the simulated worlds are meant to have, and that it goes away with its cause.

World seeds and questions are those of no notebook and of no search for parameters.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from hieramas_lib.experiments.effects.experts import experts, worth_of_experts
from hieramas_lib.experiments.effects.supernodes import (
    NEUTRAL,
    best_supernode,
    by_company,
    by_width,
    equal_llms,
    forgetful,
    neutral_roles,
    open_world,
    rotations,
    supernode_results,
    trios,
)
from hieramas_lib.experiments.effects.topologies import (
    AIMED,
    BEST_FULL,
    BEST_OF_POOL,
    EMPTY,
    candidates,
    judge,
    plain_team,
    score_in,
    some_random_graphs,
    texts_read,
)
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.graph_pool import chain, full, reference_pool, star
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.topology import Topology

POOL = load_pool(data_path("llm_pool.yaml")).simulated()
HARD = load_settings("hard")
ROLES, ONE = load_roles("choice"), neutral_roles("choice")
TASKS = load_tasks("knowledge")
WORLDS = (900, 901, 902, 903)
CHEAP = ("gemma-3-27b", "gpt-4o-mini", "qwen3-8b", "gpt-5-nano")


def over_worlds(measure: Callable[[int], float]) -> Interval:
    return mean_over_seeds([measure(seed) for seed in WORLDS])


@cache
def one_role(seed: int) -> SymbolicTeams:
    return open_world(HARD, POOL, ONE, TASKS, seed)


@cache
def widths(seed: int, copied: str, **knobs: float) -> tuple[float, ...]:
    """Accuracy for W = 0 to 8, of mixed proposers or of copies of one LLM."""
    questions = one_role(seed).with_reading(HARD.with_knobs("reading", **knobs))
    orders = [(copied,) * 8] if copied else rotations(POOL.names, seed)
    rows = by_width(questions, orders, "gpt-5-mini" if copied else "gemma-3-27b")
    return tuple(row["accuracy"] for row in rows)


def test_rotations_seat_everybody_equally_often() -> None:
    orders = rotations(("a", "b", "c"), 0)
    for width in range(4):
        seats = [llm for order in orders for llm in order[:width]]
        assert {llm: seats.count(llm) for llm in "abc"} == dict.fromkeys("abc", width)


def test_a_supernode_pays_for_its_own_calls_only() -> None:
    questions = open_world(HARD, POOL, ONE, TASKS[:40], 900)
    alone = supernode_results(questions, Supernode(NEUTRAL, (), "gemma-3-27b"))
    spec = POOL["gemma-3-27b"]
    usual = spec.usual_cost()
    assert usual is not None
    # One call, with a longer prompt than the usual one at most by half.
    assert 0.5 < alone.cost.mean() * POOL.reference_cost / usual < 1.5
    three = supernode_results(questions, Supernode(NEUTRAL, ("gemma-3-27b",) * 2, "gemma-3-27b"))
    assert 2.5 < three.cost.mean() / alone.cost.mean() < 4.5


def test_more_proposers_first_help_then_hurt_and_fatigue_is_why() -> None:
    help_ = over_worlds(lambda seed: widths(seed, "")[4] - widths(seed, "")[0])
    assert help_.low > 0.05
    hurt = over_worlds(lambda seed: widths(seed, "")[8] - widths(seed, "")[4])
    assert hurt.high < 0
    rested = over_worlds(
        lambda seed: widths(seed, "", fatigue=0.0)[8] - widths(seed, "", fatigue=0.0)[4]
    )
    assert rested.estimate > 0


def test_recognition_and_persuasion_are_why_proposers_help() -> None:
    none = {"recognition": 0.0, "persuasion": 0.0}
    assert over_worlds(lambda s: widths(s, "", **none)[4] - widths(s, "", **none)[0]).high < 0
    recognition = over_worlds(
        lambda s: widths(s, "", recognition=0.0)[4] - widths(s, "", recognition=0.0)[0]
    )
    assert recognition.high < 0.06


def test_copies_mislead_a_better_reader_by_persuasion() -> None:
    def change(**knobs: float) -> Interval:
        return over_worlds(
            lambda s: widths(s, "gpt-4o-mini", **knobs)[8] - widths(s, "gpt-4o-mini", **knobs)[0]
        )

    assert change().high < -0.02
    assert change(persuasion=0.0, fatigue=0.0).low > 0


def company(settings: WorldSettings) -> Interval:
    def measure(seed: int) -> float:
        pool, equal = equal_llms(POOL, settings, "gemma-3-27b", families=3, members=3)
        rows = by_company(open_world(equal, pool, ONE, TASKS, seed, draws=1))
        copies, _, families = (row["accuracy"] for row in rows)
        costs = [row["cost_reference"] for row in rows]
        assert max(costs) < 1.01 * min(costs), "equal cost"
        return float(families) - float(copies)  # type: ignore[arg-type]

    return over_worlds(measure)


def test_different_proposers_beat_copies_at_equal_cost_by_families_and_memory() -> None:
    assert company(HARD).low > 0.02
    no_families = HARD.with_knobs("difficulty", family_sd=0.0)
    assert company(no_families).low > 0.02, "the family knob alone is not the cause"
    neither = forgetful(HARD).with_knobs("difficulty", family_sd=0.0)
    gone = company(neither.with_knobs("wrong", tempting=1.0))
    assert abs(gone.estimate) < 0.005


def test_forgetting_turns_what_lasts_into_noise_of_the_same_variance() -> None:
    def variance(settings: WorldSettings) -> float:
        knobs = settings.difficulty["choice"]
        spreads = (knobs.role_noise, knobs.interaction_sd, knobs.call_noise)
        return np.pi**2 / 3 * knobs.residual**2 + sum(spread**2 for spread in spreads)

    assert variance(forgetful(HARD)) == pytest.approx(variance(HARD))
    assert forgetful(HARD).difficulty["choice"].residual < 0.2


def test_forgetting_leaves_accuracy_alone_as_it_is() -> None:
    def alone(settings: WorldSettings) -> float:
        pool, equal = equal_llms(POOL, settings, "gemma-3-27b", families=3, members=3)
        found = []
        for seed in WORLDS:
            questions = open_world(equal, pool, ONE, TASKS, seed)
            names = [spec.name for spec in pool.llms[:9]]
            found += [questions.alone(name).right.mean() for name in names]
        return float(np.mean(found))

    assert alone(forgetful(HARD)) == pytest.approx(alone(HARD), abs=0.02)


def test_equal_llms_differ_in_name_and_family_only() -> None:
    pool, settings = equal_llms(POOL, HARD, "gemma-3-27b", families=2, members=2)
    assert pool.names == ("A1", "A2", "B1", "B2", "Z1", "gpt-5-mini")
    assert [spec.family for spec in pool.llms[:5]] == ["A", "A", "B", "B", "Z"]
    assert len({spec.usual_cost() for spec in pool.llms[:5]}) == 1
    assert settings.targets["B2"] == HARD.targets["gemma-3-27b"]
    assert pool.reference_cost == POOL.reference_cost


def test_trios_use_every_llm_equally_often() -> None:
    for crews in trios("ABC", 3).values():
        seats = [llm for crew in crews for llm in crew]
        assert len({seats.count(llm) for llm in seats}) == 1
        assert len(set(seats)) == 9


def expert_gains(settings: WorldSettings) -> tuple[Interval, Interval]:
    found: dict[str, list[float]] = {"own subjects": [], "other subjects": []}
    for seed in WORLDS:
        questions = open_world(settings, POOL, ROLES, TASKS, seed)
        rows = worth_of_experts(questions, settings, "gemma-3-27b", "gemma-3-27b")
        for place, means in found.items():
            means.append(float(np.mean([r["utility_gain"] for r in rows if r["place"] == place])))
    return mean_over_seeds(found["own subjects"]), mean_over_seeds(found["other subjects"])


def test_a_mismatched_role_costs_and_fit_is_why() -> None:
    own, other = expert_gains(HARD)
    assert own.low > 0.05
    assert other.high < -0.05
    own, other = expert_gains(HARD.with_knobs("fit", own=0.0, other=0.0))
    assert abs(own.estimate) < 0.03
    assert abs(other.estimate) < 0.03


def test_there_are_six_experts() -> None:
    questions = open_world(HARD, POOL, ROLES, TASKS[:5], 900)
    assert len(experts(questions)) == 6


def test_the_best_supernode_is_as_good_as_any_on_what_it_was_chosen_by() -> None:
    questions = open_world(HARD, POOL, ONE, TASKS[:60], 900)
    best = supernode_results(questions, best_supernode(questions, POOL.names[:3], 1)).utility.mean()
    for last in POOL.names[:3]:
        for crew in [(), *((name,) for name in POOL.names[:3])]:
            node = Supernode(NEUTRAL, crew, last)
            assert supernode_results(questions, node).utility.mean() <= best + 1e-12


def test_texts_read_are_edges_and_what_the_decision_reads() -> None:
    four = ROLES.model_copy(update={"roles": ROLES.roles[:4]})
    graphs = (Topology(4), chain(4), star(4), full(4))
    for reads, counts in (("sinks", [4, 4, 6, 7]), ("all", [4, 7, 7, 10])):
        team = plain_team(four, CHEAP, "gemma-3-27b", reads)  # type: ignore[arg-type]
        assert [texts_read(team, graph) for graph in graphs] == counts


def test_random_graphs_are_named_by_their_edges() -> None:
    drawn = some_random_graphs(4, [0, 3], 2, seed=0)
    assert list(drawn) == ["random 0/0", "random 0/1", "random 3/0", "random 3/1"]
    assert [len(graph.edges) for graph in drawn.values()] == [0, 0, 3, 3]


def aimed_gains(settings: WorldSettings, reads: str) -> dict[str, Interval]:
    """Aim in three worlds; return the gain over other graphs in four others, and the edges."""
    first, second = halves([*TASKS, *more_questions(TASKS, 1)], 7)
    team = plain_team(ROLES, CHEAP, "gemma-3-27b", reads)  # type: ignore[arg-type]
    searched = [open_world(settings, POOL, ROLES, first, s, draws=1) for s in (910, 911, 912)]
    graphs, _ = candidates(score_in(searched, team), reference_pool(8, 20, seed=9))
    assert len(graphs[AIMED].edges) <= 14, "sparse: at most half of the edges"
    judged = {s: open_world(settings, POOL, ROLES, second, s, draws=1) for s in WORLDS}
    rows = judge(judged, team, graphs)
    worth = {(row["seed"], row["graph"]): float(row["utility"]) for row in rows}  # type: ignore[arg-type]
    return {
        other: mean_over_seeds([worth[s, AIMED] - worth[s, other] for s in WORLDS])
        for other in (EMPTY, BEST_FULL, BEST_OF_POOL)
    }


@pytest.mark.slow
def test_an_aimed_graph_beats_empty_and_best_full_if_the_decision_reads_sinks() -> None:
    gains = aimed_gains(HARD, "sinks")
    assert gains[EMPTY].low > 0
    assert gains[BEST_FULL].low > 0


@pytest.mark.slow
def test_without_persuasion_and_fatigue_an_aimed_graph_has_nothing_to_win() -> None:
    free = HARD.with_knobs("reading", persuasion=0.0, fatigue=0.0)
    gains = aimed_gains(free, "sinks")
    assert abs(gains[EMPTY].estimate) < 0.01
    nothing = free.with_knobs("reading", recognition=0.0).with_knobs("checker", recognition=0.0)
    gains = aimed_gains(nothing, "sinks")
    assert abs(gains[EMPTY].estimate) < 0.002
    assert abs(gains[BEST_FULL].estimate) < 0.002
