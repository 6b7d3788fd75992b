"""Stage 1: train the policy that fills the supernodes (HieraMAS, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.checkpoints import Checkpoints, Identity, training_identity
from hieramas_lib.learning.features import Features, Featurizer
from hieramas_lib.learning.policy import PolicyLearner, role_entropy, sample
from hieramas_lib.learning.reference_update import clamped, learning_rate
from hieramas_lib.learning.space import Runner, TeamSpace
from hieramas_lib.learning.stage1_losses import Drawn, Loss, batch_loss
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.training_state import TrainingState, TrainingStep
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.utility import mean_utility


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One rollout to be drawn: the task, and the index that tells its repetitions apart."""

    task: Task
    sample: int


async def train_policy(
    policy: PolicyLearner,
    space: TeamSpace,
    train: Sequence[Task],
    llms: LLMService,
    featurizer: Featurizer,
    settings: Stage1Settings,
    seed: int,
    on_step: Callable[[TrainingStep], None] = lambda step: None,
    checkpoints: Checkpoints | None = None,
    run: Runner | None = None,
) -> list[TrainingStep]:
    """Train ``policy`` in place on ``train`` and return the history, one entry a batch.

    Every rollout draws its graph uniformly from the pool. ``on_step`` is called after each
    batch, for progress. With ``checkpoints``, each batch is written down before that, and a
    training that was stopped goes on after the last batch written: weights and history are, to
    the last bit, those of one that never stopped. ``run`` makes the rollouts, by default by
    asking ``llms``.

    Raises:
        ConfigError: the checkpoint is damaged, or of another training.
    """
    state = TrainingState.begin(policy, settings.learning_rate, seed)
    batches = _batches(train, settings, state.rng)
    run = run or partial(run_batch, llms=llms, grade_nodes=True)
    identity: Identity = {}
    if checkpoints is not None:
        identity = training_identity(policy, space, train, llms, featurizer, settings, seed)
        checkpoints.resume(state, identity)
    for index in range(len(state.history), len(batches)):
        drawn = await _draw(state, space, batches[index], run, featurizer, settings)
        if settings.credit == "reference":
            state.set_rate(learning_rate(settings.learning_rate, index / len(batches)))
        loss = batch_loss(drawn, space, llms.pool, settings, index, len(batches))
        _descend(state, drawn.features, loss, settings)
        state.history.append(_summary(drawn, space, llms.pool, state.history))
        if checkpoints is not None:
            checkpoints.save(state, identity)
        on_step(state.history[-1])
    return state.history


def _batches(
    train: Sequence[Task], settings: Stage1Settings, rng: np.random.Generator
) -> list[list[_Attempt]]:
    """Shuffle the questions anew for each pass; a question's rollouts stand together."""
    visits = [
        [_Attempt(train[i], turn * settings.group + g) for g in range(settings.group)]
        for turn in range(settings.passes)
        for i in rng.permutation(len(train))
    ]
    starts = range(0, len(visits), settings.batch)
    return [list(chain(*visits[start : start + settings.batch])) for start in starts]


async def _draw(
    state: TrainingState,
    space: TeamSpace,
    batch: Sequence[_Attempt],
    run: Runner,
    featurizer: Featurizer,
    settings: Stage1Settings,
) -> Drawn:
    """Draw a team for each attempt and run it."""
    features = featurizer([attempt.task for attempt in batch])
    with torch.no_grad():
        logits = state.policy(features)
    if settings.credit == "reference":
        logits = clamped(logits)
    actions = sample(logits, state.generator)
    return Drawn(features, logits, actions, await _rollouts(space, batch, actions, run, state.rng))


async def _rollouts(
    space: TeamSpace,
    batch: Sequence[_Attempt],
    actions: Tensor,
    run: Runner,
    rng: np.random.Generator,
) -> Sequence[Rollout]:
    """Run one batch, each rollout on a graph of its own."""
    graphs = rng.integers(len(space.graphs), size=len(batch))
    jobs = [
        Job(space.team(team, graph), attempt.task, attempt.sample)
        for team, graph, attempt in zip(actions, graphs, batch, strict=True)
    ]
    return await run(jobs)


def _descend(
    state: TrainingState, features: Features, loss: Loss, settings: Stage1Settings
) -> None:
    """Take a few gradient steps on one batch."""
    for _ in range(settings.steps):
        state.optimizer.zero_grad()
        loss(state.policy(features)).backward()
        torch.nn.utils.clip_grad_norm_(state.policy.parameters(), settings.max_grad_norm)
        state.optimizer.step()


def _summary(
    drawn: Drawn, space: TeamSpace, pool: LLMPool, history: Sequence[TrainingStep]
) -> TrainingStep:
    rollouts = drawn.rollouts
    before = history[-1].rollouts if history else 0
    return TrainingStep(
        rollouts=before + len(rollouts),
        accuracy=float(np.mean([r.grade.correct for r in rollouts])),
        utility=mean_utility(rollouts, pool.reference_cost),
        cost=float(np.mean([r.usage.cost_usd for r in rollouts])) / pool.reference_cost,
        entropy=float(role_entropy(drawn.logits, space.actions.skip).mean()),
        kept_roles=float(np.mean([len(r.nodes) for r in rollouts])),
    )
