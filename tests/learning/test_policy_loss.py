"""The loss of stage 1 against hand computation and enumeration."""

import itertools
import math

import pytest
import torch
from toy_teams import pool, spec

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.policy import ActionSpace, role_log_prob
from hieramas_lib.learning.policy_loss import call_prices, expected_cost, policy_loss

SPACE = ActionSpace(("x", "y"), width=1)
LOGITS = torch.tensor([[[[0.3, -1.0, 0.7], [1.2, 0.1, -0.4]]]])
PRICES = torch.tensor([1.0, 0.2, 0.0])
FREE = torch.zeros(3)


def outcomes() -> list[torch.Tensor]:
    """Everything a role can do, proposers of a pruned role set to action 0."""
    kept = itertools.product(range(SPACE.actions), range(SPACE.skip))
    return [torch.tensor([[pair]]) for pair in [*kept, (0, SPACE.skip)]]


def loss(logits, actions, old, advantage, prices=FREE, entropy=0.0, max_ratio=8.0):
    return policy_loss(
        logits,
        actions,
        old,
        torch.tensor([[advantage]]),
        prices,
        entropy_weight=entropy,
        max_ratio=max_ratio,
    )


def test_credit_is_weighted_by_the_ratio_of_new_to_old():
    actions = torch.tensor([[[0, 1]]])
    new = role_log_prob(LOGITS, actions, SPACE.skip)
    assert loss(LOGITS, actions, new, 0.5).item() == pytest.approx(-0.5)
    assert loss(LOGITS, actions, new - math.log(3), 0.5).item() == pytest.approx(-1.5)


def test_ratio_is_limited():
    actions = torch.tensor([[[0, 1]]])
    old = role_log_prob(LOGITS, actions, SPACE.skip) - math.log(20)
    assert loss(LOGITS, actions, old, 0.5).item() == pytest.approx(-4.0)


def test_entropy_is_rewarded_and_cost_is_not():
    even = torch.zeros(1, 1, 2, 3)
    actions = torch.tensor([[[0, 1]]])
    old = role_log_prob(even, actions, SPACE.skip)
    both = math.log(3) * (1 + 2 / 3)  # the proposer's counts if the role is kept
    assert loss(even, actions, old, 0.0, entropy=0.1).item() == pytest.approx(-0.1 * both, abs=1e-6)
    cost = 0.4 + 2 / 3 * 0.4
    got = loss(even, actions, old, 0.0, prices=PRICES).item()
    assert got == pytest.approx(0.01 * cost, abs=1e-6)


def price_of(actions: torch.Tensor) -> float:
    pair = actions.flatten()
    return 0.0 if pair[-1] == SPACE.skip else float(PRICES[pair].sum())


def test_expected_cost_equals_the_sum_over_outcomes():
    by_hand = sum(
        role_log_prob(LOGITS, actions, SPACE.skip).exp().item() * price_of(actions)
        for actions in outcomes()
    )
    assert expected_cost(LOGITS, PRICES).item() == pytest.approx(by_hand, abs=1e-6)


def test_gradient_is_that_of_the_expected_utility():
    """Averaged over what can be drawn, the loss descends -E[advantage] + 0.01 · E[cost]."""
    worth = [i**2 / 7 for i in range(len(outcomes()))]
    logits = LOGITS.clone().requires_grad_()
    probs = [role_log_prob(logits, a, SPACE.skip).exp().squeeze() for a in outcomes()]
    utility = sum(
        p * (w - 0.01 * price_of(a)) for p, w, a in zip(probs, worth, outcomes(), strict=True)
    )
    (exact,) = torch.autograd.grad(-utility, logits)
    sampled = torch.zeros_like(exact)
    for p, w, actions in zip(probs, worth, outcomes(), strict=True):
        old = role_log_prob(logits, actions, SPACE.skip).detach()
        (gradient,) = torch.autograd.grad(loss(logits, actions, old, w, prices=PRICES), logits)
        sampled += p.detach() * gradient
    assert torch.allclose(exact, sampled, atol=1e-6)


def test_gradient_matches_finite_differences():
    actions = torch.tensor([[[2, 0]]])
    old = role_log_prob(LOGITS, actions, SPACE.skip).double() - 0.3
    logits = LOGITS.double().requires_grad_()
    prices = PRICES.double()
    assert torch.autograd.gradcheck(
        lambda x: policy_loss(
            x, actions, old, torch.tensor([[0.7]]).double(), prices, entropy_weight=0.2, max_ratio=8
        ),
        (logits,),
    )


def test_unknown_price_does_not_look_free():
    unknown = pool(spec("a", 1.0), spec("b", None), spec("c", 4.0), reference="a")
    assert call_prices(unknown, ("a", "b", "c")).tolist() == pytest.approx([1.0, 4.0, 4.0, 0.0])


def test_prices_follow_the_order_of_the_actions():
    two = pool(spec("a", 1.0), spec("c", 4.0), reference="a")
    assert call_prices(two, ("c", "a")).tolist() == pytest.approx([4.0, 1.0, 0.0])
    with pytest.raises(ConfigError, match="has no LLM 'd'"):
        call_prices(two, ("d",))
