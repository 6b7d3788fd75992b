import numpy as np
import pytest

from hieramas_lib.experiments.calibration.outcome_statistics import (
    agreement,
    interaction_sd,
    plurality,
    repetition,
    same_wrong,
    shares,
)

# Three LLMs, four questions: all, two, one and none right.
RIGHT = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)


def test_shares_by_hand() -> None:
    assert shares(RIGHT) == {
        "all right": 0.25,
        "all wrong": 0.25,
        "best single LLM": 0.75,
        "majority (more than half right)": 0.5,
        "oracle (any right)": 0.75,
    }


def test_half_is_no_majority() -> None:
    even = np.array([[1, 1], [0, 1]], dtype=bool)
    assert shares(even)["majority (more than half right)"] == 0.5


def test_agreement_by_hand() -> None:
    found = agreement(RIGHT, ("a", "a", "b"))
    # Pairs agree on 3, 2 and 3 of 4 questions.
    assert found["pairwise agreement"] == pytest.approx(8 / 12)
    # phi of (1110, 1100) is (2 - 3*2/4) / sqrt(3*1*2*2/16) with counts over 4.
    assert found["phi, same family"] == pytest.approx(0.5 / np.sqrt(0.75))
    others = np.corrcoef(RIGHT)
    assert found["phi, other families"] == pytest.approx((others[0, 2] + others[1, 2]) / 2)
    assert found["phi"] == pytest.approx((others[0, 1] + others[0, 2] + others[1, 2]) / 3)


def test_same_wrong_counts_pairs_that_are_both_wrong() -> None:
    gold = np.array(["A", "A", "A", "A"])
    answers = np.array([["B", "B", "A", ""], ["B", "C", "B", "B"], ["B", "C", "B", "B"]])
    found = same_wrong(answers, gold, ("x", "y", "y"))
    # y, y: the same on all four. x with each y: both wrong twice, the same once.
    assert found["same wrong answer, same family"] == 1.0
    assert found["same wrong answer, other families"] == 0.5


def test_plurality_shares_ties_and_ignores_blanks() -> None:
    gold = np.array(["A", "A", "A", "A"])
    answers = np.array([["A", "A", "B", ""], ["A", "B", "B", ""], ["B", "C", "A", ""]])
    # Won; a tie of three; lost; nobody answered.
    assert plurality(answers, gold) == pytest.approx((1 + 1 / 3) / 4)
    assert plurality(np.array([["A"], [""], [""]]), np.array(["A"])) == 1.0


def test_repetition_by_hand() -> None:
    found = repetition(np.array([[1, 1], [1, 0], [0, 0], [1, 1]], dtype=bool))
    assert found == {"always right": 0.5, "never right": 0.25, "now and then": 0.25}


def test_interaction_is_found_without_its_noise() -> None:
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(30), 200)
    effects = 0.1 * rng.standard_normal((8, 30))
    level = 0.6 + 0.1 * rng.standard_normal(30)
    for scale, expected in ((1.0, 0.1), (0.0, 0.0)):
        chance = (level + scale * effects)[:, subjects].clip(0, 1)
        right = rng.random((8, 6000)) < chance
        # Sampling alone gives the means of 200 questions a deviation of 0.035.
        assert interaction_sd(right, subjects.tolist()) == pytest.approx(expected, abs=0.015)
