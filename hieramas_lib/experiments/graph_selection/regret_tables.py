"""Regret of ways to choose a graph over several worlds: rows, a table, a figure's rows, words."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.graph_selection.selection import (
    CLASSIFIER,
    FIXED,
    SELECTORS,
    TRUE_FIXED,
    LabelPlan,
    Selector,
    regret_rows,
)
from hieramas_lib.experiments.graph_selection.worlds import SETTINGS, Setting, shipped_world
from hieramas_lib.experiments.statistics import mean_over_seeds
from hieramas_lib.experiments.utility_tables import verdict
from hieramas_lib.teams.team import Reads

if TYPE_CHECKING:
    import pandas as pd

RIVALS: Final = (FIXED, "edges x similarity", "full", "random")
"""Ways to choose that the classifier is compared with in words."""

READS: Final[tuple[Reads, ...]] = ("sinks", "all")
_TEST_COPIES: Final = 10


def setting_named(name: str) -> Setting:
    """Return the team of :data:`~.worlds.SETTINGS` with this name.

    Raises:
        ConfigError: there is none.
    """
    known = {setting.name: setting for setting in SETTINGS}
    if name not in known:
        raise ConfigError(f"team: {name!r} is not one of {', '.join(known)}")
    return known[name]


def regrets_in(
    worlds: Iterable[int], setting: Setting, labels: int, *, each: int, graphs: int,
    selectors: Mapping[str, Selector] = SELECTORS,
) -> "pd.DataFrame":  # fmt: skip
    """Return utility and regret of every way to choose, in every world, for both ways to read.

    Columns ``reads, seed`` and those of :func:`~.selection.regret_rows`.

    Args:
        worlds: Seeds of simulated worlds.
        setting: The team, and the knobs of the world.
        labels: Labelled questions.
        each: Graphs run on each of them.
        graphs: Size of the pool.
        selectors: Ways to choose that learn from labels.
    """
    import pandas as pd

    plan = LabelPlan((labels,), each=each, seeds=1)
    rows = [
        {"reads": reads, "seed": seed, **row}
        for seed in worlds
        for reads in READS
        for row in regret_rows(
            shipped_world(setting, reads, seed, graphs=graphs),
            plan,
            test_copies=_TEST_COPIES,
            selectors=selectors,
        )
    ]
    return pd.DataFrame(rows)


def regret_table(regrets: "pd.DataFrame") -> "pd.DataFrame":
    """Return means over worlds, regret with its interval: one row a way to choose and to read."""
    table = over_seeds(regrets, ["reads", "selector", "queries"], ["utility", "regret"])
    return table.drop(columns=["utility_low", "utility_high"])


def regret_points(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table as ``effect_points`` takes it, without the optimum, whose regret is 0."""
    shown = table[table["selector"] != "best for each subject"].rename(columns={"selector": "row"})
    return shown.assign(panel="decision reads " + shown["reads"], series="regret")


def classifier_sentence(regrets: "pd.DataFrame", reads: str) -> str:
    """Say how the classifier does against its rivals over worlds, for one way to read."""
    here = regrets[regrets["reads"] == reads]
    by_world = here.pivot_table(index="seed", columns="selector", values="regret")
    parts = []
    for other in RIVALS:
        gain = mean_over_seeds(by_world[other] - by_world[CLASSIFIER])
        word = verdict(gain, "better than", "worse than", "level with")
        parts.append(f"{word} “{other}” ({gain})")
    mean, labels = by_world.mean(), here["queries"].max()
    return (
        f"{labels} labels, decision reads {reads}, {len(by_world)} worlds: the classifier's regret "
        f"is {mean[CLASSIFIER]:.3f}, that of the true best fixed graph {mean[TRUE_FIXED]:.3f}, "
        f"ratio to the best fixed from the same labels {mean[CLASSIFIER] / mean[FIXED]:.2f}; in "
        f"utility it is {', '.join(parts)}."
    )
