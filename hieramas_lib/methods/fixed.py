"""Methods that do not learn a team: one team for all, or a policy taken as it is."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import torch

from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import NO_PRIOR, PolicyLearner, greedy, match_policy, sample
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology


class ConstantTeam:
    """Answer every question with one and the same team."""

    def __init__(self, name: str, team: Team, llms: LLMClient) -> None:
        """Name the method and fix its team."""
        self.name, self._team, self._llms = name, team, llms

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: the team is given."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        return await run_team(self._team, task, self._llms)


def decision_alone(space: TeamSpace, llms: LLMClient) -> ConstantTeam:
    """Return the team without any role: the decision LLM answers alone."""
    empty = tuple(
        Supernode(role, (SKIP,) * space.actions.width, SKIP) for role in space.roles.names
    )
    topology = Topology(len(empty), ())
    team = Team(space.roles, empty, topology, space.decision, space.reads)
    return ConstantTeam("Decision LLM alone", team, llms)


class PolicyTeam:
    """Fill the team by a policy as it stands and draw its graph uniformly from the pool.

    The draws depend on the seed and the task alone, not on the order of the questions.
    """

    def __init__(
        self,
        name: str,
        space: TeamSpace,
        llms: LLMClient,
        policy: PolicyLearner,
        featurizer: Featurizer,
        *,
        sampled: bool,
        seed: int,
    ) -> None:
        """Fix the policy; ``sampled`` draws from it, else its arg-max is used."""
        self.name, self._space, self._llms = name, space, llms
        self._policy, self._featurizer = policy, featurizer
        self._sampled, self._seed = sampled, seed

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: the policy is given."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        return await run_team(self.team(task), task, self._llms)

    def team(self, task: Task) -> Team:
        """Return the team for ``task``."""
        draw = crc32(f"{self._seed} {task.id}".encode())
        graph = int(np.random.default_rng(draw).integers(len(self._space.graphs)))
        with torch.no_grad():
            logits = self._policy(self._featurizer([task]))
        if self._sampled:
            actions = sample(logits, torch.Generator().manual_seed(draw))
        else:
            actions = greedy(logits)
        return self._space.team(actions[0], graph)


def random_policy(
    space: TeamSpace, llms: LLMClient, featurizer: Featurizer, seed: int
) -> PolicyTeam:
    """Return the policy that puts any LLM or SKIP in any position with equal probability."""
    uniform = match_policy(space.actions, NO_PRIOR, space.roles)
    return PolicyTeam("Random policy", space, llms, uniform, featurizer, sampled=True, seed=seed)
