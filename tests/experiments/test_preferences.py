"""What a policy chooses, on policies whose choices are known."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import preferences
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.learning.policy import NO_PRIOR, constant_policy, match_policy
from hieramas_lib.teams.oracle.best_team import expected_utility
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.symbolic.replay import SymbolicTeams


@pytest.fixture(scope="module")
def maths() -> Benchmark:
    return open_benchmark("maths", seed=0, graphs=3, width=2, decision="gemma-3-27b")


def actions(bench: Benchmark) -> torch.Tensor:
    """Three roles: whole, without its second proposer, pruned (with proposers chosen)."""
    skip = bench.space.actions.skip
    return torch.tensor([[0, 1, 2], [3, skip, 3], [0, 0, skip]])


def test_every_position_has_a_row_and_pruned_roles_do_not_act(maths: Benchmark) -> None:
    policy = constant_policy(maths.space.actions, maths.space.roles, actions(maths))
    tasks = maths.test[:2]
    frame = preferences.choices(policy, maths.space, maths.featurizer(), tasks)
    assert len(frame) == 2 * 3 * 3
    assert set(frame["benchmark"]) == {"maths"}
    one = frame[frame["task_id"] == tasks[0].id]
    llms = maths.space.actions.llms
    assert one["llm"].tolist() == [
        llms[0], llms[1], llms[2], llms[3], "skip", llms[3], llms[0], llms[0], "skip",
    ]  # fmt: skip
    assert one["acts"].tolist() == [True, True, True, True, False, True, False, False, False]
    assert one["position"].tolist() == ["proposer 1", "proposer 2", "synthesizer"] * 3


def test_a_team_has_the_choices_that_act(maths: Benchmark) -> None:
    team = maths.space.team(actions(maths), 0)
    policy = constant_policy(maths.space.actions, maths.space.roles, actions(maths))
    frame = preferences.choices(policy, maths.space, maths.featurizer(), maths.test[:1])
    acting = frame[frame["acts"]][["role", "position", "llm"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(preferences.team_choices(team), acting)


def test_logits_are_relative_to_the_mean_of_the_llms(maths: Benchmark) -> None:
    space = maths.space.actions
    policy = match_policy(space, NO_PRIOR, maths.space.roles)
    features = maths.featurizer()
    untrained = preferences.preference_logits(policy, maths.space, features, maths.test)
    assert untrained["logit"].abs().max() == 0
    with torch.no_grad():
        policy.head.bias[0, 1] = 4.0  # type: ignore[index, operator, union-attr]
        policy.head.bias[:, space.skip] = 100.0  # type: ignore[index, operator, union-attr]
    table = preferences.preference_logits(policy, maths.space, features, maths.test)
    logit = table.set_index(["position", "llm"])["logit"]
    count = len(space.llms)
    assert logit["proposer 1", space.llms[1]] == pytest.approx(4 - 4 / count)
    assert logit["proposer 1", space.llms[0]] == pytest.approx(-4 / count)
    assert logit["proposer 2"].abs().max() == pytest.approx(0, abs=1e-5)


def rows(*chosen: tuple[int, str, str]) -> pd.DataFrame:
    return pd.DataFrame(chosen, columns=["seed", "position", "llm"])


def test_shares_are_of_all_rows_of_a_group() -> None:
    frame = rows((0, "p", "a"), (0, "p", "b"), (0, "p", "skip"), (0, "s", "b"))
    table = preferences.shares(frame, ["position"], ["a", "b", "c"])
    assert table.loc["p"].tolist() == pytest.approx([1 / 3, 1 / 3, 0])
    assert table.loc["s"].tolist() == [0, 1, 0]


def test_shares_have_the_spread_of_the_seeds() -> None:
    frame = rows((0, "p", "a"), (0, "p", "a"), (1, "p", "a"), (1, "p", "b"))
    table = preferences.share_intervals(frame, ["position"], ["a", "b"]).set_index("llm")
    assert table.loc["a", ["share", "lowest", "highest"]].tolist() == [0.75, 0.5, 1]
    assert table.loc["b", "share"] == 0.25
    assert (table["share_low"] >= 0).all()
    assert (table["share_high"] <= 1).all()


@pytest.mark.parametrize(
    ("counts", "bits"), [([4, 2, 2], 1.5), ([1, 1], 1), ([5, 0], 0), ([1] * 8, 3)]
)
def test_entropy_by_hand(counts: list[int], bits: float) -> None:
    assert preferences.entropy_bits(counts) == pytest.approx(bits)
    assert math.copysign(1, preferences.entropy_bits(counts)) == 1


def test_the_entropy_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no choice"):
        preferences.entropy_bits([0, 0])


def test_concentration_names_the_favourite() -> None:
    frame = rows(*[(0, "p", llm) for llm in "aabc"])
    found = preferences.concentration(frame)
    assert found["top"] == "a"
    assert found["top_share"] == 0.5
    assert found["effective_llms"] == pytest.approx(2**1.5)


def test_the_collapse_table_counts_teams_whose_choices_are_not_the_usual_ones() -> None:
    frame = pd.DataFrame(
        [
            (task, "r", position, llm)
            for task, llms in (("1", "ab"), ("2", "ab"), ("3", "ba"), ("4", "a"))
            for position, llm in zip(("p", "s"), llms, strict=False)
        ],
        columns=["task_id", "role", "position", "llm"],
    ).assign(benchmark="toy", seed=0)
    (row,) = preferences.collapse_table(frame).to_dict("records")
    assert row["other_team"] == 0.5
    assert row["top"] == "a"
    assert row["top_share"] == pytest.approx(4 / 7)


def test_the_best_constant_team_is_worth_more_than_the_decision_alone(maths: Benchmark) -> None:
    team = preferences.best_constant_team(maths, graphs=1, copies=0)
    world, space = maths.llms.world, maths.space
    assert world is not None
    questions = SymbolicTeams(world, maths.llms.pool, space.roles, maths.train, draws=2)
    options = TeamOptions(
        space.roles, space.actions.llms, 2, space.graphs.topologies, space.decision
    )
    alone = expected_utility(options.alone(), questions)
    assert expected_utility(team, questions).mean > alone.mean + 0.05


def test_it_cannot_be_searched_among_real_llms(maths: Benchmark) -> None:
    real = replace(maths, llms=SimpleNamespace(world=None, pool=None))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="simulated LLMs only"):
        preferences.best_constant_team(real)
