"""Regret over worlds: which rows, which means, which words."""

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.graph_selection.holistic import WHOLE, Growth, growth_in
from hieramas_lib.experiments.graph_selection.quality import Quality, trust_curves, trust_sentence
from hieramas_lib.experiments.graph_selection.regret_tables import (
    RIVALS,
    classifier_sentence,
    regret_points,
    regret_table,
    regrets_in,
    setting_named,
)
from hieramas_lib.experiments.graph_selection.selection import (
    CLASSIFIER,
    FIXED,
    SELECTORS,
    TRUE_FIXED,
)
from hieramas_lib.experiments.graph_selection.worlds import SETTINGS
from hieramas_lib.learning.classifier_quality import ReliabilityBin


def made(**regrets: tuple[float, float]) -> pd.DataFrame:
    """Regrets in two worlds whose decision reads the sinks."""
    return pd.DataFrame(
        [
            {"reads": "sinks", "seed": seed, "selector": name, "queries": 9 * (name != "full")}
            | {"utility": 1 - value, "regret": value}
            for name, values in regrets.items()
            for seed, value in enumerate(values)
        ]
    )


def test_words_are_paired_by_world() -> None:
    """The classifier gains 0.09 and 0.11 on "full", and 0.1 and -0.1 on all other rivals."""
    rows = made(**{CLASSIFIER: (0.1, 0.2), "full": (0.19, 0.31), TRUE_FIXED: (0.0, 0.1)})
    others = made(**{rival: (0.2, 0.1) for rival in RIVALS if rival != "full"})
    told = classifier_sentence(pd.concat([rows, others]), "sinks")
    assert told.startswith(
        "9 labels, decision reads sinks, 2 worlds: the classifier's regret is 0.150, that of the "
        "true best fixed graph 0.050, ratio to the best fixed from the same labels 1.00; in "
        f"utility it is level with “{FIXED}” (0.000 ["
    )
    assert "level with “full” (0.100 [-0.027, 0.227])" in told  # two worlds: t is 12.7


def test_the_table_has_means_and_the_figure_leaves_out_the_optimum() -> None:
    table = regret_table(made(**{"best for each subject": (0.0, 0.0), "full": (0.1, 0.3)}))
    assert table["regret"].tolist() == pytest.approx([0.0, 0.2])
    assert list(table) == ["reads", "selector", "queries", "seeds", "utility", "regret",
                           "regret_low", "regret_high"]  # fmt: skip
    (point,) = regret_points(table).to_dict("records")
    assert (point["row"], point["panel"], point["series"]) == (
        "full", "decision reads sinks", "regret",
    )  # fmt: skip


def test_both_ways_to_read_are_run_in_every_world() -> None:
    few = {FIXED: SELECTORS[FIXED]}
    rows = regrets_in([100], SETTINGS[-1], 8, each=3, graphs=4, selectors=few)
    assert rows.groupby("reads", sort=False)["seed"].unique().map(list).to_dict() == {
        "sinks": [100],
        "all": [100],
    }
    learned = rows[rows["queries"] == 8]
    assert learned["selector"].tolist() == [FIXED, FIXED]
    assert learned["regret"].nunique() == 2  # what is read makes a difference


def test_a_setting_has_a_name() -> None:
    assert setting_named("cheap team") is SETTINGS[2]
    with pytest.raises(ConfigError, match="team: 'cheap' is not one of no interaction, "):
        setting_named("cheap")


def quality(temperature: float) -> Quality:
    curve, fitted = (ReliabilityBin(c, 0.6, 1.0) for c in (0.9, 0.7))
    return Quality(0.75, 0.3, temperature, 0.1, (curve,), (fitted,))


def test_a_temperature_of_one_is_not_drawn_twice() -> None:
    curves = trust_curves(quality(2.5), quality(1.0))
    assert curves["this classifier"] == [(0.9, 0.6, 1.0)]
    assert curves["this one, temperature 2.5"] == [(0.7, 0.6, 1.0)]
    assert list(trust_curves(quality(1.0), quality(2.0))) == ["this classifier", "published"]
    assert trust_sentence(quality(2.5), quality(1.0)) == (
        "AUC on pairs of a right and a wrong graph 0.75 (published network and labels 0.75); "
        "calibration error 0.300, with a fitted temperature 0.100."
    )


def growth(whole: float, edges: float) -> Growth:
    rows = [(WHOLE, 10, 0.9), ("edges, REINFORCE", 10, 0.0), (WHOLE, 2000, whole)]
    rows += [("edges, REINFORCE", 2000, edges), ("edges, regressed", 2000, edges + 0.1)]
    return Growth(pd.DataFrame(rows, columns=["choice", "labels", "regret"]), 0.02)


def test_the_second_claim_is_judged_at_the_most_labels() -> None:
    assert growth(0.1, 0.05).sentence() == (
        "Whole graphs against edges at 2,000 labelled runs: regret 0.100 against 0.050 (edges, "
        "REINFORCE). The second claim does not show here: edges do as well or better. The regret "
        "that edges can never lose is 0.020 in these worlds."
    )
    assert "The second claim shows here." in growth(0.01, 0.05).sentence()


def test_labels_grow_in_every_world() -> None:
    found = growth_in([100, 101], [4, 8], graphs=5, each=2)
    assert found.table["labels"].tolist() == [8, 8, 8, 16, 16, 16]
    assert set(found.table["seeds"]) == {2}
    assert found.limit >= 0
    assert (found.table["regret"] >= 0).all()
