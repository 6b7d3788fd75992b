"""Every graph on every question: what each way to choose gets, by hand and in one tiny world."""

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.graph_selection.every_graph import (
    BEST,
    BEST_IN_TRAINING,
    CHOICES,
    CLASSIFIER,
    HINDSIGHT,
    RANDOM,
    check_filling,
    choice_sentence,
    choice_table,
    everybody_acts,
    outcomes_of,
    study_graphs,
)
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import greedy
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.methods.hieramas import HieraMASSettings
from hieramas_lib.methods.run import run
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.utility import utility

EVERY = np.array([[0.0, 1.0, 0.2], [0.6, 0.0, 0.9]])
"""Means of the graphs: 0.3, 0.5 and 0.55."""


def outcomes() -> pd.DataFrame:
    columns = outcomes_of(EVERY, fixed=0, picked=np.array([1, 2]))
    return pd.DataFrame({"task_id": ["a", "b"], "seed": 0} | columns)


def test_what_each_way_gets_by_hand() -> None:
    found = outcomes_of(EVERY, fixed=0, picked=np.array([1, 0]))
    assert tuple(found) == CHOICES
    assert found[RANDOM].tolist() == pytest.approx([0.4, 0.5])
    assert found[BEST_IN_TRAINING].tolist() == [0.0, 0.6]
    assert found[CLASSIFIER].tolist() == [1.0, 0.6]
    assert found[HINDSIGHT].tolist() == [0.2, 0.9]
    assert found[BEST].tolist() == [1.0, 0.9]


def test_regret_is_to_the_best_fixed_graph() -> None:
    table = choice_table(outcomes()).set_index("method")
    assert table.index.tolist() == list(CHOICES)
    assert table["regret"].to_dict() == pytest.approx(
        {RANDOM: 0.1, BEST_IN_TRAINING: 0.25, CLASSIFIER: -0.4, HINDSIGHT: 0.0, BEST: -0.4}
    )
    assert set(table["n"]) == {2}


def test_the_sentence_follows_from_paired_questions() -> None:
    """The classifier gains 0.6 and 0.4 over a random graph, and nothing over the best."""
    assert choice_sentence(outcomes(), RANDOM).startswith(
        "The classifier is better than “random graph”: utility difference 0.500 [0.4"
    )
    assert "not distinguishable from “best graph for each" in choice_sentence(outcomes(), BEST)


def test_a_wrong_filling_is_named() -> None:
    check_filling("trained")
    with pytest.raises(ConfigError, match="filling: 'some' is not one of all_roles, trained"):
        check_filling("some")


def test_one_tiny_world_from_end_to_end() -> None:
    whole = open_benchmark("maths", seed=0, graphs=4, width=1, decision="gemma-3-27b")
    world = replace(whole, train=whole.train[:6])
    settings = HieraMASSettings(stage2=Stage2Settings(graphs_per_task=2, epochs=2))
    tasks = whole.test[:5]
    study = asyncio.run(study_graphs(world, settings, tasks, 3, filling="all_roles"))
    frame = study.outcomes
    assert frame["task_id"].tolist() == [task.id for task in tasks]
    assert set(frame["seed"]) == {3}
    assert len(study.labels.graphs) == 6
    assert study.system.kept(tasks).all()  # nobody is pruned
    assert frame["picked"].tolist() == study.system.graph_scores(tasks).argmax(dim=1).tolist()
    answered = run(run_team(study.system.team(tasks[0]), tasks[0], world.llms))
    assert frame[CLASSIFIER][0] == pytest.approx(utility(answered, world.reference_cost))
    assert (frame[BEST] >= frame[HINDSIGHT]).all()


def test_everybody_is_the_decisions_llm() -> None:
    space = open_benchmark("maths", seed=0, graphs=2, width=2, decision="gpt-5-nano").space
    anything = Features(torch.zeros(1, 2), torch.zeros(3, 2), torch.zeros(1, 3))
    (chosen,) = greedy(everybody_acts(space)(anything))
    nano = space.actions.llms.index("gpt-5-nano")
    assert chosen.tolist() == [[nano, space.actions.skip, nano]] * 3
