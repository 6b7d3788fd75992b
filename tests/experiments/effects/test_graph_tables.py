"""Differences between graphs are taken within a world, and said as they are."""

import pandas as pd
import pytest

from hieramas_lib.experiments.effects.graph_tables import (
    aimed_sentence,
    cause_gains,
    cause_sentence,
    chosen_graphs,
    edge_gains,
    graph_gains,
    graph_table,
    price_sentence,
)
from hieramas_lib.experiments.effects.topologies import AIMED, BEST_FULL, BEST_OF_POOL, EMPTY
from hieramas_lib.experiments.effects.topology_study import STRONGEST
from hieramas_lib.teams.topology import Topology

WORTH = {EMPTY: 0.5, BEST_FULL: 0.6, BEST_OF_POOL: 0.7, AIMED: 0.55}
EDGES = {EMPTY: 0, BEST_FULL: 3, BEST_OF_POOL: 2, AIMED: 1}


def main(**worth: float) -> pd.DataFrame:
    """Return rows of two worlds, the second worth 0.2 more whatever the graph."""
    rows = [
        {
            "difficulty": difficulty,
            "reads": reads,
            "seed": seed,
            "graph": graph,
            "edges": EDGES[graph],
            "utility": value + 0.2 * seed,
            "accuracy": value,
            "cost_reference": 1.0,
        }
        for difficulty in ("hard", "mmlu-like")
        for reads in ("sinks", "all")
        for seed in (0, 1)
        for graph, value in (WORTH | worth).items()
    ]
    return pd.DataFrame(rows)


def test_gains_of_graphs_are_over_the_empty_one_in_the_same_world() -> None:
    table = graph_gains(main())
    assert set(table["panel"]) == {"hard world", "mmlu-like world"}
    assert set(table["series"]) == {"decision reads sinks", "decision reads all"}
    assert EMPTY not in set(table["row"])
    aimed = table[table["row"] == AIMED]
    for column in ("utility", "utility_low", "utility_high"):
        assert aimed[column].tolist() == pytest.approx([0.05] * 4), "worlds cancel"


def test_the_table_holds_graphs_and_anchors() -> None:
    anchors = main()[lambda f: f["graph"] == AIMED].assign(graph=STRONGEST, reads="–")
    table = graph_table(main(), anchors)
    assert len(table) == 2 * 2 * 4 + 2
    assert table["utility"].iloc[0] == pytest.approx(0.6)
    assert "cost_reference" in table
    assert "cost_reference_low" not in table


def test_edges_are_compared_with_the_empty_graph_of_the_same_rule() -> None:
    frame = main()
    chosen = chosen_graphs(frame, "hard")
    assert set(chosen["series"]) == {AIMED, BEST_OF_POOL, BEST_FULL}
    assert len(chosen) == 3 * 2 * 2
    by_rule = frame["reads"].map({"sinks": 0.0, "all": 0.1})
    table = edge_gains(chosen, frame.assign(utility=frame["utility"] - by_rule))
    assert EMPTY not in set(table["series"])
    found = table.set_index(["panel", "series"])["utility"]
    assert found["decision reads sinks", AIMED] == pytest.approx(0.05)
    assert found["decision reads all", AIMED] == pytest.approx(0.15)
    assert table.set_index("series")["edges"][BEST_FULL].tolist() == [3, 3]


def test_causes_are_compared_within_their_own_world() -> None:
    shipped, without = (
        frame[frame["difficulty"] == "hard"].assign(knobs=knobs)
        for knobs, frame in (
            ("as shipped", main()),
            ("messages do nothing", main(**dict.fromkeys(WORTH, 0.5))),
        )
    )
    causes = pd.concat([shipped, without])
    table = cause_gains(causes)
    found = table.set_index(["panel", "row", "series"])["utility"]
    assert len(found) == 2 * 2 * 2
    assert found["decision reads all", "as shipped", "aimed − empty"] == pytest.approx(0.05)
    over_full = "aimed − full in its best order"
    assert found["decision reads all", "as shipped", over_full] == pytest.approx(-0.05)
    assert found["decision reads all", "messages do nothing", over_full] == pytest.approx(0)
    other_rule = causes["reads"] == "all"
    causes.loc[other_rule & (causes["graph"] == AIMED), "utility"] += 0.3
    said = cause_sentence(causes, "hard", "as shipped")
    assert said.startswith("Reading sinks, hard world, as shipped: aimed minus empty 0.050")
    assert "aimed minus best full -0.050" in said


def test_a_sentence_says_who_beats_whom() -> None:
    graph = Topology(4, ((0, 1),))
    said = aimed_sentence(main(**{BEST_OF_POOL: 0.55}), "hard", "sinks", graph)
    assert "the aimed graph, with 1 of 6 edges, beats the empty one (0.050" in said
    assert "falls below the full one in its best order (-0.050" in said
    assert "is on a par with the best of the pool (0.000" in said


@pytest.mark.parametrize(("strongest", "moral"), [(0.6, "worth its price"), (0.7, "not make up")])
def test_the_team_is_held_against_the_strongest_llm(strongest: float, moral: str) -> None:
    rows = [("hard", AIMED, 0.65), ("hard", STRONGEST, strongest), ("mmlu-like", AIMED, 0.99)]
    table = pd.DataFrame(rows, columns=["difficulty", "graph", "utility"])
    said = price_sentence(table, "hard")
    assert "reaches 0.650 in the hard world" in said
    assert moral in said
