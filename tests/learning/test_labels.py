"""Labels and their losses on questions small enough to work out by hand."""

import asyncio
import math

import pytest
import torch
from toy_teams import Answerer, encoder, roles, service, toy_tasks

from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.labels import GraphLabels, label_graphs, pairwise_loss, top2_loss
from hieramas_lib.learning.policy import ActionSpace, constant_policy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

NAN = float("nan")


def labels(utility: list[list[float]], correct: list[list[bool]] | None = None) -> GraphLabels:
    worth = torch.tensor(utility)
    graphs = torch.arange(worth.shape[1]).expand_as(worth)
    right = worth > 0.5 if correct is None else torch.tensor(correct)
    return GraphLabels(graphs, worth, right)


def test_pairwise_loss_by_hand():
    scores = torch.tensor([[0.0, 1.0]])  # the graph that scores lower is the better one
    expected = math.log(1 + math.e)
    assert pairwise_loss(scores, labels([[1.0, 0.4]])).item() == pytest.approx(expected, abs=1e-6)


def test_pairs_count_by_their_gap():
    scores = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    wrong, right = math.log(1 + math.e), math.log(1 + math.exp(-1))
    expected = (wrong * 1.0 + right * 0.01) / 1.01
    got = pairwise_loss(scores, labels([[1.0, 0.0], [0.0, 0.01]]))
    assert got.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("loss", [pairwise_loss, top2_loss])
def test_ties_carry_no_label(loss):
    scores = torch.tensor([[0.0, 5.0, -2.0]], requires_grad=True)
    value = loss(scores, labels([[0.7, 0.7, 0.7]]))
    value.backward()
    assert value.item() == 0
    assert scores.grad is not None and scores.grad.abs().sum() == 0


@pytest.mark.parametrize("loss", [pairwise_loss, top2_loss])
def test_graphs_without_a_verdict_carry_no_label(loss):
    """An outage must not teach that a graph is bad."""
    scores = torch.tensor([[0.0, 0.5, -2.0]], requires_grad=True)
    value = loss(scores, labels([[0.9, NAN, -0.1]]))
    value.backward()
    assert math.isfinite(value.item())
    assert scores.grad is not None and scores.grad[0, 1] == 0
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


def test_top2_loss_marks_two_right_graphs():
    # positives weighted 2/2 = 1, every score 0: log 2
    got = top2_loss(torch.zeros(1, 4), labels([[0.9, 0.8, 0.7, -0.1]]))
    assert got.item() == pytest.approx(math.log(2), abs=1e-6)


def test_top2_loss_gives_no_positive_to_wrong_graphs():
    assert top2_loss(torch.zeros(1, 3), labels([[-0.1, -0.2, -0.3]])).item() == 0


def test_informative_questions():
    some = labels([[0.5, 0.5], [0.5, 0.6], [NAN, 0.5], [NAN, NAN]])
    assert some.informative.tolist() == [False, True, False, False]
    assert some.select(torch.tensor([1])).utility.tolist() == [[0.5, pytest.approx(0.6)]]


def test_contested_questions():
    some = labels(
        [[0.9, 0.8], [0.9, -0.1], [0.9, NAN]], [[True, True], [True, False], [True, False]]
    )
    assert some.contested.tolist() == [False, True, False]


def test_best_on_average_by_hand():
    """Graph 0 has mean .45 of two runs, 1 has .5 of two, 2 shines in its only run."""
    some = GraphLabels(
        graphs=torch.tensor([[0, 1], [0, 1], [2, 2]]),
        utility=torch.tensor([[0.5, 0.4], [0.4, 0.6], [0.9, NAN]]),
        correct=torch.ones(3, 2, dtype=torch.bool),
    )
    assert some.best_on_average(4) == 1


def test_label_graphs_scores_each_graph_on_its_task():
    """Right only where role One reads role Two, and only on even tasks: labels must say so.

    Graph 0 has no edge, graph 1 has Two -> One. The answerer costs more when it reads more.
    """

    def answer(task: int, sources: frozenset[str]) -> str:
        return "A" if task % 2 == 0 and sources == {"Two"} else "B"

    llms = service({"llm": Answerer(answer)})
    graphs = GraphPool(2, (Topology(2, ()), Topology(2, ((1, 0),))))
    space = TeamSpace(roles(), ActionSpace(("llm",), width=1), graphs, "llm", reads="sinks")
    policy = constant_policy(space.actions, space.roles, torch.tensor([[1, 0], [1, 0]]))
    tasks = toy_tasks(4)
    featurizer = Featurizer(encoder(), space.roles, tasks)
    got = asyncio.run(label_graphs(policy, space, tasks, llms, featurizer, 5, seed=0))
    assert all(sorted(row) == [0, 1] for row in got.graphs.tolist())
    for task, (graphs_run, right) in enumerate(zip(got.graphs, got.correct, strict=True)):
        assert right.tolist() == [bool(task % 2 == 0 and g == 1) for g in graphs_run]
    cost = got.correct.float() - got.utility
    assert (cost > 0).all()  # the team's price is in the label, not the decision's alone
