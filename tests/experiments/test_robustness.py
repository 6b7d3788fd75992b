"""One faulty member: who can be it, and that its cost is measured on the same questions."""

import asyncio
from dataclasses import replace

import pandas as pd
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.robustness import (
    draw_members,
    drop_table,
    members,
    robustness_records,
)
from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.faulty_service import FaultyService
from hieramas_lib.llms.layout import Position
from hieramas_lib.methods.fixed import ConstantTeam
from hieramas_lib.methods.single import base, self_consistency
from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.rollout import CallRecord, Rollout, RoundRecord
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

DONE = Completion("Answer: A", "stop", 10, 5, 0.001, 1.0, False, "")


def rollout(*calls: tuple[str, Position], rounds: int = 0) -> Rollout:
    records = tuple(CallRecord(role, position, "a", DONE) for role, position in calls)
    held = (RoundRecord((), (), ()),) * rounds
    return Rollout("t", "Answer: A", Grade("correct"), records, rounds=held)


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
        ([("A1", "proposer"), ("A2", "proposer"), ("A1", "proposer")], ("A2",)),
        ([], ()),
    ],
    ids=["one call", "votes", "team", "chain", "chat", "failed"],
)
def test_who_can_go_wrong(calls: list[tuple[str, Position]], expected: tuple[str, ...]) -> None:
    assert members(rollout(*calls)) == expected


@pytest.mark.parametrize("rounds", [1, 2])
def test_in_a_debate_all_can_go_wrong(rounds: int) -> None:
    speakers: list[tuple[str, Position]] = [("D1", "proposer"), ("D2", "proposer")]
    assert members(rollout(*speakers * rounds, rounds=rounds)) == ("D1", "D2")


def test_a_member_is_drawn_where_there_is_one() -> None:
    team = rollout(("Solver", "synthesizer"), ("Decision Maker", "decision"))
    alone = replace(rollout(("Assistant", "alone")), task_id="other")
    assert draw_members([team, alone], seed=0) == {"t": "Solver"}


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
    records = asyncio.run(
        robustness_records(chain(world), llms, tasks, ["wrong", "refusal"], seed=0)
    )
    assert len(records) == 3 * len(tasks)
    table = drop_table(records).set_index("fault")
    assert (table["exposed"] == 1).all() and (table["n"] == 40).all()
    assert table.loc["wrong", "accuracy_gain_high"] < 0
    assert table.loc["wrong", "accuracy"] == pytest.approx(
        records[records["fault"] == "none"]["correct"].mean() + table.loc["wrong", "accuracy_gain"]
    )
    wrong = records[records["fault"] == "wrong"]
    first, second = world.space.roles.names[:2]
    assert set(wrong["member"]) == {first, second}
    assert set(wrong[wrong["member"] == first]["sent"]) == {1}
    assert set(wrong[wrong["member"] == second]["sent"]) == {0}
    assert (table["sent_gain"] == 0).all() and 0 < table.loc["wrong", "sent"] < 1
    assert wrong["calls"].sum() == records[records["fault"] == "none"]["calls"].sum()


def test_a_given_member_goes_wrong_on_every_task(world: Benchmark) -> None:
    tasks, llms, name = world.test[:6], faulty_service(world), world.space.roles.names[1]
    records = asyncio.run(
        robustness_records(chain(world), llms, tasks, ["refusal"], seed=0, member=name)
    )
    assert set(records["member"]) == {name} and llms.exchanged == len(tasks)


def test_one_llm_alone_has_no_member(world: Benchmark) -> None:
    tasks, llms = world.test[:12], faulty_service(world)
    alone = base("gpt-5-mini", llms, world.space.roles)
    table = drop_table(asyncio.run(robustness_records(alone, llms, tasks, ["wrong"], seed=0)))
    assert table["exposed"].tolist() == [0.0] and table["accuracy_gain"].tolist() == [0.0]


def test_of_equal_members_one_sample_goes_wrong(world: Benchmark) -> None:
    tasks, llms = world.test[:12], faulty_service(world)
    votes = self_consistency("gpt-5-mini", llms, world.space.roles, samples=3)
    asyncio.run(robustness_records(votes, llms, tasks, ["wrong"], seed=0))
    assert llms.exchanged == len(tasks)


def test_faulty_records_of_other_items_are_refused() -> None:
    rows = [("none", "a"), ("none", "b"), ("wrong", "a")]
    records = pd.DataFrame(
        [{"method": "m", "fault": f, "task_id": t, "seed": 0, "correct": True} for f, t in rows]
    )
    with pytest.raises(ConfigError, match="other items"):
        drop_table(records)
