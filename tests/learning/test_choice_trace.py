"""What is written down about a policy while it learns, checked on probabilities by hand."""

import pytest
import torch

from hieramas_lib.learning.choice_trace import ChoiceTrace, choices, mean_choices
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.policy import NO_PRIOR, ActionSpace, MatchHead, PolicyLearner
from hieramas_lib.learning.training_state import TrainingStep
from hieramas_lib.teams.roles import load_roles

ROLES = load_roles("choice").model_copy(update={"roles": load_roles("choice").roles[:2]})
SPACE = ActionSpace(("a", "b"), width=1)
PRICES = torch.tensor([2.0, 1.0, 0.0])
FEATURES = Features(torch.zeros(2, 4), torch.zeros(2, 4), torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))


def policy(synthesizer_skip: float = 0.0, slope: float = 0.0) -> PolicyLearner:
    """Return a policy that is uniform but for the logit of the synthesizer's SKIP."""
    head = MatchHead(SPACE, 2)
    with torch.no_grad():
        head.bias[-1, -1] = synthesizer_skip
        head.weight[-1, -1] = slope
    return PolicyLearner(SPACE, head, NO_PRIOR, ROLES)


def test_a_uniform_policy_by_hand():
    found = choices(policy(), FEATURES, PRICES, rollouts=7)
    assert found.rollouts == 7
    assert torch.allclose(found.shares, torch.full((2, 2, 3), 1 / 3))
    assert found.kept_sampled.tolist() == pytest.approx([2 / 3, 2 / 3])
    assert found.kept.tolist() == [1.0, 1.0]  # of equal logits the first counts
    # Two roles: a synthesizer costs 1 on average, and its proposer 1 with probability 2/3.
    assert found.cost == pytest.approx(2 * (1 + 2 / 3))


def test_what_depends_on_the_question_is_averaged_over_questions():
    """A SKIP that is favoured by 20 logits on one question and shunned on the other."""
    found = choices(policy(slope=20.0), FEATURES, PRICES, rollouts=0)
    assert found.kept[0].item() == 0.5
    assert found.top_shares[0, -1].tolist() == [0.5, 0.0, 0.5]
    assert found.skip_rate[0, -1].item() == pytest.approx(0.5, abs=1e-6)
    assert found.skip_rate[1, -1].item() == pytest.approx(1 / 3)


def test_the_trace_begins_untrained_and_counts_batches():
    current = policy()
    trace = ChoiceTrace(lambda: current, FEATURES, PRICES, every=2)
    current = policy(synthesizer_skip=50.0)
    for batch in range(1, 5):
        trace(TrainingStep(10 * batch, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert [entry.rollouts for entry in trace.entries] == [0, 20, 40]
    assert [entry.kept.sum().item() for entry in trace.entries] == [2.0, 0.0, 0.0]


def test_the_mean_of_two_trainings():
    one, other = (choices(policy(skip), FEATURES, PRICES, rollouts=3) for skip in (0.0, 50.0))
    mean = mean_choices([one, other])
    assert mean.kept.tolist() == [0.5, 0.5]
    assert mean.cost == pytest.approx((one.cost + other.cost) / 2)
    assert torch.allclose(mean.shares.sum(-1), torch.ones(2, 2))
