"""How much agents talk: messages, actions and edges of rollouts in rounds.

To the columns of :mod:`hieramas_lib.experiments.records` come ``messages`` (delivered, own texts
not counted), ``level`` (the task's, None without one) and ``agreed``: whether all agents that
answered in the first round, before anybody read anything, gave the same answer.
"""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.records import answer_all, item_record
from hieramas_lib.experiments.statistics import mean_over_tasks
from hieramas_lib.learning.qmix.actions import LABELS
from hieramas_lib.learning.qmix.observation import spoken_answer
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout

if TYPE_CHECKING:
    import pandas as pd


async def evaluate_talk(
    method: Method, tasks: Sequence[Task], *, pool: LLMPool, seed: int
) -> "tuple[pd.DataFrame, list[Rollout]]":
    """Answer ``tasks``; return their records with the columns above, and the rollouts."""
    import pandas as pd

    rollouts = await answer_all(method, tasks)
    rows = [
        item_record(rollout, task, method.name, pool=pool, seed=seed)
        | {
            "messages": len(rollout.delivered_edges),
            "level": task.level,
            "agreed": opening_agrees(rollout, task),
        }
        for rollout, task in zip(rollouts, tasks, strict=True)
    ]
    return pd.DataFrame(rows), rollouts


def opening_agrees(rollout: Rollout, task: Task) -> bool:
    """Return whether all agents that answered in the first round answered alike.

    A rollout without rounds agrees: there is nobody to differ. Ordered rounds have no opening.
    """
    if not rollout.rounds:
        return True
    spoken = [call for call in rollout.calls if call.position == "synthesizer"]
    first = spoken[: len(spoken) // len(rollout.rounds)]
    answers = {spoken_answer(task, call.text) for call in first} - {None}
    return len(answers) <= 1


def action_shares(rollouts: Sequence[Rollout]) -> "pd.DataFrame":
    """Return how often each action was taken before each round, as shares of agents and rollouts.

    One row a round that had a choice, called "round 2" and so on; one column an action.
    """
    import pandas as pd

    shares = {}
    for number in range(len(rollouts[0].rounds)):
        taken = [action for r in rollouts for action in r.rounds[number].actions]
        if taken:
            shares[f"round {number + 1}"] = {a: taken.count(a) / len(taken) for a in LABELS}
    return pd.DataFrame.from_dict(shares, orient="index", columns=list(LABELS))


def edge_shares(rollouts: Sequence[Rollout], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of rollouts in which the column's agent read the row's, in each round.

    ``[rounds, agents, agents]``, over delivered edges.
    """
    index = {name: i for i, name in enumerate(names)}
    shares = np.zeros((len(rollouts[0].rounds), len(names), len(names)))
    for rollout in rollouts:
        for number, round_ in enumerate(rollout.rounds):
            for source, reader in round_.delivered_edges:
                shares[number, index[source], index[reader]] += 1 / len(rollouts)
    return shares


def talk_table(records: "pd.DataFrame", methods: Sequence[str]) -> "pd.DataFrame":
    """Compare how much ``methods`` talk on easy and on hard tasks, by two meanings of hard.

    *Opening*: the agents agree (easy) or differ (hard) before they talk. *Level*: 1 and 2 (easy)
    or 4 and 5 (hard), the task author's guess; left out where tasks have none. Intervals are over
    tasks; those of the difference are for independent groups of tasks.

    Raises:
        ConfigError: a method has no records.
    """
    import pandas as pd

    rows = []
    for method in methods:
        own = records[records["method"] == method]
        if not len(own):
            raise ConfigError(f"no records of method {method!r}")
        kinds = {"opening": (own["agreed"], ~own["agreed"].astype(bool))}
        if own["level"].notna().any():
            kinds["level"] = (own["level"] <= 2, own["level"] >= 4)
        for kind, (easy, hard) in kinds.items():
            groups = [own[easy.astype(bool)], own[hard.astype(bool)]]
            if not all(len(group) for group in groups):
                continue
            means = [mean_over_tasks(g["messages"], g["task_id"].tolist()) for g in groups]
            spread = sqrt(sum(((m.high - m.low) / 2) ** 2 for m in means))
            gap = means[1].estimate - means[0].estimate
            rows.append(
                {
                    "method": method, "hard_means": kind,
                    "messages_easy": means[0].estimate, "messages_easy_low": means[0].low,
                    "messages_easy_high": means[0].high,
                    "messages_hard": means[1].estimate, "messages_hard_low": means[1].low,
                    "messages_hard_high": means[1].high,
                    "messages_more": gap, "messages_more_low": gap - spread,
                    "messages_more_high": gap + spread,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)
