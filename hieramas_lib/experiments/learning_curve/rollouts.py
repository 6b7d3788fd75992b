"""Rollouts of stage 1 replayed on answers instead of texts, some hundred times faster."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.learning_curve.mixed_teams import MixedTeams, Replies, Teams
from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.execution import Job
from hieramas_lib.teams.rollout import CallRecord, NodeRecord, Rollout
from hieramas_lib.teams.supernode import SKIP
from hieramas_lib.teams.symbolic.answers import AnswerCodes
from hieramas_lib.teams.team import Team


class ReplayedRollouts:
    """Makes the rollouts that :func:`~hieramas_lib.learning.stage1.train_policy` asks for.

    They have what a learner looks at: grades and costs. A node's whole cost is on its
    synthesizer's call, and there are no texts.
    """

    def __init__(self, mixed: MixedTeams, codes: AnswerCodes, pool: LLMPool, seed: int) -> None:
        """Replay on ``mixed``, the questions of ``codes``; ``seed`` is of the luck of calls."""
        self._mixed, self._pool = mixed, pool
        self._codes, self._column = codes, {task.id: i for i, task in enumerate(codes.tasks)}
        self._rng = np.random.default_rng(seed)

    async def __call__(self, jobs: Sequence[Job]) -> list[Rollout]:
        """Run ``jobs``."""
        tasks, teams = [job.task for job in jobs], [job.team for job in jobs]
        batch = as_arrays(self._columns(tasks), teams, self._pool.names)
        replies = self._mixed.replay(batch, self._rng)
        return [self._rollout(job, i, replies) for i, job in enumerate(jobs)]

    def _columns(self, tasks: Sequence[Task]) -> NDArray[np.intp]:
        return np.array([self._column[task.id] for task in tasks])

    def _rollout(self, job: Job, row: int, replies: Replies) -> Rollout:
        team = job.team
        nodes = tuple(
            NodeRecord(
                team.roles.names[node],
                (),
                CallRecord(
                    team.roles.names[node], "synthesizer", team.supernodes[node].synthesizer,
                    self._completion(replies.node_cost[row, node]),
                ),
                self._grade(replies.nodes[row, node]),
            )
            for node in team.kept
        )  # fmt: skip
        last = self._completion(replies.decision_cost[row])
        decision = CallRecord("", "decision", team.decision, last)
        return Rollout(
            task_id=job.task.id,
            answer="",
            grade=self._grade(replies.decision[row]),
            calls=(*(node.synthesis for node in nodes), decision),
            nodes=nodes,
        )

    def _grade(self, code: int) -> Grade:
        if code == self._codes.empty:
            return Grade("empty")
        if code == self._codes.mute:
            return Grade("unparsed")
        return Grade("wrong" if code else "correct")

    def _completion(self, cost: float) -> Completion:
        dollars = float(cost) * self._pool.reference_cost
        return Completion("", "stop", 0, 0, dollars, 0.0, False, "")


def as_arrays(task: NDArray[np.intp], teams: Sequence[Team], llms: Sequence[str]) -> Teams:
    """Write ``teams``, one a question, as arrays over LLMs in the pool's order."""
    index = {name: i for i, name in enumerate((*llms, SKIP))}
    return Teams(
        task=task,
        actions=np.array(
            [
                [[index[llm] for llm in (*s.proposers, s.synthesizer)] for s in team.supernodes]
                for team in teams
            ]
        ),
        edges=np.array([team.topology.adjacency() for team in teams], dtype=bool),
        order=np.array([team.topology.order() for team in teams]),
    )
