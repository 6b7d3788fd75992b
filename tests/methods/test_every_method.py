"""What is true of every method of the result tables, on every shipped benchmark."""

import asyncio
import random
from dataclasses import dataclass, replace
from functools import cache
from math import fsum
from pathlib import Path

import numpy as np
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.method_table import fit_costed, make_method, method_names
from hieramas_lib.experiments.records import answer_all, item_record
from hieramas_lib.llms.call_summary import summarise
from hieramas_lib.llms.call_totals import Totals
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.saved import LearnsTensors, LearnsText, load_method, save_method
from hieramas_lib.methods.team_client import open_team
from hieramas_lib.teams.rollout import Rollout

LLM = "gpt-5-mini"
BENCHMARKS = ("knowledge", "maths", "humaneval")


def opened(benchmark: str) -> Benchmark:
    """A new simulated world with few questions in it, and nothing called yet."""
    world = open_benchmark(
        benchmark, difficulty="hard", seed=3, graphs=6, width=2, decision="gemma-3-27b"
    )
    return replace(world, train=world.train[:8], val=world.val[:3], test=world.test[:3])


def global_draws() -> list[bytes]:
    """The state of the generators that belong to the whole process."""
    numbers = np.random.get_state()
    return [
        repr(random.getstate()).encode(),
        repr(numbers).encode() + numbers[1].tobytes(),
        torch.get_rng_state().numpy().tobytes(),
    ]


@dataclass(frozen=True)
class Outcome:
    """A method trained and asked once, in a world of its own."""

    world: Benchmark
    method: Method
    rollouts: list[Rollout]
    training: dict
    trained: Totals
    answered: Totals
    draws: tuple[list[bytes], list[bytes]]


def outcome(name: str, benchmark: str, slots: int) -> Outcome:
    world, before = opened(benchmark), global_draws()
    method = make_method(name, world, seed=4, llm=LLM, effort="tiny")
    training = asyncio.run(fit_costed(method, world, seed=4))
    trained = world.llms.usage
    rollouts = asyncio.run(answer_all(method, world.test, slots=slots))
    return Outcome(
        world, method, rollouts, training, trained, world.llms.usage, (before, global_draws())
    )


@cache
def first(name: str, benchmark: str) -> Outcome:
    return outcome(name, benchmark, slots=64)


every = pytest.mark.parametrize("name", method_names())
everywhere = pytest.mark.parametrize("benchmark", BENCHMARKS)


@everywhere
@every
def test_every_item_has_a_row_and_the_ledger_is_the_sum_of_the_rows(name: str, benchmark: str):
    of = first(name, benchmark)
    assert of.method.name == name
    rows = [
        item_record(rollout, task, name, pool=of.world.llms.pool)
        for rollout, task in zip(of.rollouts, of.world.test, strict=True)
    ]
    assert [row["task_id"] for row in rows] == [task.id for task in of.world.test]
    assert {row["status"] for row in rows} <= {"correct", "wrong", "unparsed", "empty"}
    assert fsum(row["cost_usd"] for row in rows) == pytest.approx(
        of.answered.as_if_usd - of.trained.as_if_usd, rel=1e-9
    )
    assert sum(row["calls"] for row in rows) == of.answered.calls - of.trained.calls
    tokens = sum(row["prompt_tokens"] + row["completion_tokens"] for row in rows)
    ledger = of.answered.prompt_tokens + of.answered.completion_tokens
    assert tokens == ledger - of.trained.prompt_tokens - of.trained.completion_tokens


@everywhere
@every
def test_training_is_in_the_same_ledger(name: str, benchmark: str):
    of = first(name, benchmark)
    assert of.training["calls"] == of.trained.calls
    assert of.training["cost_usd"] == of.trained.as_if_usd
    assert (of.trained.calls > 0) == (name in method_names(learning=True))


@everywhere
@every
def test_every_request_carries_a_role(name: str, benchmark: str):
    of = first(name, benchmark)
    assert all(call.role for rollout in of.rollouts for call in rollout.calls)
    assert "" not in summarise(of.world.llms.store, "role")


@everywhere
@every
def test_two_runs_with_one_seed_are_identical(name: str, benchmark: str):
    again = outcome(name, benchmark, slots=1)
    of = first(name, benchmark)
    assert [r.to_json() for r in again.rollouts] == [r.to_json() for r in of.rollouts]
    assert again.training == of.training


@everywhere
@every
def test_no_generator_of_the_process_is_touched(name: str, benchmark: str):
    before, after = first(name, benchmark).draws
    assert before == after


@everywhere
@every
def test_saved_and_loaded_it_gives_the_same_rollouts(name: str, benchmark: str, tmp_path: Path):
    of = first(name, benchmark)
    save_method(of.method, tmp_path / "saved")
    again = load_method(tmp_path / "saved")
    assert type(again) is type(of.method)
    assert again.name == name
    rollouts = asyncio.run(answer_all(again, of.world.test))
    assert [r.to_json() for r in rollouts] == [r.to_json() for r in of.rollouts]
    # Untrained it could answer the same by luck; so what was learned is compared as well.
    assert learned(again) == learned(of.method)


def learned(method: Method) -> dict[str, object]:
    if isinstance(method, LearnsText):
        return {"text": method.learned_json()}
    if isinstance(method, LearnsTensors):
        return {name: tensor.tolist() for name, tensor in method.tensors().items()}
    return {}


@pytest.mark.parametrize("name", method_names(learning=True))
def test_nothing_learned_is_not_saved(name: str, tmp_path: Path):
    method = make_method(name, opened("maths"), seed=4, llm=LLM, effort="tiny")
    with pytest.raises(ConfigError, match="fit"):
        save_method(method, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@every
def test_any_saved_method_can_be_served(name: str, tmp_path: Path):
    of = first(name, "maths")
    save_method(of.method, tmp_path / "saved")
    client = open_team(tmp_path / "saved")
    request = ChatRequest("saved", (Message("user", of.world.test[0].statement),))
    answer = asyncio.run(client.complete(request))
    assert answer.text == of.rollouts[0].answer
    assert answer.cost_usd == of.rollouts[0].usage.cost_usd
