"""Roles that acted in a rollout: what credit each mode gives them, and what they contributed.

The claim behind multi-level rewards, reconstructed (the paper's own statement is not at hand), and
marked as ours:

    Let R_eff = alpha · R_node + (1 - alpha) · R_final, R_final > 0 > R_node: a wrong role in a
    right run. Then R_eff < 0 exactly where alpha > R_final / (R_final - R_node). So no reward of
    the final outcome alone (alpha = 0) ever punishes an error that teammates cover up, whatever
    its size; and a threshold below 1 always exists.

    Where teammates decide the outcome whatever the role says, R_final is independent of its
    action, and the expected policy gradient of the role with a baseline is alpha times that of
    its own reward: it points to actions that are right more often for every alpha > 0, and
    vanishes at alpha = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.learning.credit import advantages, leave_one_out
from hieramas_lib.learning.rewards import PaperReward, effective_reward
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.oracle.contribution import expected_contribution
from hieramas_lib.teams.oracle.options import TeamOptions, without_role
from hieramas_lib.teams.rollout import NodeRecord, Rollout
from hieramas_lib.teams.symbolic.answers import AnswerCodes
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team

Floats = NDArray[np.float64]

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""0 is ``final_only``, 1 is ``node_only``."""

RAW, LEAVE_ONE_OUT, OURS = "R_eff", "R_eff, leave one out", "advantage of stage 1"
"""Kinds of credit: as published; minus the mean of the question's other rollouts; and what
stage 1 trains with, whose node term is compared with the role's own mean."""


def sign_threshold(final: float, node: float) -> float:
    """Return the alpha above which a wrong role in a right run is punished.

    Args:
        final: R_final of the run, above 0.
        node: R_node of the role, below 0.
    """
    return final / (final - node)


@dataclass(frozen=True)
class CreditSetting:
    """A simulated world, and how teams are drawn in it.

    Attributes:
        name: For tables.
        difficulty: Of the world.
        options: What may stand where; every position is drawn uniformly, the graph too.
        pruned: Share of the roles that are left out in addition.
        pool: The LLMs, as simulated.
        tasks: Questions.
    """

    name: str
    difficulty: WorldSettings
    options: TeamOptions
    pruned: float
    pool: LLMPool
    tasks: tuple[Task, ...]

    def draw(self, rng: np.random.Generator) -> Team:
        """Draw a team."""
        team = self.options.random(rng)
        for node in np.flatnonzero(rng.random(len(team.supernodes)) < self.pruned):
            team = without_role(team, int(node))
        return team


def shipped_settings() -> tuple[CreditSetting, ...]:
    """Return the settings of the table, on the shipped knowledge questions."""
    source, pool = benchmark_source("knowledge"), load_pool(data_path("llm_pool.yaml")).simulated()
    graphs = reference_pool(len(source.roles.roles), 100, seed=0).topologies

    def setting(name: str, difficulty: str, decision: str, pruned: float) -> CreditSetting:
        options = TeamOptions(source.roles, pool.names, 2, graphs, decision)
        world = load_settings(difficulty)
        return CreditSetting(name, world, options, pruned, pool, source.test)

    return (
        setting("hard, random teams", "hard", "gemma-3-27b", 0.0),
        setting("hard, 60 % pruned", "hard", "gemma-3-27b", 0.55),  # one in nine is pruned anyway
        setting("mmlu-like, decision gemma-3-27b", "mmlu-like", "gemma-3-27b", 0.0),
        setting("mmlu-like, decision gpt-5-mini", "mmlu-like", "gpt-5-mini", 0.0),
    )


@dataclass(frozen=True)
class Cases:
    """Roles that acted and were graded, one entry each.

    Attributes:
        contribution: Expected change of the final answer by the role's answer, ``[cases]``.
        node_right: Whether the role was right, ``[cases]``.
        final_right: Whether the run was right, ``[cases]``.
        credit: By kind and alpha, ``[cases]``.
    """

    contribution: Floats
    node_right: NDArray[np.bool_]
    final_right: NDArray[np.bool_]
    credit: dict[tuple[str, float], Floats]


