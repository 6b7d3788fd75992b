"""What a policy chooses: which LLM where, how sure, and whether it is always the same one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.statistics import mean_over_seeds
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import PolicyLearner, greedy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.best_team import score_on
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.questions import more_questions
from hieramas_lib.teams.oracle.search import climb, usual_starts
from hieramas_lib.teams.supernode import SKIP
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team

if TYPE_CHECKING:
    import pandas as pd


def position_names(width: int) -> list[str]:
    """Name the positions of a supernode in order, the synthesizer last."""
    return [*(f"proposer {place}" for place in range(1, width + 1)), "synthesizer"]


def choices(
    policy: PolicyLearner, space: TeamSpace, featurizer: Featurizer, tasks: Sequence[Task]
) -> "pd.DataFrame":
    """Return what ``policy`` chooses at test: one row for each task, role and position.

    Columns: ``benchmark, subject, task_id, role, position, llm`` (``"skip"`` for none) and
    ``acts``: whether the position is filled in the team that runs. A proposer of a pruned role is
    chosen and does not act.
    """
    with torch.no_grad():
        actions = greedy(policy(featurizer(tasks)))
    names, positions = (*space.actions.llms, SKIP), position_names(space.actions.width)
    rows = []
    for task, chosen in zip(tasks, actions.tolist(), strict=True):
        about = {"benchmark": task.benchmark, "subject": task.subject, "task_id": task.id}
        for role, row in zip(space.roles.names, chosen, strict=True):
            kept = row[-1] != space.actions.skip
            for position, action in zip(positions, row, strict=True):
                filled = kept and action != space.actions.skip
                where = {"role": role, "position": position}
                rows.append(about | where | {"llm": names[action], "acts": filled})
    return _frame(rows)


def preference_logits(
    policy: PolicyLearner, space: TeamSpace, featurizer: Featurizer, tasks: Sequence[Task]
) -> "pd.DataFrame":
    """Return how much each LLM is preferred: columns ``position, llm, logit``.

    The logit is that of the LLM less the mean over the LLMs of the same position, averaged over
    tasks and roles: 0 for a policy that prefers none, and a difference of 1 between two LLMs
    means that one is drawn e times as often (HieraMAS, Figure 4). SKIP is left out.
    """
    with torch.no_grad():
        logits = policy(featurizer(tasks))[..., : space.actions.skip]
    centred = (logits - logits.mean(dim=-1, keepdim=True)).mean(dim=(0, 1))
    return _frame(
        [
            {"position": position, "llm": llm, "logit": float(centred[place, index])}
            for place, position in enumerate(position_names(space.actions.width))
            for index, llm in enumerate(space.actions.llms)
        ]
    )


def team_choices(team: Team) -> "pd.DataFrame":
    """Return the filled positions of one team: columns ``role, position, llm``."""
    names = position_names(len(team.supernodes[0].proposers))
    return _frame(
        [
            {"role": node.role, "position": position, "llm": llm}
            for node in team.supernodes
            for position, llm in zip(names, (*node.proposers, node.synthesizer), strict=True)
            if not node.pruned and llm != SKIP
        ],
        columns=["role", "position", "llm"],
    )


def best_constant_team(benchmark: Benchmark, *, graphs: int = 4, copies: int = 1) -> Team:
    """Return the best single team for all questions that a climb finds in a simulated world.

    It is searched on the training and validation questions and ``copies`` of each of them, with
    the first ``graphs`` graphs of the pool: a lower bound of what the best team is worth.

    Raises:
        ConfigError: the LLMs are real, and what a team is worth cannot be looked up.
    """
    world, space = benchmark.llms.world, benchmark.space
    if world is None:
        raise ConfigError("pool: the best team can be searched among simulated LLMs only")
    seen = [*benchmark.train, *benchmark.val]
    tasks = [*seen, *more_questions(seen, copies)]
    questions = SymbolicTeams(world, benchmark.llms.pool, space.roles, tasks, draws=1)
    options = TeamOptions(
        space.roles,
        space.actions.llms,
        space.actions.width,
        space.graphs.topologies[:graphs],
        space.decision,
        space.reads,
    )
    score = score_on(questions)
    starts = usual_starts(options, score, world.settings)
    return climb(options, score, {"rule": starts["rule"]}).team


def shares(frame: "pd.DataFrame", by: Sequence[str], llms: Sequence[str]) -> "pd.DataFrame":
    """Return the share of each of ``llms`` (columns) in each group of rows (index)."""
    counts = frame.groupby([*by, "llm"], sort=False).size().unstack("llm", fill_value=0)
    table = counts.reindex(columns=list(llms), fill_value=0)
    return table.div(counts.sum(axis=1), axis=0)


def share_intervals(
    frame: "pd.DataFrame", by: Sequence[str], llms: Sequence[str]
) -> "pd.DataFrame":
    """Return shares with their spread over seeds, one row for each group and LLM.

    Columns: ``by``, ``llm, share, share_low, share_high`` (mean over seeds with a t interval, cut
    to 0 and 1), ``lowest`` and ``highest`` (of the seeds).
    """
    rows = []
    for names, group in frame.groupby(list(by), sort=False):
        each = shares(group, ["seed"], llms)
        for llm in llms:
            interval = mean_over_seeds(each[llm])
            rows.append(
                dict(zip(by, names, strict=True))
                | {
                    "llm": llm,
                    "share": interval.estimate,
                    "share_low": np.clip(interval.low, 0, 1),
                    "share_high": np.clip(interval.high, 0, 1),
                    "lowest": each[llm].min(),
                    "highest": each[llm].max(),
                }
            )
    return _frame(rows)


def entropy_bits(counts: ArrayLike) -> float:
    """Return the entropy in bits of how often each of several things is chosen.

    Raises:
        ValueError: nothing was chosen.
    """
    numbers = np.asarray(counts, dtype=float)
    if numbers.sum() <= 0:
        raise ValueError("the entropy of no choice is not defined")
    share = numbers[numbers > 0] / numbers.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0


def concentration(frame: "pd.DataFrame") -> dict[str, Any]:
    """Say whether choices collapse to one LLM.

    Returns:
        ``top`` (the most frequent LLM), ``top_share``, ``entropy_bits`` and ``effective_llms``,
        two to the power of the entropy: how many LLMs that are chosen equally often would have the
        same entropy.
    """
    counts = frame["llm"].value_counts()
    entropy = entropy_bits(counts)
    return {
        "top": str(counts.index[0]),
        "top_share": float(counts.iloc[0] / counts.sum()),
        "entropy_bits": entropy,
        "effective_llms": float(2**entropy),
    }


def collapse_table(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return :func:`concentration` for each benchmark and seed of filled positions.

    The column ``other_team`` is the share of questions whose team, roles and LLMs, is not the
    most frequent one.
    """
    rows = []
    for (benchmark, seed), group in frame.groupby(["benchmark", "seed"], sort=False):
        teams = group.groupby("task_id")[["role", "position", "llm"]].agg(tuple)
        most = teams.value_counts(normalize=True).iloc[0]
        about = {"benchmark": benchmark, "seed": seed, **concentration(group)}
        rows.append(about | {"other_team": float(1 - most)})
    return _frame(rows)


def _frame(rows: Sequence[dict[str, Any]], columns: list[str] | None = None) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows), columns=columns)
