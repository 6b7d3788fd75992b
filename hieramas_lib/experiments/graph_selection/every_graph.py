"""Stage 2 in texts, judged by running every graph of the pool on every question.

That is possible with simulated LLMs, and a fortune with real ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.graph_selection.worlds import Floats
from hieramas_lib.experiments.statistics import paired_difference
from hieramas_lib.experiments.utility_tables import utility_table, verdict
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.learning.policy import PolicyLearner, constant_policy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.utility import utility

if TYPE_CHECKING:
    import pandas as pd

Filling = Literal["all_roles", "trained"]
"""Who sits where: the decision's LLM in every role, so that none is pruned, or a trained policy."""

RANDOM: Final = "random graph"
BEST_IN_TRAINING: Final = "best graph in training"
CLASSIFIER: Final = "classifier"
HINDSIGHT: Final = "best fixed graph in hindsight"
BEST: Final = "best graph for each question"
CHOICES: Final = (RANDOM, BEST_IN_TRAINING, CLASSIFIER, HINDSIGHT, BEST)
"""Ways to choose a graph; the last two look into the answers, which no method may."""


@dataclass(frozen=True, slots=True)
class GraphStudy:
    """One training of stage 2, and what every way to choose a graph is worth after it.

    Attributes:
        system: With its trained classifier.
        labels: What it was trained on.
        outcomes: Columns ``task_id, seed``, the utility of each of :data:`CHOICES`, and
            ``picked``, the classifier's graph; one row a question.
    """

    system: HieraMAS
    labels: GraphLabels
    outcomes: "pd.DataFrame"


async def study_graphs(
    world: Benchmark, settings: HieraMASSettings, tasks: Sequence[Task], seed: int, *,
    filling: Filling,
) -> GraphStudy:  # fmt: skip
    """Freeze a policy, train stage 2, and run every graph on every one of ``tasks``."""
    import pandas as pd

    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    if filling == "trained":
        await system.fit_policy(world.train)
    else:
        system.start(world.train, everybody_acts(world.space))
    labels = await system.fit_graphs(world.train)
    every = await every_graph(system, world, tasks)
    picked = system.graph_scores(tasks).argmax(dim=1).numpy()
    columns = {"task_id": [task.id for task in tasks], "seed": seed}
    columns |= outcomes_of(every, labels.best_on_average(len(world.space.graphs)), picked)
    return GraphStudy(system, labels, pd.DataFrame(columns | {"picked": picked}))


def check_filling(filling: str) -> None:
    """Refuse what is none of :data:`Filling`.

    Raises:
        ConfigError: names it and what it may be.
    """
    if filling not in get_args(Filling):
        raise ConfigError(f"filling: {filling!r} is not one of {', '.join(get_args(Filling))}")


def everybody_acts(space: TeamSpace) -> PolicyLearner:
    """Return the policy that gives every role one proposer and a synthesizer, the decision's LLM.

    Whatever is gained or lost is then due to the graph.
    """
    actions = torch.full((len(space.roles.roles), space.actions.positions), space.actions.skip)
    actions[:, 0] = actions[:, -1] = space.actions.llms.index(space.decision)
    return constant_policy(space.actions, space.roles, actions)


async def every_graph(system: HieraMAS, world: Benchmark, tasks: Sequence[Task]) -> Floats:
    """Return the utility of every graph on every task, ``[tasks, graphs]``."""
    actions, count = system.actions(tasks), len(world.space.graphs)
    jobs = [
        Job(world.space.team(actions[row], graph), task)
        for row, task in enumerate(tasks)
        for graph in range(count)
    ]
    rollouts = await run_batch(jobs, world.llms)
    worth = [utility(rollout, world.reference_cost) for rollout in rollouts]
    return np.array(worth).reshape(-1, count)


def outcomes_of(every: Floats, fixed: int, picked: NDArray[np.intp]) -> dict[str, Floats]:
    """Return the utility of each way to choose, ``[tasks]``.

    Args:
        every: Utility of every graph on every task, ``[tasks, graphs]``.
        fixed: The graph that was best in training.
        picked: The classifier's graph for each task.
    """
    return {
        RANDOM: every.mean(axis=1),
        BEST_IN_TRAINING: every[:, fixed],
        CLASSIFIER: every[np.arange(len(every)), picked],
        HINDSIGHT: every[:, every.mean(axis=0).argmax()],
        BEST: every.max(axis=1),
    }


def choice_table(outcomes: "pd.DataFrame") -> "pd.DataFrame":
    """Return utility with its interval over questions, and regret, of each of :data:`CHOICES`.

    Regret is to the best fixed graph in hindsight, one graph for all questions of a seed.

    Args:
        outcomes: Those of all seeds, see :class:`GraphStudy`.
    """
    table = utility_table(long_outcomes(outcomes))
    best = outcomes[HINDSIGHT].mean()
    return table.assign(regret=best - table["utility"])


def long_outcomes(outcomes: "pd.DataFrame") -> "pd.DataFrame":
    """Return ``method, task_id, seed, utility``, one row a question, seed and way to choose."""
    return outcomes.melt(["task_id", "seed"], list(CHOICES), "method", "utility")


def choice_sentence(outcomes: "pd.DataFrame", other: str) -> str:
    """Say how the classifier does against another of :data:`CHOICES`, on the same questions."""
    tasks = outcomes["task_id"].tolist()
    gain = paired_difference(outcomes[CLASSIFIER], outcomes[other], tasks)
    word = verdict(gain, "better than", "worse than", "not distinguishable from")
    return f"The classifier is {word} “{other}”: utility difference {gain}."
