"""The published update, against the figures of its own description."""

import math

import pytest
import torch
from toy_teams import roles

from hieramas_lib.learning.policy import role_log_prob
from hieramas_lib.learning.reference_update import (
    clamped,
    effective_rewards,
    learning_rate,
    reference_loss,
    temperature,
)
from hieramas_lib.llms.chat import Completion
from hieramas_lib.tasks.task import Grade
from hieramas_lib.teams.rollout import CallRecord, NodeRecord, Rollout

PLANNING = roles().model_copy(
    update={"roles": (roles().roles[0], roles().roles[1].model_copy(update={"duty": "planner"}))}
)


def call(cost: float) -> CallRecord:
    answer = Completion("Answer: A", "stop", 1, 1, cost, 1.0, False, "")
    return CallRecord("r", "synthesizer", "x", answer)


def rollout(final: str, decision: float, **nodes: tuple[str | None, float]) -> Rollout:
    """A rollout with its final status, the decision's cost, and (status, cost) of kept roles."""
    records = tuple(
        NodeRecord(name, (), call(cost), None if status is None else Grade(status))  # type: ignore[arg-type]
        for name, (status, cost) in nodes.items()
    )
    calls = (*(c for record in records for c in record.calls), call(decision))
    return Rollout("t", "Answer: A", Grade(final), calls, records)  # type: ignore[arg-type]


def test_temperatures_of_twelve_iterations():
    published = [10, 9.84, 9.38, 8.65, 7.70, 6.59, 5.40, 4.21, 3.10, 2.15, 1.42, 0.96]
    assert [temperature(i / 12) for i in range(12)] == pytest.approx(published, abs=0.006)
    assert temperature(1.0) == pytest.approx(0.8)


def test_learning_rates_of_twelve_iterations():
    rates = [learning_rate(5e-3, i / 12) for i in range(12)]
    assert rates[0] == 5e-3
    assert rates[3] == pytest.approx(3.5e-3)
    assert rates[6:] == pytest.approx([2e-3] * 6)


def test_rewards_by_hand():
    """A wrong role in a right run is punished; only the decision's price is in R_final."""
    right = rollout("correct", 0.5, One=("wrong", 1.0), Two=("correct", 2.0))
    (row,) = effective_rewards([right], roles(), 0.5, reference_cost=1.0)
    final = math.exp(-0.37 * 0.5)  # not exp(-0.37 · 3.5), the price of the whole run
    assert row.tolist() == pytest.approx(
        [(final - math.exp(0.37)) / 2, (final + max(math.exp(-0.74), 0.5)) / 2]
    )
    assert row[0] < 0 < row[1]


def test_rewards_are_in_reference_calls():
    one = rollout("wrong", 0.5, One=("wrong", 1.0))
    ten = rollout("wrong", 5.0, One=("wrong", 10.0))
    small = effective_rewards([one], roles(), 0.5, reference_cost=1.0)
    assert effective_rewards([ten], roles(), 0.5, reference_cost=10.0).tolist() == small.tolist()


def test_pruned_roles_and_planners_get_the_final_reward_alone():
    mixed = rollout("correct", 0.0, Two=(None, 1.0))
    ((pruned, planner),) = effective_rewards([mixed], PLANNING, 0.5, reference_cost=1.0)
    assert (pruned, planner) == (0.5, 1.0)


def test_an_outage_counts_as_wrong_as_published():
    failed = rollout("error", 0.0, One=("error", 0.0))
    ((one, two),) = effective_rewards([failed], roles(), 0.5, reference_cost=1.0)
    assert (one, two) == (-1.0, -0.5)


LOGITS = torch.tensor([[[[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]]]])  # one role, last action SKIP


def test_loss_by_hand():
    actions, rewards = torch.tensor([[[0, 1]]]), torch.tensor([[0.7]])
    loss = reference_loss(LOGITS, actions, rewards, temperature=2.0, entropy_weight=0.3)
    log_prob = (LOGITS[0, 0] / 2).log_softmax(-1)
    entropy = -(log_prob.exp() * log_prob).sum()
    expected = -0.7 * (log_prob[0, 0] + log_prob[1, 1]) - 0.3 * entropy
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_its_faults_are_there():
    """Log-probabilities of another distribution than the one drawn from, and of idle proposers."""
    pruned = torch.tensor([[[0, 2]]])
    arguments = {"rewards": torch.ones(1, 1), "entropy_weight": 1e-9}
    drawn = role_log_prob(LOGITS, pruned, skip=2)
    logits = LOGITS.clone().requires_grad_()
    hot = reference_loss(logits, pruned, temperature=10.0, **arguments)
    assert abs(-hot.item() - drawn.item()) > 0.3
    hot.backward()
    assert logits.grad is not None and logits.grad[0, 0, 0].abs().sum() > 0
    far = torch.tensor([[[[25.0, 0.0, 0.0]] * 2]], requires_grad=True)
    reference_loss(far, pruned, temperature=1.0, **arguments).backward()
    assert far.grad is not None and (far.grad[..., 0] == 0).all()  # clamped: no way back
    assert clamped(torch.tensor([25.0, -25.0, 3.0])).tolist() == [10.0, -10.0, 3.0]


def test_loss_is_the_mean_over_rollouts():
    actions = torch.tensor([[[0, 1]], [[2, 2]]])
    rewards = torch.tensor([[0.7], [-1.0]])
    options = {"temperature": 1.5, "entropy_weight": 1.0}
    both = reference_loss(LOGITS.expand(2, -1, -1, -1), actions, rewards, **options)
    single = [
        reference_loss(LOGITS, actions[i : i + 1], rewards[i : i + 1], **options) for i in (0, 1)
    ]
    assert both.item() == pytest.approx((single[0] + single[1]).item() / 2, rel=1e-6)
