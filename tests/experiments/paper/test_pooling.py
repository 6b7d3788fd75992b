"""Runs that differ in seeds only are one experiment; no seed counts twice."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.paper.pooling import pooled_runs
from hieramas_lib.experiments.runs import start_run


def make_run(seeds: Sequence[int], accuracy: float = 0.5, **parameters: object) -> str:
    run = start_run("07_main", {"seeds": list(seeds), "width": 2, "budget_usd": 0.0} | parameters)
    rows = [{"seed": seed, "task_id": f"t{i}", "value": accuracy} for seed in seeds for i in (1, 2)]
    run.save_records(pd.DataFrame(rows))
    run.finish(rows=len(rows))
    return run.run_id


def test_runs_of_other_seeds_are_pooled_and_other_settings_are_not() -> None:
    first, second = make_run([0]), make_run([1, 2], budget_usd=3.0)
    make_run([3], width=4)
    pooled = pooled_runs("07_main", first)
    assert [run.about["run_id"] for run in pooled.runs] == [first, second]
    assert pooled.records.groupby("seed").size().to_dict() == {0: 2, 1: 2, 2: 2}
    assert "07_main, runs" in pooled.provenance and "seeds 1, 2" in pooled.provenance


def test_a_seed_is_taken_from_the_leading_run_only() -> None:
    make_run([0, 1], accuracy=0.1)
    lead = make_run([1, 2], accuracy=0.9)
    pooled = pooled_runs("07_main", lead)
    by_seed = pooled.records.groupby("seed")["value"].agg(["size", "mean"])
    assert by_seed["size"].to_dict() == {0: 2, 1: 2, 2: 2}
    assert by_seed["mean"].to_dict() == {0: 0.1, 1: 0.9, 2: 0.9}


def test_a_run_that_adds_no_seed_is_left_out() -> None:
    make_run([0])
    lead = make_run([0, 1])
    assert len(pooled_runs("07_main", lead).runs) == 1


def test_what_is_missing_is_named(results: Path) -> None:
    with pytest.raises(ConfigError, match=r"no complete run of 07_main.*hieramas run 07"):
        pooled_runs("07_main")
    make_run([0])
    with pytest.raises(ConfigError, match="no run 'zzz' of 07_main"):
        pooled_runs("07_main", "zzz")
    with pytest.raises(ConfigError, match=r"training.csv: missing"):
        pooled_runs("07_main").rows("tables/training.csv")
