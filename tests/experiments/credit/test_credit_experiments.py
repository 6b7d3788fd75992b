"""Credit against contribution: by hand, and on one tiny world."""

import asyncio

import numpy as np
import pandas as pd
import pytest

from hieramas_lib.experiments.credit.agreement import (
    agreement,
    agreement_in,
    agreement_rows,
    by_mode,
    sign_sentence,
)
from hieramas_lib.experiments.credit.cases import (
    ALPHAS,
    LEAVE_ONE_OUT,
    OURS,
    RAW,
    Cases,
    collect_cases,
    shipped_settings,
    sign_threshold,
)
from hieramas_lib.learning.rewards import PaperReward, effective_reward


def cases(contribution: list[float], credit: list[float], final: list[bool]) -> Cases:
    worth = np.array(contribution)
    return Cases(worth, worth > 0, np.array(final), {(RAW, 0.5): np.array(credit)})


def test_agreement_by_hand():
    """Two helpful roles, one credited; three harmful ones, one punished, one with no credit.

    The sixth contributes next to nothing and is left out.
    """
    some = cases(
        [0.5, 0.1, -0.1, -0.2, -0.3, 0.02],
        [1.0, -1.0, -1.0, 0.0, 1.0, -1.0],
        [True, True, True, True, False, True],
    )
    found = agreement(some, RAW, 0.5)
    assert found.share == pytest.approx((1 + 0 + 1 + 0.5 + 0) / 5)
    assert found.balanced == pytest.approx(((1 + 0) / 2 + (1 + 0.5 + 0) / 3) / 2)
    assert found.punished == pytest.approx(1 / 2)  # of the two harmful roles in right runs
    assert found.clear == pytest.approx(5 / 6)
    assert found.correlation == pytest.approx(
        np.corrcoef(some.contribution, some.credit[RAW, 0.5])[0, 1]
    )


def test_where_nothing_is_clear_there_is_no_agreement():
    found = agreement(cases([0.0, 0.01], [1.0, 1.0], [True, True]), RAW, 0.5)
    assert np.isnan([found.share, found.balanced, found.punished, found.correlation]).all()


def test_modes_are_averaged_over_worlds():
    rows = [
        {"setting": "s", "seed": seed, **row}
        for seed, credit in ((0, 1.0), (1, -1.0))
        for row in agreement_rows(cases([0.5, 0.5], [1.0, credit], [True, True]))
    ]
    (row,) = by_mode(pd.DataFrame(rows)).to_dict("records")
    assert (row["panel"], row["row"], row["series"]) == ("s", "multi_level", RAW)
    assert row["agreement"] == pytest.approx(0.75)


def test_threshold_is_where_the_sign_turns():
    reward = PaperReward()
    final, node = reward(True, 2.0), reward(False, 1.0)
    at = sign_threshold(final, node)
    assert 0 < at < 1
    assert effective_reward(node, final, at - 1e-6) > 0 > effective_reward(node, final, at + 1e-6)


def test_a_tiny_world_from_end_to_end():
    """What the claim says exactly: in right runs only a positive alpha punishes wrong roles."""
    setting = shipped_settings()[0]
    found = asyncio.run(collect_cases(setting, 100, tasks=6, group=2, redraws=4, draws=2))
    assert len(found.contribution) == len(found.node_right) > 50
    assert not np.isnan(found.contribution).any()
    assert set(found.credit) == {(k, a) for k in (RAW, LEAVE_ONE_OUT, OURS) for a in ALPHAS}
    masked = found.final_right & ~found.node_right
    assert masked.any()
    assert (found.credit[RAW, 0.0][masked] > 0).all()
    assert (found.credit[RAW, 0.5][masked] < 0).all()
    assert ((found.credit[RAW, 1.0] > 0) == found.node_right).all()
    assert len(agreement_rows(found)) == 3 * len(ALPHAS)


def test_right_answers_help_and_wrong_ones_harm():
    setting = shipped_settings()[0]
    found = asyncio.run(collect_cases(setting, 101, tasks=6, group=2, redraws=16, draws=4))
    assert found.contribution[found.node_right].mean() > 0.01
    assert found.contribution[~found.node_right].mean() < -0.01


def test_more_roles_are_pruned_where_that_is_asked_for():
    rng = np.random.default_rng(0)
    kept = {}
    for setting in shipped_settings()[:2]:
        kept[setting.name] = np.mean([len(setting.draw(rng).kept) for _ in range(300)])
    assert kept["hard, random teams"] == pytest.approx(8 * 8 / 9, abs=0.2)
    assert kept["hard, 60 % pruned"] == pytest.approx(8 * 0.4, abs=0.3)


def test_agreement_is_averaged_over_worlds_and_told_by_alpha():
    setting = shipped_settings()[0]
    table = asyncio.run(agreement_in(setting, [100, 101], tasks=8, redraws=4))
    assert len(table) == 3 * len(ALPHAS)
    assert set(table["seeds"]) == {2}
    worlds = [asyncio.run(collect_cases(setting, seed, tasks=8, redraws=4)) for seed in (100, 101)]
    row = table[(table["credit"] == OURS) & (table["alpha"] == 0.5)].iloc[0]
    by_world = [agreement(found, OURS, 0.5).correlation for found in worlds]
    assert by_world[0] != by_world[1]
    assert row["correlation"] == pytest.approx(sum(by_world) / 2)


def test_signs_in_words_are_those_of_the_published_credit():
    rows = [(RAW, 0.0, 0.7), (RAW, 0.5, 0.9), (RAW, 1.0, 1.0), (OURS, 0.0, 0.1), (OURS, 0.5, 0.1)]
    table = pd.DataFrame(rows, columns=["credit", "alpha", "agreement"])
    told = sign_sentence(table, 0.321)
    assert "70% of the clear cases with the final outcome alone, 90% at α = 0.5, 100% with" in told
    assert told.endswith("from α = 0.32 on.")
