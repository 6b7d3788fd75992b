"""Differences between graphs within a world, shaped for figures and tables, and said in words."""

from typing import TYPE_CHECKING, Final

from hieramas_lib.experiments.effects.seed_tables import gains_over, over_seeds, paired_change
from hieramas_lib.experiments.effects.topologies import AIMED, BEST_FULL, BEST_OF_POOL, EMPTY
from hieramas_lib.experiments.effects.topology_study import STRONGEST
from hieramas_lib.experiments.utility_tables import verdict
from hieramas_lib.teams.team import Reads
from hieramas_lib.teams.topology import Topology

if TYPE_CHECKING:
    import pandas as pd

CHOSEN: Final = (AIMED, BEST_OF_POOL, BEST_FULL)
"""Graphs that a search chose and that are drawn as single points."""

_VALUES: Final = ("utility", "accuracy", "cost_reference")
_WITHIN: Final = ("difficulty", "reads", "seed")


def graph_gains(main: "pd.DataFrame") -> "pd.DataFrame":
    """Return what each graph is worth over the empty one: a panel a difficulty, a row a graph."""
    gains = gains_over(main, "graph", EMPTY, _WITHIN, _VALUES)
    gains["panel"] = gains["difficulty"] + " world"
    gains["series"] = "decision reads " + gains["reads"]
    gains = gains[gains["graph"] != EMPTY].rename(columns={"graph": "row"})
    return over_seeds(gains, ["panel", "row", "series"], _VALUES)


def graph_table(main: "pd.DataFrame", anchors: "pd.DataFrame") -> "pd.DataFrame":
    """Return utility and accuracy with intervals over seeds, and mean cost, by graph."""
    import pandas as pd

    table = over_seeds(pd.concat([main, anchors]), ["difficulty", "reads", "graph"], _VALUES)
    return table.drop(columns=["cost_reference_low", "cost_reference_high"])


def chosen_graphs(main: "pd.DataFrame", difficulty: str) -> "pd.DataFrame":
    """Return the rows of :data:`CHOSEN` in one difficulty, each its own ``series``."""
    rows = main[(main["difficulty"] == difficulty) & main["graph"].isin(CHOSEN)]
    return rows.assign(series=rows["graph"])


def edge_gains(by_edges: "pd.DataFrame", main: "pd.DataFrame") -> "pd.DataFrame":
    """Return utility over the empty graph against the number of edges: a panel a way to read.

    Args:
        by_edges: Graphs of one difficulty, in ``series``.
        main: Where the empty graph is taken from.
    """
    import pandas as pd

    zero = main[main["graph"] == EMPTY].assign(series=EMPTY)
    both = pd.concat([by_edges, zero])
    gains = gains_over(both, "series", EMPTY, _WITHIN, ["utility"])
    gains = gains[gains["series"] != EMPTY]
    gains["panel"] = "decision reads " + gains["reads"]
    return over_seeds(gains, ["panel", "series", "edges"], ["utility"])


def cause_gains(causes: "pd.DataFrame") -> "pd.DataFrame":
    """Return what the aimed graph is worth over others, by what is missing in the world.

    A panel a way to read, a ``row`` for each of ``knobs``, a series for each graph it is compared
    with.
    """
    import pandas as pd

    frames = []
    for other, name in (
        (EMPTY, "aimed − empty"),
        (BEST_FULL, "aimed − full in its best order"),
    ):
        gains = gains_over(causes, "graph", other, ["knobs", "reads", "seed"], ["utility"])
        frames.append(gains[gains["graph"] == AIMED].assign(series=name))
    gains = pd.concat(frames).rename(columns={"knobs": "row"})
    gains["panel"] = "decision reads " + gains["reads"]
    return over_seeds(gains, ["panel", "row", "series"], ["utility"])


def aimed_sentence(main: "pd.DataFrame", difficulty: str, reads: Reads, aimed: Topology) -> str:
    """Say whether the aimed graph beats the empty one, the best full one, the best of the pool."""
    rows = main[(main["difficulty"] == difficulty) & (main["reads"] == reads)]
    said = []
    for name, other in (
        ("the empty one", EMPTY),
        ("the full one in its best order", BEST_FULL),
        ("the best of the pool", BEST_OF_POOL),
    ):
        gain = paired_change(rows, "graph", other, AIMED, "utility")
        word = verdict(gain, "beats", "falls below", "is on a par with")
        said.append(f"{word} {name} ({gain})")
    full = aimed.size * (aimed.size - 1) // 2
    return (
        f"{difficulty} world, decision reads {reads}: the aimed graph, with {len(aimed.edges)} of "
        f"{full} edges, {', '.join(said)}; differences in utility, β = 0.01."
    )


def cause_sentence(causes: "pd.DataFrame", difficulty: str, knobs: str) -> str:
    """Say what the aimed graph still gains without a cause, if the decision reads the sinks."""
    rows = causes[(causes["knobs"] == knobs) & (causes["reads"] == "sinks")]
    over_empty, over_full = (
        paired_change(rows, "graph", other, AIMED, "utility") for other in (EMPTY, BEST_FULL)
    )
    return (
        f"Reading sinks, {difficulty} world, {knobs}: aimed minus empty {over_empty}, aimed minus "
        f"best full {over_full}."
    )


def price_sentence(table: "pd.DataFrame", difficulty: str) -> str:
    """Say whether the team with the aimed graph is worth more than the strongest LLM alone.

    ``table`` is that of :func:`graph_table`; the aimed graph for a decision that reads the sinks.
    """
    rows = table[table["difficulty"] == difficulty]
    ours, strongest = (
        rows[rows["graph"] == name].iloc[0]["utility"] for name in (AIMED, STRONGEST)
    )
    moral = (
        "the graph makes the team worth its price."
        if ours > strongest
        else "a good graph does not make up for a team of cheap LLMs."
    )
    return (
        f"The team with the aimed graph reaches {ours:.3f} in the {difficulty} world, the "
        f"strongest LLM alone {strongest:.3f}: {moral}"
    )
