"""One faulty member: who can be it, and that its cost is measured on the same questions."""

import asyncio
from dataclasses import replace

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.robustness import (
    drop_table,
    members,
    plan_fault,
    robustness_records,
)
from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.faulty_service import FaultyService
from hieramas_lib.llms.layout import Position
from hieramas_lib.methods.fixed import ConstantTeam
from hieramas_lib.methods.single import base, self_consistency
from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

DONE = Completion("Answer: A", "stop", 10, 5, 0.001, 1.0, False, "")


def rollout(*calls: tuple[str, Position], llm: str = "a") -> Rollout:
    records = tuple(CallRecord(role, position, llm, DONE) for role, position in calls)
    return Rollout("t", "Answer: A", Grade("correct"), records)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("Assistant", "alone")], ()),
        ([("Assistant", "alone")] * 5, ("Assistant",)),
        (
            [("Solver", "proposer"), ("Solver", "synthesizer"), ("Decision Maker", "decision")],
            ("Solver",),
        ),
        ([("First", "alone"), ("Second", "alone"), ("Last", "alone")], ("First", "Second")),
        ([("D1", "alone"), ("D2", "alone")] * 2, ("D1", "D2")),
        ([], ()),
    ],
    ids=["one call", "votes", "team", "chain", "debate", "failed"],
)
def test_who_can_go_wrong(calls: list[tuple[str, Position]], expected: tuple[str, ...]) -> None:
    assert members(rollout(*calls)) == expected


def test_of_equal_members_one_sample_goes_wrong() -> None:
    votes = rollout(*[("Assistant", "alone")] * 5)
    assert plan_fault("wrong", [votes], seed=0).sample == 0
    team = rollout(("Solver", "synthesizer"), ("Decision Maker", "decision"))
    fault = plan_fault("wrong", [team], seed=0)
    assert fault.sample is None and fault.members == {"t": "Solver"}


@pytest.fixture(scope="module")
def world() -> Benchmark:
    opened = open_benchmark("knowledge", seed=0, graphs=3, width=1, decision="gemma-3-27b")
    return replace(opened, llms=FaultyService(opened.llms, opened.test))


def chain(world: Benchmark) -> ConstantTeam:
    """Two roles, the second of which reads the first; the others are pruned."""
    roles = world.space.roles
    nodes = tuple(
        Supernode(name, (SKIP,), "gpt-5-mini" if i < 2 else SKIP)
        for i, name in enumerate(roles.names)
    )
    topology = Topology(len(nodes), ((0, 1),))
    return ConstantTeam("two", Team(roles, nodes, topology, "gemma-3-27b", "sinks"), world.llms)


def faulty_service(world: Benchmark) -> FaultyService:
    assert isinstance(world.llms, FaultyService)
    return world.llms


def test_a_team_loses_by_a_wrong_member_and_pays_nearly_the_same(world: Benchmark) -> None:
    tasks, llms = world.test[:40], faulty_service(world)
    records, rollouts = asyncio.run(
        robustness_records(chain(world), llms, tasks, ["wrong", "refusal"], seed=0)
    )
    assert len(records) == len(rollouts) == 3 * len(tasks)
    table = drop_table(records).set_index("fault")
    assert (table["hit"] == 1).all() and (table["n"] == 40).all()
    assert table.loc["wrong", "accuracy_gain_high"] < 0
    assert table.loc["wrong", "accuracy"] == pytest.approx(
        records[records["fault"] == "none"]["correct"].mean() + table.loc["wrong", "accuracy_gain"]
    )
    wrong = records[records["fault"] == "wrong"]
    assert set(wrong["faulty"]) == set(world.space.roles.names[:2])
    assert wrong["calls"].sum() == records[records["fault"] == "none"]["calls"].sum()


def test_one_llm_alone_has_no_member_and_one_vote_of_three_can_go(world: Benchmark) -> None:
    tasks, llms = world.test[:12], faulty_service(world)
    alone = base("gpt-5-mini", llms, world.space.roles)
    records, _ = asyncio.run(robustness_records(alone, llms, tasks, ["wrong"], seed=0))
    assert drop_table(records)["hit"].tolist() == [0.0]
    assert drop_table(records)["accuracy_gain"].tolist() == [0.0]
    votes = self_consistency("gpt-5-mini", llms, world.space.roles, samples=3)
    asyncio.run(robustness_records(votes, llms, tasks, ["wrong"], seed=0))
    assert llms.exchanged == len(tasks)


def test_faulty_records_of_other_items_are_refused() -> None:
    rows = [("none", "a"), ("none", "b"), ("wrong", "a")]
    records = pd.DataFrame(
        [
            {"method": "m", "fault": f, "task_id": t, "seed": 0, "correct": True, "faulty": ""}
            for f, t in rows
        ]
    )
    with pytest.raises(ConfigError, match="other items"):
        drop_table(records)
