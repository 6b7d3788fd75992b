"""Graphs are searched where they are not judged, for both ways to decide."""

from dataclasses import replace
from functools import cache

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.effects.knobs import ROLES_ALIKE, without_messages
from hieramas_lib.experiments.effects.topologies import AIMED, EMPTY, plain_team
from hieramas_lib.experiments.effects.topology_study import (
    STRONGEST,
    WAYS,
    Comparison,
    GraphStudy,
    Worlds,
    plan_graphs,
)
from hieramas_lib.llms.world import load_settings
from hieramas_lib.teams.graph_pool import full, reference_pool
from hieramas_lib.teams.roles import load_roles

HARD = load_settings("hard")
LLMS, DECISION = ("gemma-3-27b", "gpt-4o-mini"), "gemma-3-27b"


def planned() -> GraphStudy:
    return plan_graphs(
        LLMS, DECISION, graphs=3, versions=0, draws=1, search_seeds=[970], seeds=[960, 961]
    )


@cache
def study() -> GraphStudy:
    """Four roles and few questions."""
    roles = load_roles("choice")
    four = roles.model_copy(update={"roles": roles.roles[:4]})
    whole = planned()
    return replace(
        whole,
        teams={reads: plain_team(four, LLMS, DECISION, reads) for reads in WAYS},
        graphs=reference_pool(4, 3, seed=0),
        search=whole.search[::4],
        judge=whole.judge[::4],
    )


@cache
def worlds() -> Worlds:
    return study().open(HARD)


@cache
def compared() -> Comparison:
    return study().compare(worlds())


def test_questions_and_worlds_to_judge_are_others_than_those_to_search() -> None:
    whole = planned()
    assert not {task.id for task in whole.search} & {task.id for task in whole.judge}
    assert len(whole.search) + len(whole.judge) == 280
    opened = worlds()
    assert list(opened.searched) == [970]
    assert list(opened.judged) == [960, 961]
    with pytest.raises(ConfigError, match=r"search_seeds: \{961\} are in seeds"):
        plan_graphs(
            LLMS, DECISION, graphs=3, versions=0, draws=1, search_seeds=[961], seeds=[960, 961]
        )


def test_every_graph_is_judged_in_every_world_and_way() -> None:
    rows = compared().rows
    assert len(rows) == 2 * 2 * 8
    assert set(rows["seed"]) == {960, 961}
    # Without edges the decision reads everybody either way.
    alone = rows[rows["graph"] == EMPTY].pivot_table(
        index="seed", columns="reads", values="utility"
    )
    assert alone["all"].tolist() == alone["sinks"].tolist()
    for reads, graph in compared().aimed.items():
        found = rows[(rows["reads"] == reads) & (rows["graph"] == AIMED) & (rows["seed"] == 961)]
        team = replace(study().teams[reads], topology=graph)
        judged = worlds().judged[961].results(team).utility.mean()
        assert found["utility"].item() == pytest.approx(judged)


def test_the_search_never_sees_the_worlds_to_judge_in() -> None:
    other = replace(study(), seeds=(962,), judge=study().judge[:5])
    again = other.compare(other.open(HARD))
    assert again.aimed == compared().aimed
    assert again.grown == compared().grown


def test_other_reading_leaves_the_worlds_and_another_fit_draws_new_ones() -> None:
    changed = without_messages(HARD)
    team = replace(study().teams["sinks"], topology=full(4))

    def accuracy(found: Worlds) -> list[float]:
        return [float(world.results(team).right.mean()) for world in found.judged.values()]

    for knobs in (ROLES_ALIKE, "no recognition"):
        found = study().changed(worlds(), changed[knobs])
        assert found.settings == changed[knobs]
        assert accuracy(found) == accuracy(study().open(changed[knobs]))
        assert accuracy(found) != accuracy(worlds())


def test_anchors_are_those_of_the_same_worlds() -> None:
    rows = study().anchors(worlds(), teams=2)
    assert rows["graph"].tolist() == ["random team", "decision alone", STRONGEST] * 2
    assert set(rows["reads"]) == {"–"}
    first = rows[rows["seed"] == 960].set_index("graph")
    best = max(worlds().judged[960].alone(llm).right.mean() for llm in study().llms.names)
    assert first.loc[STRONGEST, "accuracy"] == pytest.approx(best)


def test_grown_graphs_are_named_by_their_edges_beside_random_ones() -> None:
    rows = study().by_edges(worlds(), compared(), {"random 6/0": full(4)})
    grown = sum(len(path) for path in compared().grown.values())
    assert len(rows) == 2 * (grown + 2)
    assert (rows[rows["series"] == "random"]["edges"] == 6).all()
    first = rows[rows["graph"] == "grown 0"]
    assert (first["edges"] == 0).all()
    assert set(first["series"]) == {"grown edge by edge"}
