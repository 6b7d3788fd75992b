"""Why this team for this question: logits, runners-up, and what they come from (stage 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hieramas_lib.learning.classifier import GraphScorer
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import PolicyLearner, greedy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.teams.supernode import SKIP


@dataclass(frozen=True, slots=True)
class PositionChoice:
    """Why this LLM, or none, stands in this position.

    Attributes:
        role: The supernode.
        position: ``"proposer 1"``, ..., ``"synthesizer"``.
        acts: Whether it does at all: a proposer of a pruned role does not.
        chosen, runner_up: The two with the highest logits; ``"skip"`` is no LLM.
        probability: Of ``chosen`` under the policy.
        logits: Of every LLM, then of SKIP.
        margin: Logit of ``chosen`` less that of ``runner_up``.
        from_match: The part of the margin that comes from how well the role matches the question:
            what is lost when the match is set to 0.
    """

    role: str
    position: str
    acts: bool
    chosen: str
    runner_up: str
    probability: float
    logits: tuple[float, ...]
    margin: float
    from_match: float


@dataclass(frozen=True, slots=True)
class EdgeEffect:
    """What an edge adds to its graph's score: the score with it less the score without it."""

    source: str
    reader: str
    effect: float


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """Why this graph of the pool.

    Attributes:
        chosen, runner_up: Ids of the two with the highest scores; a pool of one has no
            ``runner_up`` (empty, with the same score).
        score, runner_up_score: Logits of the classifier.
        edges: Effects of the edges between kept roles, the largest gain first. They need not sum
            to the score: the classifier is not linear.
    """

    chosen: str
    runner_up: str
    score: float
    runner_up_score: float
    edges: tuple[EdgeEffect, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a team was chosen for a question.

    Attributes:
        match: How well each role matches the question, in standard deviations, in role order.
        positions: One entry for each position of each role, in order.
        graph: Why its graph.
    """

    match: tuple[float, ...]
    positions: tuple[PositionChoice, ...]
    graph: GraphChoice

    def lines(self) -> list[str]:
        """Say it in words, one line for each position that acts, each pruned role and the graph."""
        told = [p for p in self.positions if p.acts]
        return [*(_position_line(p) for p in told), *_graph_lines(self.graph)]


def explain(
    policy: PolicyLearner, classifier: GraphScorer, space: TeamSpace, features: Features
) -> Explanation:
    """Explain the choice for one task, given by its ``features`` (a batch of one)."""
    with torch.no_grad():
        logits = policy(features)[0]
        neutral = policy(replace(features, match=torch.zeros_like(features.match)))[0]
        kept = greedy(logits)[:, -1] != space.actions.skip
        graph = _graph_choice(classifier, space, features, kept)
    return Explanation(
        match=tuple(features.match[0].tolist()),
        positions=tuple(_position_choices(space, logits, neutral, kept.tolist())),
        graph=graph,
    )


def _position_choices(
    space: TeamSpace, logits: Tensor, neutral: Tensor, kept: Sequence[bool]
) -> list[PositionChoice]:
    names = (*space.actions.llms, SKIP)
    positions = [*(f"proposer {i + 1}" for i in range(space.actions.width)), "synthesizer"]
    choices = []
    for r, role in enumerate(space.roles.names):
        for k, position in enumerate(positions):
            row, chosen = logits[r, k], int(logits[r, k].argmax())
            second = int(row.index_fill(0, torch.tensor(chosen), -torch.inf).argmax())
            margin = float(row[chosen] - row[second])
            choices.append(
                PositionChoice(
                    role=role,
                    position=position,
                    acts=kept[r] or position == "synthesizer",
                    chosen=names[chosen],
                    runner_up=names[second],
                    probability=float(row.softmax(0)[chosen]),
                    logits=tuple(row.tolist()),
                    margin=margin,
                    from_match=margin - float(neutral[r, k, chosen] - neutral[r, k, second]),
                )
            )
    return choices


def _graph_choice(
    classifier: GraphScorer, space: TeamSpace, features: Features, kept: Tensor
) -> GraphChoice:
    pool, names = space.graphs, space.roles.names
    scores = classifier(features, kept[None], torch.arange(len(pool))[None])[0]
    chosen = int(scores.argmax())  # as at inference: the first of several equal ones
    others = scores.index_fill(0, torch.tensor(chosen), -torch.inf)
    second = int(others.argmax()) if len(pool) > 1 else chosen
    edges = [(u, v) for u, v in pool[chosen].edges if kept[u] and kept[v]]
    variants = classifier.adjacency[chosen].repeat(1 + len(edges), 1, 1)  # the first is whole
    for i, (u, v) in enumerate(edges, start=1):
        variants[i, u, v] = 0.0
    whole, *less = classifier.score_edges(features, kept[None], variants[None])[0].tolist()
    effects = [
        EdgeEffect(names[u], names[v], whole - score)
        for (u, v), score in zip(edges, less, strict=True)
    ]
    return GraphChoice(
        chosen=pool[chosen].id,
        runner_up=pool[second].id if second != chosen else "",
        score=float(scores[chosen]),
        runner_up_score=float(scores[second]),
        edges=tuple(sorted(effects, key=lambda effect: -effect.effect)),
    )


def _position_line(choice: PositionChoice) -> str:
    matched = round(choice.from_match, 2) + 0.0  # which turns -0.0 into 0.0
    return (
        f"{choice.role}, {choice.position}: {choice.chosen}, probability "
        f"{choice.probability:.2f}; next {choice.runner_up}, {choice.margin:.2f} logits below; "
        f"the match of role and question counts {matched:+.2f} logits"
    )


def _graph_lines(graph: GraphChoice) -> list[str]:
    second = (
        f"; next {graph.runner_up}, {graph.score - graph.runner_up_score:.3f} below"
        if graph.runner_up
        else "; the only one"
    )
    lines = [f"graph {graph.chosen}: score {graph.score:.3f}{second}"]
    return lines + [
        f"{edge.reader} reads {edge.source}: {edge.effect:+.3f} of the score"
        for edge in graph.edges
    ]
