"""Sentences about supernodes name the numbers that the records hold."""

import pandas as pd

from hieramas_lib.experiments.effects.supernode_sentences import (
    best_widths,
    company_sentence,
    copies_sentence,
    expert_sentence,
    proposer_sentences,
    search_sentences,
)

PANEL = "hard world"


def frame(column: str, values: dict[str, dict[object, float]]) -> pd.DataFrame:
    """Return rows of two worlds, the second better by 0.1 throughout; and of a world unseen."""
    rows = [
        {"panel": panel, "series": series, "seed": seed, column: level, "accuracy": v + seed / 10}
        for panel, sign in ((PANEL, 1), ("mmlu-like world", -1))
        for series, by_level in values.items()
        for level, v in ((level, sign * value) for level, value in by_level.items())
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows).assign(utility=lambda f: f["accuracy"])


MIXED = frame(
    "width",
    {
        "as shipped": {0: 0.5, 1: 0.7, 2: 0.65},
        "no fatigue": {0: 0.5, 1: 0.7, 2: 0.72},
        "no recognition, no persuasion": {0: 0.5, 1: 0.4, 2: 0.3},
        "no persuasion": {0: 0.5, 1: 0.5, 2: 0.51},
    },
)


def test_best_widths_may_differ_by_metric() -> None:
    here = MIXED[MIXED["panel"] == PANEL]
    dear = here.assign(utility=here["accuracy"] - 0.3 * here["width"])
    assert best_widths(dear) == {"accuracy": 1, "utility": 0}


def test_proposers_help_up_to_the_best_width_and_hurt_beyond() -> None:
    first, second = proposer_sentences(MIXED, PANEL)
    assert "accuracy is highest with 1 proposers and utility (β = 0.01) with 1" in first
    assert "accuracy gains 0.200 [0.200, 0.200]" in first
    assert "to all 2 it changes by -0.050" in first
    assert "without fatigue by 0.020" in first
    assert second.endswith("bring -0.100 [-0.100, -0.100].")


def test_copies_change_accuracy_with_and_without_persuasion() -> None:
    said = copies_sentence(MIXED, PANEL, "small", "large")
    assert said.startswith("2 copies of small change the accuracy of large by 0.150")
    assert "without persuasion by 0.010" in said


def test_company_is_compared_with_copies() -> None:
    copies, families = "3 copies of one LLM", "LLMs of 3 families"
    company = frame(
        "company",
        {
            "as shipped": {copies: 0.5, families: 0.6},
            "no families": {copies: 0.5, families: 0.57},
            "neither, and one mistake only": {copies: 0.5, families: 0.5},
        },
    )
    said = company_sentence(company, PANEL)
    assert "by 0.100 [0.100, 0.100] of accuracy; without families by 0.070" in said
    assert "without all three knobs by 0.000" in said


def test_experts_are_averaged_within_a_world() -> None:
    worth = {"own subjects, as shipped": 0.2, "other subjects, as shipped": -0.1}
    worth |= {"own subjects, no fit": 0.01, "other subjects, no fit": 0.02}
    rows = [
        {"panel": PANEL, "seed": seed, "place": place, "utility_gain": value + shift}
        for seed in (0, 1)
        for place, value in worth.items()
        for shift in (-0.05, 0.05)  # two experts
    ]
    said = expert_sentence(pd.DataFrame(rows), PANEL)
    assert "by 0.200 [0.200, 0.200] in its own subjects and by -0.100" in said
    assert "without fit by 0.010 [0.010, 0.010] and 0.020" in said


def test_the_widest_search_is_reported_for_each_world() -> None:
    rows = [
        {"world": world, "proposers": f"at most {w}", "gain": g, "gain_low": g, "gain_high": g}
        for world, gains in (("hard world", (0, 0.04)), ("easy world", (0, -0.002)))
        for w, g in enumerate(gains)
    ]
    hard, easy = search_sentences(pd.DataFrame(rows), 1)
    assert "In the hard world, the best supernode with at most 1 proposers is worth +0.040" in hard
    assert "In the easy world" in easy
    assert "-0.002 [-0.002, -0.002]" in easy
