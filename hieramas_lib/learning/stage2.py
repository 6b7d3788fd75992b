"""Stage 2: train the graph classifier on labelled graphs, with the policy frozen."""

import copy
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.classifier import ClassifierForm, GraphScorer
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.labels import GraphLabels, LabelRule, label_loss


@dataclass(frozen=True, slots=True)
class Stage2Settings:
    """How the classifier is trained.

    Attributes:
        graphs_per_task: Graphs run on each training question (M in the paper: 5).
        rule: ``pairwise``, or ``top2`` as in the paper.
        form: Which network, see :mod:`.classifier`.
        epochs: At most so many passes over the labels.
        batch: Questions of one step.
        learning_rate, weight_decay: Of Adam.
        held_out: Share of the questions kept to stop early; at least one question.

    Raises:
        ConfigError: a value is out of range; names the field.
    """

    graphs_per_task: int = 5
    rule: LabelRule = "pairwise"
    form: ClassifierForm = "convolution"
    epochs: int = 20
    batch: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 3e-3
    held_out: float = 0.2

    def __post_init__(self) -> None:
        for name, least in (("graphs_per_task", 2), ("epochs", 1), ("batch", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: at least {least}, got {getattr(self, name)}")
        for name, known in (("rule", get_args(LabelRule)), ("form", get_args(ClassifierForm))):
            if getattr(self, name) not in known:
                choices = ", ".join(known)
                raise ConfigError(f"{name}: {getattr(self, name)!r} is not one of {choices}")
        if not 0 < self.held_out < 1:
            raise ConfigError(f"held_out: between 0 and 1, got {self.held_out}")


REFERENCE = Stage2Settings(
    rule="top2", form="reference", epochs=20, batch=128, learning_rate=1e-3, weight_decay=2e-5
)
"""Network, labels and optimiser of the published code (its MMLU scripts), for comparison only.

Not so: early stopping is by utility, the published one by the order of graphs within a question.
"""


@dataclass(frozen=True, slots=True)
class ClassifierEpoch:
    """One epoch: mean training loss, and utility of the graphs chosen on held-out questions."""

    loss: float
    held_out_utility: float


def train_classifier(
    classifier: GraphScorer,
    features: Features,
    kept: Tensor,
    labels: GraphLabels,
    settings: Stage2Settings,
    seed: int,
) -> list[ClassifierEpoch]:
    """Train ``classifier`` in place and return the history.

    The weights with the best held-out utility are kept: for each held-out question, the
    utility of the labelled graph that scores highest. Among equally good epochs the last is
    kept, but the starting weights if none is better, so that labels without information teach
    nothing.

    Raises:
        ConfigError: there are fewer than two questions.
    """
    if len(labels.graphs) < 2:
        raise ConfigError("train: stage 2 needs at least two questions, one of them held out")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels.graphs), generator=generator)
    split = min(max(1, round(len(order) * settings.held_out)), len(order) - 1)
    held_out, train = order[:split], order[split:]
    optimizer = torch.optim.Adam(
        classifier.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    held_out_set = _Rows(features, kept, labels, held_out)
    start, best_state = held_out_set.chosen_utility(classifier), _state(classifier)
    best = start
    history = []
    for _ in range(settings.epochs):
        losses = []
        for rows in train[torch.randperm(len(train), generator=generator)].split(settings.batch):
            batch = _Rows(features, kept, labels, rows)
            loss = label_loss(batch.scores(classifier), batch.labels, settings.rule)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() * len(rows))
        utility = held_out_set.chosen_utility(classifier)
        history.append(ClassifierEpoch(sum(losses) / len(train), utility))
        if utility > start and utility >= best:
            best, best_state = utility, _state(classifier)
    classifier.load_state_dict(best_state)
    return history


class _Rows:
    """Some of the labelled questions."""

    def __init__(self, features: Features, kept: Tensor, labels: GraphLabels, rows: Tensor) -> None:
        self.features = Features(features.query[rows], features.role, features.match[rows])
        self.kept = kept[rows]
        self.labels = labels.select(rows)

    def scores(self, classifier: GraphScorer) -> Tensor:
        scores: Tensor = classifier(self.features, self.kept, self.labels.graphs)
        return scores

    def chosen_utility(self, classifier: GraphScorer) -> float:
        """Mean utility of the best-scored graph among those with a verdict, 0 if there are none."""
        unknown = self.labels.utility.isnan()
        with torch.no_grad():
            scores = self.scores(classifier).masked_fill(unknown, -torch.inf)
        chosen = self.labels.utility.gather(1, scores.argmax(dim=1, keepdim=True))
        return float(chosen[~unknown.all(dim=1)].mean().nan_to_num(nan=0.0))


def _state(classifier: GraphScorer) -> dict[str, Tensor]:
    return copy.deepcopy(classifier.state_dict())
