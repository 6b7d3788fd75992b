"""Explanations of hand-made policies and classifiers."""

import pytest
import torch
from toy_teams import roles

from hieramas_lib.learning.classifier import GraphClassifier
from hieramas_lib.learning.explanation import Explanation, explain
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import (
    NO_PRIOR,
    ActionSpace,
    MatchHead,
    PaperHead,
    PolicyLearner,
    match_policy,
)
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

ALONE, ONE_TO_TWO, TWO_TO_ONE = Topology(2), Topology(2, ((0, 1),)), Topology(2, ((1, 0),))
ACTIONS = ActionSpace(("x", "y"), width=1)
FEATURES = Features(query=torch.ones(1, 4), role=torch.eye(2, 4), match=torch.tensor([[2.0, -1.0]]))


def space(*graphs: Topology) -> TeamSpace:
    return TeamSpace(roles(), ACTIONS, GraphPool(2, graphs), decision="x")


def explained(
    *graphs: Topology, bias=(), weight=(), policy: PolicyLearner | None = None
) -> tuple[Explanation, GraphClassifier]:
    """Explain a policy with the given entries ``(position, action, value)`` and a seeded graph."""
    team = space(*(graphs or (ALONE, ONE_TO_TWO, TWO_TO_ONE)))
    if policy is None:
        policy = match_policy(ACTIONS, NO_PRIOR, team.roles)
        assert isinstance(policy.head, MatchHead)
        with torch.no_grad():
            for position, action, value in bias:
                policy.head.bias[position, action] = value
            for position, action, value in weight:
                policy.head.weight[position, action] = value
    classifier = GraphClassifier(4, team.graphs, seed=1)
    return explain(policy, classifier, team, FEATURES), classifier


def test_margin_is_split_by_hand():
    """Synthesizer of One (match 2): x has 0.5 + 2 · 0.3, y has 0.7, SKIP 0."""
    told, _ = explained(bias=[(1, 0, 0.5), (1, 1, 0.7)], weight=[(1, 0, 0.3)])
    proposer_one, synthesizer_one, _, synthesizer_two = told.positions
    assert (synthesizer_one.role, synthesizer_one.position) == ("One", "synthesizer")
    assert synthesizer_one.logits == pytest.approx((1.1, 0.7, 0.0))
    assert (synthesizer_one.chosen, synthesizer_one.runner_up) == ("x", "y")
    assert synthesizer_one.margin == pytest.approx(0.4)
    assert synthesizer_one.from_match == pytest.approx(0.6)  # without it, y would be ahead by 0.2
    exponentials = torch.tensor([1.1, 0.7, 0.0]).exp()
    assert synthesizer_one.probability == pytest.approx(float(exponentials[0] / exponentials.sum()))
    assert (synthesizer_two.chosen, synthesizer_two.runner_up) == ("y", "x")
    assert synthesizer_two.margin == pytest.approx(0.5)  # 0.7 - (0.5 - 0.3)
    assert synthesizer_two.from_match == pytest.approx(0.3)
    assert (proposer_one.position, proposer_one.margin) == ("proposer 1", 0.0)
    assert told.match == (2.0, -1.0)


def test_a_pruned_role_takes_its_edges_and_proposers_with_it():
    """Only One matches well enough to be kept."""
    told, _ = explained(ONE_TO_TWO, weight=[(1, 0, 1.0)])
    assert [p.chosen for p in told.positions if p.position == "synthesizer"] == ["x", "y"]
    told, _ = explained(ONE_TO_TWO, bias=[(1, 2, 1.0)], weight=[(1, 0, 1.0)])
    assert [(p.role, p.position, p.acts) for p in told.positions] == [
        ("One", "proposer 1", True),
        ("One", "synthesizer", True),
        ("Two", "proposer 1", False),
        ("Two", "synthesizer", True),
    ]
    assert told.positions[3].chosen == "skip"
    assert told.graph.edges == ()


def test_graph_and_edge_effects_are_scores_and_their_differences():
    told, classifier = explained()
    scores = classifier(FEATURES, torch.ones(1, 2).bool(), torch.arange(3)[None])[0].detach()
    order = scores.argsort(descending=True)
    ids = [topology.id for topology in (ALONE, ONE_TO_TWO, TWO_TO_ONE)]
    assert (told.graph.chosen, told.graph.runner_up) == (ids[order[0]], ids[order[1]])
    assert told.graph.score == pytest.approx(float(scores[order[0]]), abs=1e-6)
    assert told.graph.runner_up_score == pytest.approx(float(scores[order[1]]), abs=1e-6)
    for graph, edge in ((1, ("One", "Two")), (2, ("Two", "One"))):
        told, classifier = explained((ONE_TO_TWO, TWO_TO_ONE)[graph - 1])
        (effect,) = told.graph.edges
        assert (effect.source, effect.reader) == edge
        gain = float(scores[graph] - scores[0])  # without its one edge it is the empty graph
        assert effect.effect == pytest.approx(gain, abs=1e-6)
        assert abs(gain) > 1e-4


def test_a_pool_of_one_has_no_runner_up():
    told, _ = explained(ALONE)
    assert told.graph.runner_up == ""
    assert told.graph.score == told.graph.runner_up_score


def test_the_papers_network_owes_nothing_to_the_match():
    head = PaperHead(ACTIONS, torch.eye(3, 4), seed=0, hidden=8)
    torch.nn.init.normal_(head.score[-1].weight, generator=torch.Generator().manual_seed(0))
    policy = PolicyLearner(ACTIONS, head, NO_PRIOR, roles())
    told, _ = explained(policy=policy)
    assert all(p.from_match == 0 for p in told.positions)
    assert all(p.margin > 0 for p in told.positions)


def test_lines_tell_what_acts():
    told, _ = explained(ONE_TO_TWO, bias=[(1, 2, 1.0)], weight=[(1, 0, 1.0)])
    lines = told.lines()
    assert len(lines) == 4  # two of One, the pruned Two, the graph
    assert lines[1] == (
        "One, synthesizer: x, probability 0.67; next skip, 1.00 logits below; the match of role "
        "and question counts +2.00 logits"
    )
    assert lines[2].startswith("Two, synthesizer: skip")
    assert lines[3].startswith("graph 2-1: score ") and lines[3].endswith("; the only one")