async def collect_cases(
    setting: CreditSetting, seed: int, *, tasks: int, group: int = 4, redraws: int = 64,
    draws: int = 4,
) -> Cases:  # fmt: skip
    """Run teams on questions, in texts, and credit their roles.

    Args:
        setting: Where teams come from, in the runs and in the counterfactuals.
        seed: Of the world, the questions, the teams and the luck.
        tasks: How many of the questions, at most.
        group: Rollouts of a question, each of another team.
        redraws: Teams drawn to find what an answer contributes.
        draws: Repetitions with each of them.
    """
    rng = np.random.default_rng(seed)
    asked = [setting.tasks[i] for i in rng.permutation(len(setting.tasks))[:tasks]]
    pool, options = setting.pool, setting.options
    world = World(asked, setting.difficulty, pool, seed)
    jobs = [Job(setting.draw(rng), task, sample) for task in asked for sample in range(group)]
    rollouts = await run_batch(jobs, connect(pool, world=world), grade_nodes=True)
    questions = SymbolicTeams(world, pool, options.roles, asked, draws=draws, seed=seed)
    codes = _node_codes(rollouts, group, questions)
    worth = _contributions(questions, codes, setting, redraws, seed)
    acted = codes >= 0
    right = np.broadcast_to(np.array([r.grade.correct for r in rollouts])[:, None], acted.shape)
    credits = _credits(rollouts, group, options, pool)
    return Cases(
        contribution=worth[acted],
        node_right=codes[acted] == 0,
        final_right=right[acted],
        credit={key: credit[acted] for key, credit in credits.items()},
    )


def _credits(
    rollouts: Sequence[Rollout], group: int, options: TeamOptions, pool: LLMPool
) -> dict[tuple[str, float], Floats]:
    """Return every kind of credit, ``[rollouts, roles]``."""
    final, node = _rewards(rollouts, options, pool.reference_cost)
    credit: dict[tuple[str, float], Floats] = {}
    for alpha in ALPHAS:
        effective = np.array(
            [
                [effective_reward(n, f, alpha) for n in row]
                for f, row in zip(final, node, strict=True)
            ]
        )
        credit[RAW, alpha] = effective
        credit[LEAVE_ONE_OUT, alpha] = np.stack(
            [leave_one_out(column, group) for column in effective.T], axis=1
        )
        credit[OURS, alpha] = advantages(rollouts, group, options.roles, "multi_level", alpha)
    return credit


def _rewards(
    rollouts: Sequence[Rollout], options: TeamOptions, reference_cost: float
) -> tuple[Floats, Floats]:
    """Return R_final, with the cost of the whole run, ``[rollouts]``, and R_node by role."""
    reward = PaperReward()
    final = [reward(r.grade.correct, r.usage.cost_usd / reference_cost) for r in rollouts]
    node = np.zeros((len(rollouts), len(options.roles.names)))
    for row, rollout in enumerate(rollouts):
        for record in rollout.nodes:
            if record.grade is not None:
                cost = record.usage.cost_usd / reference_cost
                column = options.roles.names.index(record.role)
                node[row, column] = reward(record.grade.correct, cost)
    return np.array(final), node


def _node_codes(
    rollouts: Sequence[Rollout], group: int, questions: SymbolicTeams
) -> NDArray[np.intp]:
    """Return what each role answered as a code, ``[rollouts, roles]``; -1 where it did not act."""
    names = questions.roles.names
    codes = np.full((len(rollouts), len(names)), -1)
    for row, rollout in enumerate(rollouts):
        for record in rollout.nodes:
            column = names.index(record.role)
            codes[row, column] = _code(record, row // group, questions.codes)
    return codes


def _code(record: NodeRecord, column: int, codes: AnswerCodes) -> int:
    if record.grade is None or record.grade.status == "error":
        return -1
    if not record.synthesis.readable:
        return codes.empty
    for code, answer in enumerate(codes.answers[column]):
        if answer == record.grade.extracted:
            return code
    return codes.mute


def _contributions(
    questions: SymbolicTeams,
    codes: NDArray[np.intp],
    setting: CreditSetting,
    redraws: int,
    seed: int,
) -> Floats:
    """Return what each role's answer contributes in expectation, ``[rollouts, roles]``.

    That depends on the question, the role and its answer alone, so it is found once for each.
    """
    tasks = len(questions.tasks)
    task = np.repeat(np.arange(tasks), len(codes) // tasks)
    worth = np.full(codes.shape, np.nan)
    for node in range(codes.shape[1]):
        for code in np.unique(codes[:, node][codes[:, node] >= 0]):
            found = expected_contribution(
                questions, node, np.full(tasks, code, np.int8), setting.draw,
                redraws=redraws, seed=seed,
            )  # fmt: skip
            here = codes[:, node] == code
            worth[here, node] = found.mean[task[here]]
    return worth
