"""Train and judge the systems of an ablation on answers instead of texts, in a simulated world.

Stage 1, labels and judging are replayed (see :mod:`..learning_curve.lab`), the learners are those
of :class:`~hieramas_lib.methods.hieramas.HieraMAS`. A system takes about a second, so it can be
judged on thousands of questions.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from hieramas_lib.experiments.ablations.variants import System
from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.experiments.learning_curve.lab import Lab
from hieramas_lib.learning.hashed_encoder import HashedWords
from hieramas_lib.learning.labels import label_graphs
from hieramas_lib.learning.policy import ActionSpace, PolicyLearner, constant_policy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import train_policy
from hieramas_lib.learning.stage2 import train_classifier
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.run import run
from hieramas_lib.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd


def replayed_records(
    lab: Lab, system: System, name: str, train: Sequence[Task], seed: int
) -> "pd.DataFrame":
    """Train ``system`` anew and return a row for each question that it is judged on.

    Columns: ``variant, world, seed, task_id, utility, accuracy, cost_reference, kept_roles``, means
    over the copies of an original question and their repetitions. All systems of a world are
    judged on the same questions under equal luck; those that do not choose the graph, on equal
    graphs.

    Args:
        lab: The world; number of graphs and width are those of ``system``.
        system: What to train.
        name: Written down as ``variant``.
        train: Training questions, copies or not.
        seed: Of the training.
    """
    import pandas as pd

    lab = lab.with_space(graphs=system.graphs, width=system.width)
    trained = train_system(lab, system, train, seed)
    originals = lab.questions.originals
    actions = trained.actions(originals)
    trial = lab.seen
    rounds = len(trial.column) // len(originals)
    graphs = trial.graphs
    if system.graph == "classifier":
        graphs = np.tile(trained.graph_scores(originals).argmax(dim=1).numpy(), rounds)
    results = lab.results(actions.repeat(rounds, 1, 1), trial, graphs)
    kept = (actions[..., -1] != lab.space.actions.skip).sum(dim=1)

    def by_original(values: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = values[0].reshape(rounds, -1).mean(axis=0)
        return means

    return pd.DataFrame(
        {
            "variant": name,
            "world": lab.world.seed,
            "seed": seed,
            "task_id": [task.id.partition("/copy-")[0] for task in originals],
            "utility": by_original(results.utility),
            "accuracy": by_original(results.right),
            "cost_reference": by_original(results.cost),
            "kept_roles": kept.numpy(),
        }
    )


def train_system(lab: Lab, system: System, train: Sequence[Task], seed: int) -> HieraMAS:
    """Train both stages of ``system`` on replayed rollouts, as far as it has them."""
    encoder = OriginalTexts(HashedWords()) if system.texts == "words" else lab.encoder
    trained = HieraMAS(lab.space, lab.llms, encoder, system.settings, seed)
    practice, stage2 = lab.practice(train), system.settings.stage2
    runner = practice.rollouts(lab.pool, seed)
    trained.start(train, everywhere(lab.space) if system.filling == "decision" else None)
    featurizer = trained.featurizer
    assert featurizer is not None  # start() has set it
    if system.filling == "policy":
        trained.history = run(
            train_policy(
                trained.policy, lab.space, train, lab.llms, featurizer,
                system.settings.stage1, seed, run=runner,
            )
        )  # fmt: skip
    if system.graph == "classifier":
        labels = run(
            label_graphs(
                trained.policy, lab.space, train, lab.llms, featurizer, stage2.graphs_per_task,
                seed, run=runner,
            )
        )  # fmt: skip
        features = featurizer(train)
        trained.classifier = trained.untrained_classifier(features.query.shape[1])
        train_classifier(trained.classifier, features, trained.kept(train), labels, stage2, seed)
    return trained


def everywhere(space: TeamSpace) -> PolicyLearner:
    """Return the policy that puts the decision's LLM in every position of every role."""
    actions: ActionSpace = space.actions
    shape = (len(space.roles.roles), actions.positions)
    return constant_policy(
        actions, space.roles, torch.full(shape, actions.llms.index(space.decision))
    )
