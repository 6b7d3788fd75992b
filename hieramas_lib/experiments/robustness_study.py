"""The two experiments of the notebook on robustness, on worlds in which a member can go wrong."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.method_table import make_method
from hieramas_lib.experiments.robustness import CLEAN, robustness_records
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import Run
from hieramas_lib.experiments.statistics import Interval
from hieramas_lib.llms.faulty_service import Fault, FaultKind, FaultyService
from hieramas_lib.methods.agent_qmix import AgentQMix
from hieramas_lib.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

SOUND, FAULTY = "trained with a sound first agent", "trained with a faulty first agent"


def faulty_world(run: Run, benchmark: str, seed: int) -> tuple[Benchmark, FaultyService]:
    """Open ``benchmark`` for a run, with LLMs of which one can be made to go wrong."""
    world = open_for(run, benchmark, seed)
    llms = FaultyService(world.llms, (*world.train, *world.val, *world.test))
    return replace(world, llms=llms), llms


async def method_records(
    run: Run, benchmark: str, name: str, tasks: Sequence[Task], kinds: Sequence[FaultKind],
    *, llm: str, seed: int,
) -> "pd.DataFrame":  # fmt: skip
    """Train a method without any fault, and answer ``tasks`` without and with each kind.

    Args:
        run: Whose parameters the world is opened by.
        benchmark: Where it trains.
        name: Of the method, as in the table of methods.
        tasks: Questions to answer.
        kinds: Faults.
        llm: LLM of a method that has but one.
        seed: Of world, training and draw of members.
    """
    world, llms = faulty_world(run, benchmark, seed)
    method = make_method(name, world, seed=seed, llm=llm)
    await method.fit(world.train, world.val)
    return await robustness_records(method, llms, tasks, kinds, seed=seed)


async def training_records(
    run: Run, benchmark: str, tasks: Sequence[Task], kind: FaultKind,
    *, faulty: bool, llm: str, seed: int,
) -> "pd.DataFrame":  # fmt: skip
    """Train Agent Q-Mix with its first agent going wrong or not; test it with and without.

    The other arguments are those of :func:`method_records`.
    """
    world, llms = faulty_world(run, benchmark, seed)
    system = make_method("Agent Q-Mix", world, seed=seed, llm=llm)
    assert isinstance(system, AgentQMix)
    first = system.agents.cast.roles.names[0]
    if faulty:
        with llms.fault(Fault(kind, {task.id: first for task in world.train})):
            await system.fit(world.train, world.val)
    else:
        await system.fit(world.train, world.val)
    system.name = FAULTY if faulty else SOUND
    return await robustness_records(system, llms, tasks, [kind], seed=seed, member=first)


def messages_sent(records: "pd.DataFrame") -> "pd.DataFrame":
    """Return how many messages the faulty member may send, one row a method, state and seed.

    Columns: ``method, state`` (``sound`` or the fault), ``seed, sent``.
    """
    means = records.groupby(["method", "fault", "seed"], sort=False)["sent"].mean().reset_index()
    means["state"] = means["fault"].where(means["fault"] != CLEAN, "sound")
    return means.drop(columns="fault")


def drop_sentences(drops: "pd.DataFrame", where: str) -> list[str]:
    """Say what each fault costs each method, the most robust first.

    Args:
        drops: See :func:`~.robustness.drop_table`.
        where: Benchmark and world.
    """
    sentences = []
    for fault, rows in drops.groupby("fault", sort=False):
        parts = [
            f"{row.method} {100 * row.accuracy_gain:.1f} "
            f"[{100 * row.accuracy_gain_low:.1f}, {100 * row.accuracy_gain_high:.1f}]"
            for row in rows.sort_values("accuracy_gain", ascending=False).itertuples()
        ]
        sentences.append(
            f"One member gives {fault} texts ({where}), change in points: {'; '.join(parts)}."
        )
    return sentences


def cut_sentences(cuts: "pd.DataFrame", sent: "pd.DataFrame") -> list[str]:
    """Say whether the first agent's messages were cut, within a run and by training.

    Args:
        cuts: See :func:`~.robustness.drop_table`, of :func:`training_records`.
        sent: See :func:`messages_sent`.
    """
    sentences = []
    for row in cuts.itertuples():
        change = Interval(row.sent_gain, row.sent_gain_low, row.sent_gain_high)
        word = (
            "fewer" if change.high < 0 else "more" if change.low > 0 else "neither more nor fewer"
        )
        sentences.append(
            f"Agent Q-Mix {row.method}: {row.sent:.2f} messages of that agent when it is sound; "
            f"when it goes wrong {word} ({change})."
        )
    wrong = sent[sent["state"] != "sound"].groupby("method")["sent"].mean()
    sentences.append(
        f"With the first agent going wrong, the policy {FAULTY} lets it send {wrong[FAULTY]:.2f} "
        f"messages, the other {wrong[SOUND]:.2f} (means of {sent['seed'].nunique()} seeds)."
    )
    return sentences
