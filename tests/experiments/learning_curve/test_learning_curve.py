"""Learning curves on a few questions: who sees what, and what is counted."""

from functools import cache

import numpy as np
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.experiments.learning_curve.curve import (
    Point,
    WithoutQuestion,
    learning_curve,
    settings_of,
)
from hieramas_lib.experiments.learning_curve.curve_tables import comparison, curve_table
from hieramas_lib.experiments.learning_curve.lab import REPETITIONS, Lab
from hieramas_lib.experiments.learning_curve.optimum import Optimum
from hieramas_lib.experiments.learning_curve.questions import Questions
from hieramas_lib.learning.encoder import ShippedVectors
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import NO_PRIOR, PolicyPrior, constant_policy, match_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.oracle.anchors import Anchors
from hieramas_lib.teams.oracle.estimate import Estimate
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.symbolic.replay import SymbolicTeams

SHORT = Stage1Settings(passes=1)


@cache
def questions() -> Questions:
    whole = Questions.of("knowledge")
    return Questions(whole.train, whole.judge[:150], whole.search[:50], whole.unseen[:40])


@cache
def lab() -> Lab:
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    world = World((), load_settings("hard"), pool, seed=7)
    return Lab(
        world, pool, load_roles("choice"), questions(), ShippedVectors(), decision="gemma-3-27b"
    )


def estimate(mean: float) -> Estimate:
    return Estimate(mean, 0.0, mean, 0.0, 0.0)


OPTIMUM = Optimum(
    anchors=Anchors(estimate(0.5), estimate(0.25), "a", estimate(0.8)),
    best=estimate(1.0),
    by_subject=estimate(1.5),
    base_unseen=estimate(0.7),
    best_unseen=estimate(0.9),
)


def test_no_question_is_in_two_sets():
    whole = Questions.of("knowledge")
    sets = [{t.id for t in part} for part in (whole.train, whole.judge, whole.search, whole.unseen)]
    assert [len(ids) for ids in sets] == [1152, 2000, 1000, 1600]
    assert len(set.union(*sets)) == sum(map(len, sets))
    assert not {t.subject for t in whole.unseen} & {t.subject for t in whole.train}


def test_a_copy_has_the_vector_of_its_original():
    first, encoder = load_tasks("knowledge", "train")[0], OriginalTexts(ShippedVectors())
    copy = next(t for t in questions().train if t.id == f"{first.id}/copy-16")
    vectors = encoder.encode([copy.prompt, first.prompt])
    assert copy.prompt != first.prompt and (vectors[0] == vectors[1]).all()


@pytest.mark.parametrize("size", [18, 72, 288, 1152])
def test_training_sets_are_distinct_and_cover_the_split(size: int):
    drawn = questions().training_set(size, seed=1)
    assert len({t.id for t in drawn}) == size
    assert len({t.id.partition("/copy")[0] for t in drawn}) == min(size, 72)
    assert drawn == questions().training_set(size, seed=1) != questions().training_set(size, 2)


def test_too_many_training_questions_are_named():
    with pytest.raises(ConfigError, match="sizes: 1 to 1152"):
        questions().training_set(1153, 0)


def test_a_constant_team_is_worth_what_the_evaluator_says():
    """Two ways to the same figure: the lab's, and the oracle's evaluator."""
    space = lab().space
    actions = torch.tensor([[8, 8, 2]] + [[8, 8, 8]] * 7)  # one role, one LLM, so no edges
    policy = constant_policy(space.actions, space.roles, actions)
    featurizer = Featurizer(lab().encoder, space.roles, questions().train[:20])
    results = lab().judge(policy, featurizer, lab().seen)
    symbolic = SymbolicTeams(
        lab().world, lab().pool, space.roles, questions().judge, draws=20
    ).results(space.team(actions, 0))
    assert results.right.shape == (1, REPETITIONS * 150)
    assert results.estimate().mean == pytest.approx(symbolic.estimate().mean, abs=0.02)
    assert results.estimate().cost == pytest.approx(symbolic.estimate().cost, rel=0.01)


def test_without_the_question_a_policy_is_constant():
    space = lab().space
    blind = WithoutQuestion(lab().encoder, space.roles, questions().train[:20])
    policy = match_policy(space.actions, PolicyPrior(), space.roles)
    torch.nn.init.normal_(policy.head.weight, generator=torch.Generator().manual_seed(0))
    logits = lab().logits(policy, blind, lab().seen)
    assert (logits == logits[0]).all()
    seeing = Featurizer(lab().encoder, space.roles, questions().train[:20])
    assert not (lab().logits(policy, seeing, lab().seen) == logits).all()


def test_all_ways_make_as_many_rollouts():
    points = list(
        learning_curve(lab(), OPTIMUM, sizes=[6], seeds=[0], settings=SHORT, prior=PolicyPrior())
    )
    assert [p.way for p in points] == [
        "prior", "HieraMAS", "constant", "final_only", "node_only", "reference", "published",
    ]  # fmt: skip
    assert [p.rollouts for p in points] == [0] + [24] * 6
    prior = points[0]
    assert prior.gain == 0
    for point in points:
        assert point.gain == pytest.approx(point.utility - prior.utility)
        assert point.utility == pytest.approx(point.accuracy - 0.01 * point.cost)
        assert point.from_random == pytest.approx((point.utility - 0.5) / 0.5)
        assert point.from_alone == pytest.approx((point.utility - 0.25) / 0.75)
        assert point.of_subjects == pytest.approx(point.utility - 0.5)
        assert point.unseen_gain == pytest.approx(point.unseen_utility - 0.7)
        assert 0 <= point.kept <= 8 and 0 < point.kept_sampled < 8


def test_training_beats_its_own_prior():
    """From no prior at all, on 144 questions: far from random."""
    points = list(
        learning_curve(
            lab(), OPTIMUM, sizes=[144], seeds=[0], ways=lambda size: ["HieraMAS"],
            settings=SHORT, prior=NO_PRIOR,
        )
    )  # fmt: skip
    untrained, trained = points
    assert untrained.gain == 0 and trained.gain > 0.05


def test_only_the_credit_differs_between_modes():
    assert settings_of("node_only", SHORT).credit == "node_only"
    assert settings_of("constant", SHORT) == settings_of("HieraMAS", SHORT) == SHORT
    published = settings_of("reference", Stage1Settings(passes=2, group=4))
    assert published == Stage1Settings.published(passes=8)
    assert settings_of("published", Stage1Settings(passes=2, group=4)) == published


def point(way: str, world: int, utility: float) -> Point:
    numbers = dict.fromkeys(Point.__dataclass_fields__, 0.0)
    named = {"way": way, "world": world, "seed": 0, "questions": 18, "utility": utility}
    return Point(**(numbers | named))  # type: ignore[arg-type]


def test_tables_average_over_runs_and_pair_within_them():
    points = [point("a", 0, 0.5), point("a", 1, 0.7), point("b", 0, 0.4), point("b", 1, 0.6)]
    table = curve_table(points)
    assert table["utility"].tolist() == pytest.approx([0.6, 0.5])
    assert table["runs"].tolist() == [2, 2]
    gap = comparison(points, "a", "b")[18]
    assert gap.estimate == pytest.approx(0.1)
    assert np.isclose(gap.high - gap.low, 0.0)
