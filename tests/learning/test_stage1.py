"""Stage 1 on bandits whose right answer is known, and its parts against enumeration."""

import asyncio
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import NO_PRIOR, ActionSpace, PolicyLearner, role_log_prob
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import (
    Stage1Settings,
    TrainingStep,
    call_prices,
    expected_cost,
    train_policy,
)
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.roles import Role, RoleSet
from hieramas_lib.teams.topology import Topology

ROLES = RoleSet(
    name="two",
    kind="choice",
    proposer="Propose.",
    synthesizer="Synthesize.",
    decision="Decide.",
    answer_format="Answer: X",
    roles=tuple(
        Role(name=name, duty="solver", profile=name, instruction="Solve.")
        for name in ("One", "Two")
    ),
)
TASKS = [
    Task(f"toy/{i}", "toy", "choice", "s", f"question {i}", "A", ("a", "b", "c", "d"))
    for i in range(6)
]


def spec(name: str, price: float | None) -> LLMSpec:
    listed = Price(input=price, output=price, date="2026-11-01", source="toy") if price else None
    return LLMSpec(
        name=name, client="simulated", model=name, family=name, profile=name, price=listed
    )


def pool(*llms: LLMSpec, reference: str) -> LLMPool:
    return LLMPool(name="toy", skip_profile="none", reference=reference, llms=llms)


class Fixed:
    """Says the same whatever it is asked; reads teammates' answers if told to."""

    def __init__(self, letter: str, *, follows: bool = False) -> None:
        self.letter, self.follows = letter, follows

    async def complete(self, request: ChatRequest) -> Completion:
        read = request.messages[-1].content
        letter = self.letter
        if self.follows and "Answer: A" in read:
            letter = "A"
        return Completion(f"Answer: {letter}", "stop", 100, 10, None, 1.0, False, "")


class HashEncoder:
    """A vector for any text, the same one always."""

    def encode(self, texts):
        rows = [np.frombuffer(text.encode().ljust(64)[:64], dtype=np.uint8) for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def service(prices: dict[str, float]) -> LLMService:
    clients = {"good": Fixed("A"), "bad": Fixed("B"), "judge": Fixed("C", follows=True)}
    specs = [spec(name, prices[name]) for name in clients]
    return LLMService(pool(*specs, reference="judge"), clients, CallStore(None))


def space_over(llms: LLMService) -> TeamSpace:
    graphs = GraphPool(2, (Topology(2, ()), Topology(2, ((0, 1),))))
    return TeamSpace(ROLES, ActionSpace(llms.pool.names, width=1), graphs, decision="judge")


def train(prices: dict[str, float], settings: Stage1Settings, seed: int = 0):
    llms = service(prices)
    space = space_over(llms)
    policy = PolicyLearner.untrained(space.actions, NO_PRIOR, ROLES)
    featurizer = Featurizer(HashEncoder(), ROLES, TASKS)
    steps = asyncio.run(train_policy(policy, space, TASKS, llms, featurizer, settings, seed))
    with torch.no_grad():
        return policy(featurizer(TASKS)).softmax(-1), steps


EQUAL = {"good": 1.0, "bad": 1.0, "judge": 1.0}
LONG = Stage1Settings(passes=40, batch=6, steps=3)


def test_learns_which_llm_is_right():
    """Only "good" knows the answer; the decision follows whoever says it."""
    probs, steps = train(EQUAL, LONG)
    synthesizer = probs[:, :, -1]
    assert (synthesizer[..., 0] > synthesizer[..., 1]).all()
    late = np.mean([step.accuracy for step in steps[-5:]])
    assert late > np.mean([step.accuracy for step in steps[:5]]) + 0.15


def test_learns_to_leave_out_what_only_costs():
    """Where nobody can change the outcome, a dear LLM ends up less likely than SKIP."""
    dear = {"good": 2000.0, "bad": 2000.0, "judge": 1.0}
    probs, steps = train(dear, replace(LONG, credit="final_only", passes=20))
    assert (probs[:, :, -1, 1] < probs[:, :, -1, -1]).all()
    assert steps[-1].cost < steps[0].cost


@pytest.mark.parametrize("credit", ["multi_level", "final_only", "node_only"])
def test_every_credit_mode_runs_and_reports(credit: str):
    settings = Stage1Settings(passes=2, batch=4, group=2, credit=credit)  # type: ignore[arg-type]
    probs, steps = train(EQUAL, settings)
    assert [step.rollouts for step in steps] == [8, 16, 24]
    assert all(isinstance(step, TrainingStep) and 0 <= step.kept_roles <= 2 for step in steps)
    assert torch.allclose(probs.sum(-1), torch.ones(()))


def test_same_seed_same_policy_another_seed_another():
    short = Stage1Settings(passes=2, batch=6, group=2)
    first, second, other = (train(EQUAL, short, seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def outcomes(space: ActionSpace):
    """Everything a role can do, proposers of a pruned role set to action 0."""
    kept = itertools.product(range(space.actions), range(space.skip))
    return [torch.tensor(pair) for pair in [*kept, (0, space.skip)]]


def price_of(actions: torch.Tensor, prices: torch.Tensor, skip: int) -> float:
    return 0.0 if actions[-1] == skip else float(prices[actions].sum())


def test_expected_cost_equals_the_sum_over_outcomes():
    space = ActionSpace(("x", "y"), width=1)
    logits = torch.tensor([[[[0.3, -1.0, 0.7], [1.2, 0.1, -0.4]]]])
    prices = torch.tensor([1.0, 0.2, 0.0])
    by_hand = sum(
        role_log_prob(logits, actions[None, None], space.skip).exp().item()
        * price_of(actions, prices, space.skip)
        for actions in outcomes(space)
    )
    assert expected_cost(logits, prices, space.skip).item() == pytest.approx(by_hand, abs=1e-6)


def test_sampled_policy_gradient_is_right_on_average():
    """E[advantage · grad log pi] over all outcomes equals the gradient of E[advantage]."""
    space = ActionSpace(("x", "y"), width=1)
    logits = torch.tensor([[[[0.3, -1.0, 0.7], [1.2, 0.1, -0.4]]]], requires_grad=True)
    worth = torch.arange(len(outcomes(space)), dtype=torch.float) ** 2 / 7
    probs = torch.stack(
        [role_log_prob(logits, a[None, None], space.skip).exp().squeeze() for a in outcomes(space)]
    )
    (exact,) = torch.autograd.grad((probs * worth).sum(), logits, retain_graph=True)
    sampled = torch.zeros_like(exact)
    for p, w, actions in zip(probs.detach(), worth, outcomes(space), strict=True):
        log_prob = role_log_prob(logits, actions[None, None], space.skip).sum()
        (gradient,) = torch.autograd.grad(log_prob, logits)
        sampled += p * w * gradient
    assert torch.allclose(exact, sampled, atol=1e-6)


def test_unknown_price_does_not_look_free():
    unknown = pool(spec("a", 1.0), spec("b", None), spec("c", 4.0), reference="a")
    assert call_prices(unknown).tolist() == pytest.approx([1.0, 4.0, 4.0, 0.0])
