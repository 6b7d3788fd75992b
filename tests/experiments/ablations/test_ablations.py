"""Ablations: what a name changes, and what is compared with what."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations.ablation_tables import ablation_table, beside_paper
from hieramas_lib.experiments.ablations.replayed import everywhere, replayed_records, train_system
from hieramas_lib.experiments.ablations.variants import (
    FULL,
    USUAL,
    System,
    named_variants,
    variant,
)
from hieramas_lib.experiments.ablations.with_texts import text_records
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.learning_curve.lab import Lab, shipped_lab
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.methods.hieramas import HieraMASSettings
from hieramas_lib.methods.run import run

SMALL = System(
    HieraMASSettings(
        stage1=Stage1Settings(passes=1, group=2),
        stage2=Stage2Settings(graphs_per_task=2, epochs=2),
    ),
    width=1,
    graphs=6,
)


@cache
def lab() -> Lab:
    opened = shipped_lab(7)
    opened.questions = replace(opened.questions, judge=opened.questions.judge[:200])
    return opened


def records(name: str, system: System = SMALL) -> pd.DataFrame:
    train = lab().questions.training_set(18, 0)
    return replayed_records(lab(), variant(system, name), name, train, seed=0)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("graph random", "graph", "random"),
        ("llms decision", "filling", "decision"),
        ("width 8", "width", 8),
        ("graphs 500", "graphs", 500),
        ("texts words", "texts", "words"),
    ],
)
def test_a_name_changes_one_thing(name: str, field: str, value: object):
    changed = variant(SMALL, name)
    assert getattr(changed, field) == value
    assert replace(changed, **{field: getattr(SMALL, field)}) == SMALL  # type: ignore[arg-type]


def test_settings_of_the_stages_are_reached():
    assert variant(SMALL, "alpha 0.25").settings.stage1.alpha == 0.25
    assert variant(SMALL, "price 4").settings.stage1.price == 4.0
    assert variant(SMALL, "credit final_only").settings.stage1.credit == "final_only"
    assert variant(SMALL, "labels top2").settings.stage2.rule == "top2"
    assert variant(SMALL, "classifier reference").settings.stage2.form == "reference"
    assert variant(SMALL, "policy paper").settings.form == "paper"
    assert variant(SMALL, "prior none").settings.prior.skip_synthesizer == 0
    assert variant(SMALL, FULL) is SMALL


def test_the_published_update_gets_as_many_rollouts():
    ours, published = SMALL.settings.stage1, variant(SMALL, "credit reference").settings.stage1
    assert published.credit == "reference" and published.group == 1
    assert published.passes * published.group == ours.passes * ours.group


@pytest.mark.parametrize(
    "name", ["wdth 4", "width", "width four", "width -1", "graph chosen", "credit other", "prior 2"]
)
def test_a_wrong_name_is_named(name: str):
    with pytest.raises(ConfigError, match=f"variants: '{name}'"):
        variant(SMALL, name)


def test_a_part_alone_stands_for_its_usual_values():
    assert named_variants(["graph", "width 3", "width", "width 3"]) == [
        "graph random", "width 3", *(f"width {value}" for value in USUAL["width"]),
    ]  # fmt: skip
    for name in named_variants(list(USUAL)):
        variant(System(), name)


def test_every_system_answers_the_same_questions():
    full, random = records(FULL), records("graph random")
    assert full["task_id"].tolist() == random["task_id"].tolist()
    assert len(set(full["task_id"])) == 100
    assert (full["kept_roles"] == random["kept_roles"]).all()  # stage 1 is the same
    assert np.allclose(full["utility"], full["accuracy"] - 0.01 * full["cost_reference"])
    assert not np.allclose(full["cost_reference"], random["cost_reference"])  # graphs are not


def test_without_selection_the_decisions_llm_is_everywhere():
    small = lab().with_space(graphs=6, width=1)
    policy = everywhere(small.space)
    actions = policy(lab_features(small)).argmax(-1)
    assert (actions == small.space.actions.llms.index("gemma-3-27b")).all()
    assert (records("llms decision")["kept_roles"] == 8).all()


def lab_features(small: Lab):  # type: ignore[no-untyped-def]
    train = small.questions.training_set(18, 0)
    trained = train_system(small, variant(SMALL, "llms decision"), train, 0)
    assert trained.featurizer is not None and not trained.history
    return trained.featurizer(train)


def test_another_space_shares_what_is_known_of_the_questions():
    wide = lab().with_space(graphs=4, width=3)
    assert len(wide.space.graphs) == 4 and wide.space.actions.width == 3
    assert wide.seen.mixed is lab().seen.mixed
    assert wide.seen.graphs.max() == 3
    assert len(lab().space.graphs) == 100


def test_differences_are_taken_on_the_same_questions_of_a_run():
    """Worlds differ by 0.5, systems by 0.1 and 0.3 in the two worlds: 0.2 on average."""
    rows = []
    for world, lost in ((0, 0.1), (1, 0.3)):
        for task in ("a", "b"):
            full = 0.5 * world + 0.2 * (task == "a")
            for name, value in ((FULL, full), ("graph random", full - lost)):
                rows.append(
                    {"variant": name, "world": world, "seed": world, "task_id": task}
                    | {"utility": value, "accuracy": value, "cost_reference": 1.0, "kept_roles": 2}
                )
    table = ablation_table(pd.DataFrame(rows)).set_index("variant")
    changed = table.loc["graph random"]
    assert changed["utility_gain"] == pytest.approx(-0.2)
    assert changed["utility_gain_low"] == pytest.approx(-0.2 - 12.706 * 0.1, abs=1e-3)
    assert changed["runs"] == 2 and changed["cost_reference_gain"] == 0
    assert table.loc[FULL]["utility_gain"] == 0


def test_with_one_run_the_interval_is_over_questions():
    frame = pd.DataFrame(
        [
            {"variant": name, "world": 0, "seed": 0, "task_id": task, "utility": value - loss}
            for name, loss in ((FULL, 0.0), ("price 0", 0.1))
            for task, value in enumerate([0.9, -0.1, 0.8])
        ]
    ).assign(accuracy=0.0, cost_reference=0.0, kept_roles=0.0)
    changed = ablation_table(frame).set_index("variant").loc["price 0"]
    ends = changed["utility_gain_low"], changed["utility_gain_high"]
    assert ends == pytest.approx((-0.1, -0.1))


def test_the_papers_rows_have_ours_beside_them():
    """W = 2 is the full system here; W = 8 was not run, and has no number of ours."""
    full = System()
    table = pd.DataFrame(
        {"variant": [FULL, "width 6"], "accuracy": [0.9, 0.8], "cost_reference": [2.0, 3.0]}
    )
    shown = beside_paper(table, "table6", full).set_index("proposers")
    assert shown["accuracy_paper"].tolist() == [0.952, 0.912, 0.888]
    assert shown["accuracy_ours"].tolist()[:2] == [0.9, 0.8]
    assert np.isnan(shown["accuracy_ours"]["8"])
    assert shown["relative_cost_ours"].tolist()[:2] == [1.0, 1.5]
    assert shown["relative_cost_paper"]["6"] == pytest.approx(1.97 / 1.29)
    assert beside_paper(table, "table2", full)["our_variant"].tolist()[0] == FULL


@cache
def world() -> Benchmark:
    opened = open_benchmark("knowledge", seed=0, graphs=3, width=1, decision="gemma-3-27b")
    return replace(opened, train=opened.train[:4], test=opened.test[:3])


@pytest.mark.parametrize("name", [FULL, "graph random", "llms decision", "texts words"])
def test_the_text_path_gives_the_same_columns(name: str):
    small = replace(SMALL, graphs=3)
    frame = run(text_records(world(), variant(small, name), name, seed=0))
    assert frame["variant"].tolist() == [name] * 3
    assert set(records(FULL).columns) <= set(frame.columns)
    assert frame["task_id"].tolist() == [task.id for task in world().test]


def test_the_text_path_refuses_a_benchmark_opened_for_another_system():
    with pytest.raises(ConfigError, match="width 4, the benchmark was opened with 3 and 1"):
        run(text_records(world(), variant(replace(SMALL, graphs=3), "width 4"), "width 4", 0))


def test_torch_is_not_seeded_globally():
    before = torch.get_rng_state()
    records("graph random")
    assert torch.equal(before, torch.get_rng_state())
