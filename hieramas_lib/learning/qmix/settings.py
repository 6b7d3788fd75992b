"""How Agent Q-Mix is put together and trained; plain values."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.qmix.actions import Mode
from hieramas_lib.teams.rollout import Rollout

MixerForm = Literal["qmix", "vdn", "independent"]
"""How the agents' values make the team's: a monotone network, their sum, or not at all."""

TaskForm = Literal["text", "bytes"]
"""What is seen of a task: its text vector and how well roles match it, or the published bytes."""


@dataclass(frozen=True, slots=True)
class QMixReward:
    """What an episode earns, once, at its end: w_acc · right - w_tok · tokens / unit.

    Tokens are those that the providers count, of all calls, read and written.

    Attributes:
        w_acc, w_tok: The paper's weights. It has 1.0 and 0.1 by default, 1.5 and 0.075 for Gemini,
            1.25 and 0.10 for GPT-OSS.
        unit: Tokens that cost w_tok.
        capped: Whether more than ``unit`` tokens cost no more, as published: beyond it, talking
            is free.
    """

    w_acc: float = 1.0
    w_tok: float = 0.1
    unit: int = 10_000
    capped: bool = False

    def __post_init__(self) -> None:
        if self.unit < 1:
            raise ConfigError(f"unit: at least 1 token, got {self.unit}")
        for name in ("w_acc", "w_tok"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}: 0 or more, got {getattr(self, name)}")

    def __call__(self, rollout: Rollout) -> float:
        """Return the reward of ``rollout``."""
        usage = rollout.usage
        used = (usage.prompt_tokens + usage.completion_tokens) / self.unit
        cost = min(used, 1.0) if self.capped else used
        return self.w_acc * float(rollout.grade.correct) - self.w_tok * cost


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Sizes of the networks; see :mod:`.networks` and :mod:`.mixers`.

    Attributes:
        hidden: Width of graph network and memory; the paper has 128.
        layers: Rounds of messages in the graph network.
        mixer: How the agents' values are mixed.
        mixing: Width of the mixer and of its hypernetworks; the paper has 64.
        dropout: In the graph network, while training; the paper has 0.1.
    """

    hidden: int = 64
    layers: int = 2
    mixer: MixerForm = "qmix"
    mixing: int = 32
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("hidden", 2), ("layers", 1), ("mixing", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: at least {least}, got {getattr(self, name)}")
        if self.mixer not in get_args(MixerForm):
            raise ConfigError(
                f"mixer: {self.mixer!r} is not one of {', '.join(get_args(MixerForm))}"
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout: from 0 to below 1, got {self.dropout}")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the networks are trained.

    Attributes:
        episodes: Rollouts to learn from.
        collect: Rollouts made between updates, all at once.
        updates: Updates after each such group, from when there are ``batch`` episodes on.
        batch: Episodes of an update.
        replay: Episodes kept; the oldest go first.
        learning_rate: Of Adam, at the first update; it falls linearly to a tenth at the last, so
            that what is learned in the end does not hang on the last few batches.
        gamma: Discount of one round.
        double: Whether the online network picks the next action that the target network values.
        target_period: Updates between copies of the online network to the target.
        epsilon: Share of random actions at the first episode and at the last.
        explore: Share of the episodes over which epsilon falls, linearly.
        samples: Repetitions of each task that are told apart; later ones find the calls of
            earlier ones in the call store, and are not paid for.
        max_grad_norm: Gradient clipping.

    Raises:
        ConfigError: a value is out of range, or the target network would never move.
    """

    episodes: int = 960
    collect: int = 8
    updates: int = 4
    batch: int = 32
    replay: int = 5000
    learning_rate: float = 3e-3
    gamma: float = 0.99
    double: bool = True
    target_period: int = 20
    epsilon: tuple[float, float] = (1.0, 0.05)
    explore: float = 0.7
    samples: int = 4
    max_grad_norm: float = 10.0

    def __post_init__(self) -> None:
        for name in ("episodes", "collect", "updates", "batch", "target_period", "samples"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: at least 1, got {getattr(self, name)}")
        if self.replay < self.batch:
            raise ConfigError(f"replay: at least one batch, {self.batch}, got {self.replay}")
        if not 0 < self.explore <= 1:
            raise ConfigError(f"explore: above 0, up to 1, got {self.explore}")
        if not all(0 <= share <= 1 for share in self.epsilon):
            raise ConfigError(f"epsilon: shares from 0 to 1, got {self.epsilon}")
        if not 0 <= self.gamma <= 1:
            raise ConfigError(f"gamma: from 0 to 1, got {self.gamma}")
        if self.target_period >= self.planned_updates:
            raise ConfigError(
                f"target_period: {self.target_period} updates, and {self.episodes} episodes make "
                f"only {self.planned_updates}: the target network would never move; take a smaller "
                "period or more episodes"
            )

    @property
    def planned_updates(self) -> int:
        """Number of updates that the training will make."""
        starts = range(0, self.episodes, self.collect)
        full = sum(min(start + self.collect, self.episodes) >= self.batch for start in starts)
        return full * self.updates

    def rate_at(self, update: int) -> float:
        """Return the learning rate of an update, numbered from 0."""
        return self.learning_rate * max(0.1, 1 - 0.9 * update / self.planned_updates)

    def epsilon_at(self, episode: int) -> float:
        """Return the share of random actions in an episode, numbered from 0."""
        first, last = self.epsilon
        done = min(1.0, episode / max(1.0, self.explore * (self.episodes - 1)))
        return first + done * (last - first)


@dataclass(frozen=True, slots=True)
class QMixSettings:
    """Agent Q-Mix as a whole.

    Attributes:
        llms: LLMs of the agents (with proposers: of their synthesizers), in turn; empty for the
            team's decision LLM.
        proposers: LLMs of each agent's proposers; empty for plain agents. With some, the agents
            are HieraMAS supernodes.
        agents: Number of agents, N.
        rounds: Rounds in which all of them speak, T. In synchronous mode nobody has spoken before
            the first, so T - 1 choices are made; with T = 2 a single one, for which memory, graph
            network and target network have nothing to do.
        roles: Names of the roles that the agents have, in turn; empty for all of the role set.
        mode: Which texts a round reads, and what becomes of conflicting edges; see :mod:`.actions`.
        tasks: What the agents see of the task.
        reward, network, training: See there.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    llms: tuple[str, ...] = ()
    proposers: tuple[str, ...] = ()
    agents: int = 3
    rounds: int = 2
    roles: tuple[str, ...] = ()
    mode: Mode = "synchronous"
    tasks: TaskForm = "text"
    reward: QMixReward = field(default_factory=QMixReward)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        for name in ("agents", "rounds"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: at least 1, got {getattr(self, name)}")
        for name, known in (("mode", get_args(Mode)), ("tasks", get_args(TaskForm))):
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name}: {getattr(self, name)!r} is not one of {', '.join(known)}"
                )

    @property
    def ordered(self) -> bool:
        """Whether a round reads texts of the same round."""
        return self.mode == "reference"

    @property
    def decisions(self) -> int:
        """Rounds that begin with a choice: in synchronous mode the first one has none."""
        return self.rounds if self.ordered else self.rounds - 1
