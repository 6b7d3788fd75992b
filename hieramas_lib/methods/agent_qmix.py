"""Agent Q-Mix: agents that choose whom to talk to, trained with QMIX (arXiv 2604.00344, design 9).

N agents speak in T rounds; before a round each takes one of six actions, which together are the
graph of that round. One number, w_acc · right - w_tok · tokens / 10,000, is paid at the end. What
is the paper's, what its code does, and what is done here: ``docs/methods/agent_qmix.md``.
"""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.qmix.agents import Cast, cast
from hieramas_lib.learning.qmix.constant import best_constant
from hieramas_lib.learning.qmix.learner import QLearner
from hieramas_lib.learning.qmix.observation import Observer, byte_viewer, text_viewer
from hieramas_lib.learning.qmix.play import (
    Player,
    constant_chooser,
    draw_of,
    greedy,
    random_chooser,
)
from hieramas_lib.learning.qmix.replay import Episode
from hieramas_lib.learning.qmix.settings import QMixSettings
from hieramas_lib.learning.qmix.training import Attempt, QMixStep, train_qmix
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.training_state import part
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.rounds import Chooser, RoundsJob, run_rounds, run_rounds_batch
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

NAMES = {
    "qmix": "Agent Q-Mix",
    "vdn": "Agent Q-Mix, VDN",
    "independent": "Agent Q-Mix, independent",
}
"""Names in tables, by mixer."""


class TalkingTeam:
    """The agents of Agent Q-Mix and how they answer, whoever chooses.

    Attributes:
        cast: Roles of the agents.
        team: The agents, and the LLM that decides.
    """

    def __init__(self, space: TeamSpace, llms: LLMClient, settings: QMixSettings) -> None:
        """Set up N agents over the roles of ``space``; its decision LLM decides."""
        self.settings, self.llms = settings, llms
        self.cast: Cast = cast(space.roles, settings.agents, settings.roles)
        given = settings.llms or (space.decision,)
        agents = tuple(
            Supernode(name, settings.proposers, given[i % len(given)])
            for i, name in enumerate(self.cast.roles.names)
        )
        self.team = Team(self.cast.roles, agents, Topology(self.cast.size), space.decision)

    def job(self, task: Task, choose: Chooser, sample: int = 0) -> RoundsJob:
        """Return the rollout on ``task`` in which ``choose`` says who reads whom."""
        rounds, ordered = self.settings.rounds, self.settings.ordered
        return RoundsJob(self.team, task, rounds, choose, ordered, sample)

    async def answer(self, task: Task, choose: Chooser) -> Rollout:
        """Answer ``task``."""
        return await run_rounds(self.job(task, choose), self.llms)


