"""Both engines in one world, and the sentences and anchors made of what they find."""

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations import systems_in_world as module
from hieramas_lib.experiments.ablations.ablation_tables import anchor_means, change_sentence
from hieramas_lib.experiments.ablations.systems_in_world import check_engine, systems_in_world
from hieramas_lib.experiments.ablations.variants import FULL, System, variant
from hieramas_lib.experiments.learning_curve.lab import Lab, shipped_lab
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.methods.hieramas import HieraMASSettings
from hieramas_lib.methods.run import run
from hieramas_lib.teams.oracle.anchors import Anchors
from hieramas_lib.teams.oracle.estimate import Estimate

SMALL = System(
    HieraMASSettings(
        stage1=Stage1Settings(passes=1, group=2),
        stage2=Stage2Settings(graphs_per_task=2, epochs=2),
    ),
    width=1,
    graphs=4,
)
SYSTEMS = {name: variant(SMALL, name) for name in (FULL, "width 0")}
PARAMETERS = {
    "engine": "answers", "benchmark": "knowledge", "pool": "simulated", "budget_usd": 0.0,
    "difficulty": "hard", "graphs": 4, "width": 1, "decision": "gemma-3-27b", "questions": 12,
}  # fmt: skip


def small_lab(seed: int, **settings: Any) -> Lab:
    lab = shipped_lab(seed, **settings)
    lab.questions = replace(lab.questions, judge=lab.questions.judge[:100])
    return lab


def test_answers_are_replayed_and_come_with_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shipped_lab", small_lab)
    found = run(systems_in_world(start_run("ablation", PARAMETERS), SYSTEMS, 7))
    assert found.records.groupby("variant", sort=False).size().to_dict() == {
        FULL: 100,
        "width 0": 100,
    }
    assert set(found.records["world"]) == {7}
    assert found.anchors is not None
    assert found.anchors.strongest == "gpt-5-mini"


def test_texts_open_a_world_for_every_width(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def watched(*arguments: Any, **changes: Any) -> Any:
        world = open_for(*arguments, **changes)
        opened.append((len(world.space.graphs), world.space.actions.width))
        return replace(world, train=world.train[:6], test=world.test[:4])

    monkeypatch.setattr(module, "open_for", watched)
    about = start_run("ablation", PARAMETERS | {"engine": "texts", "benchmark": "maths"})
    found = run(systems_in_world(about, SYSTEMS, 1))
    assert opened == [(4, 1), (4, 0)]
    assert found.anchors is None
    assert found.records["variant"].tolist() == [FULL] * 4 + ["width 0"] * 4
    assert np.isfinite(found.records["utility"]).all()


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("guesses", "simulated", "knowledge"), "'guesses' is not one of answers, texts"),
        (("answers", "my_pool.yaml", "knowledge"), "use 'texts'"),
        (("answers", "simulated", "maths"), "use 'texts'"),
    ],
)
def test_an_engine_that_cannot_run_is_refused(arguments: tuple[str, ...], fault: str) -> None:
    check_engine("answers", "simulated", "knowledge")
    check_engine("texts", "my_pool.yaml", "maths")
    with pytest.raises(ConfigError, match=f"engine: .*{fault}"):
        check_engine(*arguments)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.1, "gains utility"), (-0.2, -0.1, "costs utility"), (nan, nan, "does nothing meas")],
)
def test_a_change_in_words(low: float, high: float, word: str) -> None:
    row = {"variant": "width 4", "utility_gain": 0.05, "cost_reference_gain": -0.5}
    table = pd.DataFrame([row | {"utility_gain_low": low, "utility_gain_high": high}])
    told = change_sentence(table, "width 4")
    assert told.startswith(f"“width 4” {word}")
    assert "+0.050 [" in told and told.endswith("at -0.50 reference calls a question.")


def test_anchors_are_means_over_worlds() -> None:
    def anchors(utility: float) -> Anchors:
        random, alone, best = (Estimate(utility * k, 0.0, utility, 0.0, k) for k in (1, 2, 3))
        return Anchors(random, alone, "a", best)

    table = anchor_means([anchors(0.1), anchors(0.3)]).set_index("anchor")
    assert table["utility"].tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert table["accuracy"].tolist() == pytest.approx([0.2] * 3)
    assert anchor_means([])["anchor"].tolist() == ["not with texts"]
