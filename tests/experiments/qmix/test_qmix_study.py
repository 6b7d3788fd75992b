"""Numbers and figures of Agent Q-Mix: the toys, how much is talked, and the study as a whole."""

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.qmix.mixing_toy import fit_table
from hieramas_lib.experiments.qmix.qmix_plots import action_bars, round_graphs
from hieramas_lib.experiments.qmix.study import (
    MIXERS,
    WAYS,
    by_subject,
    gain_over_seeds,
    more_talk_over_seeds,
    reward_curves,
    scripted_study,
    talk_study,
)
from hieramas_lib.experiments.qmix.talk import (
    action_shares,
    edge_shares,
    evaluate_talk,
    opening_agrees,
    talk_table,
)
from hieramas_lib.experiments.qmix.talking_world import talking_questions, talking_world
from hieramas_lib.learning.qmix.settings import QMixSettings, TrainingSettings
from hieramas_lib.methods.agent_qmix import ConstantActions
from hieramas_lib.teams.rollout import Rollout

FAST = QMixSettings(training=TrainingSettings(episodes=32, batch=8, target_period=4))


def talked(joint: tuple[int, ...], rounds: int = 2) -> tuple[pd.DataFrame, list[Rollout]]:
    """Two easy and two hard questions under one joint action."""
    world = talking_world()
    settings = replace(FAST, rounds=rounds)
    method = ConstantActions("constant", world.space, world.llms, settings, joint)
    done = evaluate_talk(method, talking_questions(4), pool=world.llms.pool, seed=3)
    return asyncio.run(done)


@pytest.mark.parametrize(
    ("payoffs", "form", "values", "greedy"),
    [
        ([[0, 1], [1, 8]], "vdn", [[-1.5, 2.5], [2.5, 6.5]], (1, 1)),
        ([[0, 1], [1, 8]], "qmix", [[0, 1], [1, 8]], (1, 1)),
        ([[8, -12], [-4, 6]], "vdn", [[0.5, -4.5], [3.5, -1.5]], (1, 0)),
    ],
)
def test_mixers_on_tables_by_hand(payoffs, form, values, greedy) -> None:
    found = fit_table(payoffs, form)
    assert found.values == pytest.approx(np.array(values, dtype=float), abs=0.05)
    assert found.greedy == greedy
    assert found.error == pytest.approx(np.abs(np.array(values) - payoffs).max(), abs=0.05)


def test_no_monotone_mixer_holds_the_second_table() -> None:
    assert fit_table([[8, -12], [-4, 6]], "qmix").error > 3


def test_messages_and_agreement_by_hand() -> None:
    frame, rollouts = talked((1, 0, 0))
    assert frame["messages"].tolist() == [2, 2, 2, 2]
    assert frame["agreed"].tolist() == [True, False, True, False]
    assert frame["level"].isna().all()
    assert frame["seed"].tolist() == [3] * 4
    silent, _ = talked((0, 0, 0))
    assert silent["messages"].sum() == 0
    assert opening_agrees(replace(rollouts[1], rounds=()), talking_questions(2)[1])


def test_shares_of_actions_and_edges_by_hand() -> None:
    _, rollouts = talked((1, 0, 3), rounds=3)
    shares = action_shares(rollouts)
    assert list(shares.index) == ["round 2", "round 3"]
    assert (
        shares.loc["round 2", ["solo", "broadcast", "aggregate"]].tolist()
        == [pytest.approx(1 / 3)] * 3
    )
    assert shares.sum(axis=1).tolist() == pytest.approx([1, 1])
    edges = edge_shares(rollouts, ("One", "Two", "Three"))
    assert edges[0].sum() == 0
    assert edges[1] == pytest.approx(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))


def test_talk_table_by_hand() -> None:
    frame = pd.DataFrame(
        {
            "method": "m", "task_id": list("abcd"), "messages": [1, 3, 4, 6],
            "agreed": [True, True, False, False], "level": [1, 5, 2, 4],
        }
    )  # fmt: skip
    table = talk_table(frame, ["m"]).set_index("hard_means")
    assert table.loc["opening", "messages_more"] == 3
    assert table.loc["level", "messages_more"] == 2
    assert (
        table.loc["opening", "messages_more_low"] < 3 < table.loc["opening", "messages_more_high"]
    )
    assert list(talk_table(frame.assign(level=None), ["m"])["hard_means"]) == ["opening"]
    with pytest.raises(ConfigError, match="'other'"):
        talk_table(frame, ["other"])


def test_the_scripted_study_has_every_method_and_learns() -> None:
    settings = QMixSettings(training=TrainingSettings(episodes=160))
    studies = {seed: asyncio.run(scripted_study(settings, seed, 12)) for seed in (1, 2)}
    records = pd.concat([study.records for study in studies.values()])
    assert records["method"].nunique() == WAYS - 1
    assert len(records) == 2 * (WAYS - 1) * 12
    assert gain_over_seeds(records, "Agent Q-Mix", "QMIX, untrained").estimate > 0
    assert more_talk_over_seeds(records, "Agent Q-Mix").estimate > 0
    table = by_subject(records).set_index("method")
    assert table.loc["All solo", "correct"] == pytest.approx(2 / 3)
    assert table.loc["All broadcast", "correct_hard"] == 1
    curves = reward_curves(studies)
    assert [list(frame.columns) for frame in curves.values()] == [[1, 2]] * len(MIXERS)
    assert curves["Agent Q-Mix"].index[[0, -1]].tolist() == [80, 160]


def test_the_study_on_a_benchmark() -> None:
    world = open_benchmark(
        "knowledge", difficulty="hard", seed=0, graphs=1, width=1, decision="gemma-3-27b"
    )
    study = asyncio.run(talk_study(world, world.test[:3], FAST, 0))
    assert study.records["method"].nunique() == WAYS
    assert study.records.groupby("method")["calls"].max().to_dict()["Decision LLM alone"] == 1
    assert all(len(rollouts) == 3 for rollouts in study.rollouts.values())
    figure = action_bars({"Agent Q-Mix": action_shares(study.rollouts["Agent Q-Mix"])})
    names = study.learners[0].agents.cast.roles.names
    shares = edge_shares(study.rollouts["All broadcast"], names)
    graphs = round_graphs({"round 2": shares[1]}, names)
    assert figure.axes[0].get_xlabel() == "share of agents and questions (%)"
    texts = [text.get_text() for text in graphs.axes[0].texts]
    assert texts.count("100") == 6
    assert "Knowledgeable\nExpert" in texts
