"""What training brought on seen and unseen subjects, by hand, and the real thing small."""

import asyncio
import math
from dataclasses import replace

import pandas as pd
import pytest

from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.unseen_subjects import (
    METHODS,
    answer_splits,
    beside_published,
    brought,
    gains,
)
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.methods.hieramas import HieraMASSettings
from hieramas_lib.tasks.load import load_tasks


def records(*rows: tuple[str, int, str, float, float]) -> pd.DataFrame:
    """Split, seed, task, and the utilities of HieraMAS and its untrained prior."""
    return pd.DataFrame(
        [
            {"split": split, "seed": seed, "task_id": task, "method": method, "utility": value}
            for split, seed, task, ours, prior in rows
            for method, value in (("HieraMAS", ours), ("Untrained prior", prior))
        ]
    )


def test_several_worlds_are_compared_world_by_world() -> None:
    found = brought(
        records(
            ("seen", 0, "s1", 0.5, 0.4), ("seen", 1, "s1", 0.7, 0.4),
            ("unseen", 0, "u1", 0.9, 0.7), ("unseen", 1, "u1", 0.9, 0.5),
        )
    )  # fmt: skip
    assert found.seen.estimate == pytest.approx(0.2)
    assert found.unseen.estimate == pytest.approx(0.3)
    assert found.carried.estimate == pytest.approx(0.1)
    # Both worlds carry 0.1 more over: there is no spread.
    assert found.carried.high - found.carried.low == pytest.approx(0, abs=1e-9)


def test_one_world_has_intervals_over_its_questions() -> None:
    found = brought(
        records(
            ("seen", 0, "s1", 1.0, 0.0), ("seen", 0, "s2", 1.0, 1.0),
            ("unseen", 0, "u1", 0.0, 1.0), ("unseen", 0, "u2", 1.0, 1.0),
        )
    )  # fmt: skip
    assert found.carried.estimate == pytest.approx(-1.0)
    half = found.seen.high - found.seen.estimate
    assert found.carried.high - found.carried.estimate == pytest.approx(math.sqrt(2) * half)


def test_gains_are_within_split_and_world() -> None:
    table = gains(records(("seen", 0, "s1", 0.5, 0.4), ("unseen", 0, "u1", 0.9, 0.7)))
    assert table["compared_with"].unique().tolist() == ["Untrained prior"]
    assert dict(zip(table["split"], table["gain"].round(3), strict=True)) == {
        "seen": 0.1, "unseen": 0.2,
    }  # fmt: skip


def test_published_rows_come_first_with_their_source_and_interval() -> None:
    ours = pd.DataFrame(
        [{"method": "HieraMAS", "n": 80, "seeds": 2, "accuracy": 0.9, "accuracy_low": 0.8,
          "accuracy_high": 0.95, "utility": 0.1}]
    )  # fmt: skip
    table = beside_published(ours, "ours, simulated")
    assert len(table) == 11
    assert table.iloc[0]["source"] == "published, real LLMs: GPT-5-Mini"
    first = table[table["accuracy"] == 0.72].iloc[0]
    # 18 of 25
    assert first[["accuracy_low", "accuracy_high"]].tolist() == pytest.approx(
        [0.524, 0.857], abs=5e-4
    )
    assert table.iloc[-1][["source", "n", "accuracy"]].tolist() == ["ours, simulated", 80, 0.9]


def test_all_ways_answer_both_splits() -> None:
    world = open_benchmark("knowledge", seed=0, graphs=4, width=1, decision="gemma-3-27b")
    world = replace(world, train=world.train[:12])
    small = HieraMASSettings(
        stage1=Stage1Settings(passes=1, batch=12, group=2),
        stage2=Stage2Settings(graphs_per_task=2, epochs=2),
    )
    splits = {"seen": world.test[:3], "unseen": load_tasks("knowledge", "unseen")[:2]}
    answers, chosen = asyncio.run(answer_splits(world, splits, small, "gpt-5-mini", 0))
    assert len(answers) == METHODS * 5
    assert answers["method"].nunique() == METHODS
    assert answers.groupby("split").size().to_dict() == {"seen": 24, "unseen": 16}
    assert len(chosen) == 5 * 8 * 2  # questions, roles, positions
    budget = answers.groupby("method")["cost_reference"].mean()
    assert budget["Base, equal budget"] > budget["Base"]
