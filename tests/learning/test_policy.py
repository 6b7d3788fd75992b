"""Sampling and log-probability must be of one distribution (the reference code's are not)."""

import itertools
import math

import pytest
import torch

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import (
    NO_PRIOR,
    ActionSpace,
    MatchHead,
    PaperHead,
    PolicyLearner,
    PolicyPrior,
    constant_policy,
    greedy,
    match_policy,
    role_entropy,
    role_log_prob,
    sample,
)
from hieramas_lib.teams.roles import Role, RoleSet
from hieramas_lib.teams.supernode import SKIP, Supernode

SPACE = ActionSpace(llms=("a", "b"), width=1)
ROLES = RoleSet(
    name="two",
    kind="choice",
    proposer="",
    synthesizer="",
    decision="",
    answer_format="",
    roles=(
        Role(name="Doctor", duty="expert", profile="", instruction=""),
        Role(name="Critic", duty="checker", profile="", instruction=""),
    ),
)


def features(match: list[list[float]], dim: int = 4) -> Features:
    matrix = torch.tensor(match)
    tasks, roles = matrix.shape
    return Features(torch.ones(tasks, dim), torch.eye(roles, dim), matrix)


def some_logits() -> torch.Tensor:
    """One task, one role, two positions, three actions."""
    return torch.tensor([[[[0.3, -1.0, 0.7], [1.2, 0.1, -0.4]]]])


def outcomes() -> list[tuple[int, int]]:
    """Distinct things a role can do: a pruned role's proposer does not act."""
    kept = list(itertools.product(range(3), range(2)))
    return [*kept, (0, SPACE.skip)]


def test_probabilities_of_what_a_role_can_do_sum_to_one():
    total = sum(
        role_log_prob(some_logits(), torch.tensor([[pair]]), SPACE.skip).exp().item()
        for pair in outcomes()
    )
    assert total == pytest.approx(1.0, abs=1e-6)


def test_draw_frequencies_equal_exp_of_log_probability():
    draws = 40_000
    logits = some_logits().expand(draws, -1, -1, -1)
    actions = sample(logits, torch.Generator().manual_seed(0))[:, 0]
    for proposer, synthesizer in outcomes():
        if synthesizer == SPACE.skip:
            hits = actions[:, 1] == SPACE.skip
        else:
            hits = (actions[:, 0] == proposer) & (actions[:, 1] == synthesizer)
        expected = role_log_prob(
            some_logits(), torch.tensor([[[proposer, synthesizer]]]), SPACE.skip
        ).exp()
        sd = math.sqrt(expected.item() * (1 - expected.item()) / draws)
        assert hits.float().mean().item() == pytest.approx(expected.item(), abs=4 * sd)


def test_pruned_role_gives_no_credit_to_its_proposers():
    logits = some_logits().requires_grad_()
    pruned = torch.tensor([[[0, SPACE.skip]]])
    role_log_prob(logits, pruned, SPACE.skip).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0, 0, 0].abs().sum() == 0
    assert logits.grad[0, 0, 1].abs().sum() > 0


def test_entropy_is_that_of_the_role_outcomes():
    log_probs = torch.stack(
        [role_log_prob(some_logits(), torch.tensor([[pair]]), SPACE.skip) for pair in outcomes()]
    )
    by_hand = -(log_probs.exp() * log_probs).sum()
    assert role_entropy(some_logits(), SPACE.skip).item() == pytest.approx(by_hand.item(), abs=1e-6)


def test_greedy_may_skip():
    assert greedy(some_logits()).tolist() == [[[2, 0]]]


def test_supernodes_spell_out_actions():
    assert SPACE.supernodes(("x", "y"), torch.tensor([[0, 1], [2, 2]])) == (
        Supernode("x", ("a",), "b"),
        Supernode("y", (SKIP,), SKIP),
    )


def test_policy_without_prior_starts_uniform():
    logits = match_policy(SPACE, NO_PRIOR, ROLES)(features([[0.0, 2.0]]))
    assert torch.equal(logits, torch.zeros(1, 2, 2, 3))


@pytest.mark.parametrize(("match", "skip"), [(0.0, 1.5), (2.0, -1.5)])
def test_prior_asks_an_expert_in_its_field(match: float, skip: float):
    prior = PolicyPrior(skip_synthesizer=1.5, skip_proposer=0.7, skip_match=-1.5)
    logits = match_policy(SPACE, prior, ROLES)(features([[match, match]]))
    assert logits[0, 0].tolist() == [[0, 0, pytest.approx(0.7)], [0, 0, skip]]
    assert logits[0, 1].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_match_head_by_hand():
    head = MatchHead(SPACE, roles=2)
    with torch.no_grad():
        head.bias[0, 1], head.weight[1, 0], head.role_skip[1] = 0.5, 2.0, -3.0
    logits = head(features([[1.0, 0.25]]))[0]
    assert logits[0].tolist() == [[0, 0.5, 0], [2.0, 0, 0]]
    assert logits[1].tolist() == [[0, 0.5, 0], [0.5, 0, -3.0]]


@pytest.mark.parametrize("head", ["match", "paper"])
def test_every_parameter_receives_gradient(head: str):
    paper = PaperHead(SPACE, torch.eye(3, 4), seed=0, hidden=8)
    module = MatchHead(SPACE, 2) if head == "match" else paper
    policy = PolicyLearner(SPACE, module, PolicyPrior(), ROLES)
    if isinstance(module, PaperHead):
        torch.nn.init.normal_(module.score[-1].weight)
    logits = policy(features([[0.5, -1.0]]))
    assert logits.shape == (1, 2, 2, 3)
    role_log_prob(logits, torch.tensor([[[0, 1], [1, 0]]]), SPACE.skip).sum().backward()
    for name, parameter in policy.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_paper_head_starts_at_zero():
    assert PaperHead(SPACE, torch.eye(3, 4), seed=0)(features([[1.0, -1.0]])).abs().sum() == 0


def test_paper_head_has_the_papers_size():
    """At 1,024-dimensional texts, 9 LLMs and SKIP: 953,857 less the 20 - 3 positions, 1 bias,
    and with [question; role] in place of two joined texts of the same size."""
    space = ActionSpace(tuple("abcdefghi"), width=2)
    head = PaperHead(space, torch.zeros(10, 1024), seed=0)
    assert sum(p.numel() for p in head.parameters()) == 953_857 - 17 * 128 - 1


def test_seed_fixes_the_weights():
    first, second, other = (
        PaperHead(SPACE, torch.eye(3, 4), seed=seed, hidden=8).context.weight for seed in (1, 1, 2)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert first.std() > 0


def test_constant_policy_says_one_thing():
    actions = torch.tensor([[0, 1], [2, 2]])
    policy = constant_policy(SPACE, ROLES, actions)
    logits = policy(features([[0.3, -2.0], [5.0, 1.0]]))
    assert torch.equal(greedy(logits), actions.expand(2, 2, 2))
    assert torch.equal(sample(logits, torch.Generator().manual_seed(0)), actions.expand(2, 2, 2))
