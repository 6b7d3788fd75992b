"""Agent Q-Mix beside what it has to beat: trained, run on the same questions, and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.qmix.talk import evaluate_talk
from hieramas_lib.experiments.qmix.talking_world import talking_questions, talking_world
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.qmix.actions import LABELS
from hieramas_lib.learning.qmix.settings import MixerForm, QMixSettings
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.agent_qmix import AgentQMix, ConstantActions, RandomActions
from hieramas_lib.methods.fixed import decision_alone
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import Rollout

if TYPE_CHECKING:
    import pandas as pd

MIXERS: tuple[MixerForm, ...] = ("qmix", "vdn", "independent")
UNTRAINED = "QMIX, untrained"
WAYS = 9
"""Methods that :func:`talk_study` compares."""


@dataclass(frozen=True)
class TalkStudy:
    """One world: the trained learners, in the order of ``MIXERS``, and what all methods did.

    Attributes:
        learners: Trained.
        records: See :mod:`.talk`.
        rollouts: By method, in the order of the tasks.
    """

    learners: tuple[AgentQMix, ...]
    records: "pd.DataFrame"
    rollouts: Mapping[str, Sequence[Rollout]]


async def talk_study(
    world: Benchmark, tasks: Sequence[Task], settings: QMixSettings, seed: int
) -> TalkStudy:
    """Train the three learners in ``world`` and answer ``tasks`` in ``WAYS`` ways.

    These are the learners, QMIX untrained, the best constant joint action of QMIX's episodes, all
    silent, all broadcasting, random actions, and the decision LLM alone.
    """
    given = (world.space, world.llms)
    learners = await _trained(*given, world.encoder, world.train, settings, seed)
    methods = _compared(*given, world.encoder, world.train, settings, seed, learners)
    return await _study(learners, [*methods, decision_alone(*given)], tasks, world.llms, seed)


async def scripted_study(settings: QMixSettings, seed: int, questions: int = 24) -> TalkStudy:
    """Do the same in the world of :mod:`.talking_world`, on as many new questions as in training.

    There is no decision LLM alone there.
    """
    world, train = talking_world(), talking_questions(questions)
    given = (world.space, world.llms, world.encoder, train, settings, seed)
    learners = await _trained(*given)
    new = talking_questions(questions, first=100)
    return await _study(learners, _compared(*given, learners), new, world.llms, seed)


async def _trained(
    space: TeamSpace,
    llms: LLMService,
    encoder: Encoder,
    train: Sequence[Task],
    settings: QMixSettings,
    seed: int,
) -> tuple[AgentQMix, ...]:
    networks = [replace(settings.network, mixer=mixer) for mixer in MIXERS]
    learners = tuple(
        AgentQMix(space, llms, encoder, replace(settings, network=n), seed) for n in networks
    )
    for learner in learners:
        await learner.fit(train, ())
    return learners


def _compared(
    space: TeamSpace,
    llms: LLMService,
    encoder: Encoder,
    train: Sequence[Task],
    settings: QMixSettings,
    seed: int,
    learners: Sequence[AgentQMix],
) -> list[Method]:
    untrained = AgentQMix(space, llms, encoder, settings, seed)
    untrained.name = UNTRAINED
    untrained.start(train)
    constants = [
        ConstantActions(f"All {LABELS[a]}", space, llms, settings, (a,) * settings.agents)
        for a in (0, 1)
    ]
    drawn = RandomActions(space, llms, settings, seed)
    return [*learners, untrained, learners[0].best_constant(), *constants, drawn]


async def _study(
    learners: tuple[AgentQMix, ...],
    methods: Sequence[Method],
    tasks: Sequence[Task],
    llms: LLMService,
    seed: int,
) -> TalkStudy:
    import pandas as pd

    frames, rollouts = [], {}
    for method in methods:
        frame, rollouts[method.name] = await evaluate_talk(method, tasks, pool=llms.pool, seed=seed)
        frames.append(frame)
    return TalkStudy(learners, pd.concat(frames, ignore_index=True), rollouts)


def reward_curves(studies: Mapping[int, TalkStudy], window: int = 10) -> "dict[str, pd.DataFrame]":
    """Return for each learner the rewards of its groups of episodes, a running mean.

    Rows are numbers of episodes, columns are seeds; ``window`` is in groups.
    """
    import pandas as pd

    curves = {}
    for place, learner in enumerate(next(iter(studies.values())).learners):
        columns = {
            seed: {step.episodes: step.reward for step in study.learners[place].history}
            for seed, study in studies.items()
        }
        frame = pd.DataFrame(columns)
        curves[learner.name] = frame.rolling(min(window, len(frame))).mean().dropna()
    return curves


def gain_over_seeds(records: "pd.DataFrame", ours: str, other: str) -> Interval:
    """Return how much larger the share of right answers of ``ours`` is, over training seeds."""
    by_seed = records.pivot_table(index="seed", columns="method", values="correct")
    return mean_over_seeds(by_seed[ours] - by_seed[other])


def more_talk_over_seeds(records: "pd.DataFrame", method: str) -> Interval:
    """Return messages where the first answers differ minus where they agree, over seeds."""
    own = records[records["method"] == method].astype({"agreed": bool})
    by_seed = own.pivot_table(index="seed", columns="agreed", values="messages")
    return mean_over_seeds((by_seed[False] - by_seed[True]).dropna())


def by_subject(records: "pd.DataFrame") -> "pd.DataFrame":
    """Return for each method the share of right answers, and this and messages by subject."""
    table = records.pivot_table(
        index="method", columns="subject", values=["correct", "messages"], sort=False
    )
    table.columns = [f"{value}_{subject}" for value, subject in table.columns]
    table.insert(0, "correct", records.groupby("method")["correct"].mean())
    return table.reset_index()