class AgentQMix:
    """The method behind the common protocol; QMIX, VDN or independent learners, by its settings.

    Attributes:
        history: The learning curve, one entry a group of episodes.
        episodes: What was learned from; not saved.
    """

    def __init__(
        self,
        space: TeamSpace,
        llms: LLMService,
        encoder: Encoder,
        settings: QMixSettings,
        seed: int,
    ) -> None:
        """Set up an untrained system; :meth:`fit` trains it, :meth:`start` leaves it untrained."""
        self.space, self.llms, self.encoder = space, llms, encoder
        self.settings, self.seed = settings, seed
        self.agents = TalkingTeam(space, llms, settings)
        self.name = NAMES[settings.network.mixer]
        if settings.proposers:
            self.name = self.name.replace("Agent Q-Mix", "Agent Q-Mix on supernodes")
        self.history: tuple[QMixStep, ...] = ()
        self.episodes: tuple[Episode, ...] = ()
        self.featurizer: Featurizer | None = None
        self._ready: tuple[Observer, QLearner] | None = None

    def start(self, train: Sequence[Task]) -> None:
        """Fix the scale of the features and take the starting weights; nothing is learned.

        Raises:
            ConfigError: the encoder cannot embed one of the texts.
        """
        if self.settings.tasks == "text":
            self.featurizer = Featurizer(self.encoder, self.space.roles, train)
        self._ready = self._untrained()
        self.history, self.episodes = (), ()

    async def fit(
        self,
        train: Sequence[Task],
        val: Sequence[Task],
        on_step: Callable[[QMixStep], None] = lambda step: None,
    ) -> None:
        """Learn from ``train`` anew; ``val`` is not used."""
        self.start(train)
        observer, learner = self._started
        done = await train_qmix(
            learner, observer, train, self.settings, self._run, self.seed, on_step
        )
        self.history, self.episodes = done.history, done.episodes

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; every agent takes its best action before each round."""
        return await self.agents.answer(task, self.player(task))

    def player(self, task: Task, epsilon: float = 0.0) -> Player:
        """Return who chooses in one rollout on ``task``, with a share of random actions."""
        observer, learner = self._started
        draw = draw_of(self.seed, task.id)
        return Player(task, observer, greedy(learner, epsilon, draw), self.settings.mode)

    def best_constant(self) -> "ConstantActions":
        """Return the joint action that the training's episodes speak for, as a method.

        Raises:
            ConfigError: there are no episodes: it is not trained here, or there is no choice.
        """
        if not self.episodes:
            raise ConfigError(
                "Agent Q-Mix: there are no episodes; call fit(), with 2 rounds or more"
            )
        joint = best_constant(self.episodes)
        return ConstantActions("Best constant actions", self.space, self.llms, self.settings, joint)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that was learned, by name.

        Raises:
            ConfigError: nothing was.
        """
        _, learner = self._started
        tensors = learner.tensors()
        if self.featurizer is not None:
            tensors |= {f"features.{name}": t for name, t in self.featurizer.state().items()}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what :meth:`tensors` returned; the settings must be the same.

        Raises:
            KeyError, RuntimeError: the tensors are of other settings.
        """
        if self.settings.tasks == "text":
            self.featurizer = Featurizer.restored(self.encoder, part(tensors, "features"))
        self._ready = self._untrained()
        self.learner.restore(tensors)

    @property
    def learner(self) -> QLearner:
        """The networks, trained or not."""
        return self._started[1]

    @property
    def _started(self) -> tuple[Observer, QLearner]:
        if self._ready is None:
            raise ConfigError("Agent Q-Mix: call fit() or start() before answering")
        return self._ready

    def _untrained(self) -> tuple[Observer, QLearner]:
        settings, members = self.settings, self.agents.cast
        view = text_viewer(self.featurizer, members) if self.featurizer else byte_viewer(members)
        observer = Observer(members, settings.rounds, view)
        learner = QLearner(
            members.size, observer.sizes, settings.network, settings.training, seed=self.seed
        )
        return observer, learner

    async def _run(self, attempts: Sequence[Attempt]) -> Sequence[Rollout]:
        jobs = [self.agents.job(a.task, a.choose, a.sample) for a in attempts]
        return await run_rounds_batch(jobs, self.llms)


class ConstantActions:
    """Take one joint action before every round, whatever is asked and said."""

    def __init__(
        self,
        name: str,
        space: TeamSpace,
        llms: LLMClient,
        settings: QMixSettings,
        joint: Sequence[int],
    ) -> None:
        """Name the method and fix the actions, one an agent.

        Raises:
            ConfigError: ``joint`` is no joint action of the settings' agents.
        """
        if len(joint) != settings.agents:
            raise ConfigError(f"joint: {settings.agents} actions, got {len(joint)}")
        self.name, self.settings, self.llms = name, settings, llms
        self.joint, self.agents = tuple(joint), TalkingTeam(space, llms, settings)
        self._choose = constant_chooser(self.joint, settings.mode)

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: the actions are given."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        return await self.agents.answer(task, self._choose)


class RandomActions:
    """Draw every action uniformly; the draws depend on the seed and the task alone."""

    name = "Random actions"

    def __init__(
        self, space: TeamSpace, llms: LLMClient, settings: QMixSettings, seed: int
    ) -> None:
        """Set up the agents."""
        self.settings, self.llms, self.seed = settings, llms, seed
        self.agents = TalkingTeam(space, llms, settings)

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``."""
        draw, mode = draw_of(self.seed, task.id), self.settings.mode
        return await self.agents.answer(task, random_chooser(self.settings.agents, mode, draw))
