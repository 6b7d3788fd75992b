"""Stage 1 on bandits whose right answer is known."""

import asyncio
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from toy_teams import always, encoder, roles, service, toy_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import NO_PRIOR, ActionSpace, match_policy
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import _batches, _rollouts, train_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.training_state import TrainingStep
from hieramas_lib.teams.executor import run_batch
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

LONG = Stage1Settings(passes=40, batch=6, steps=3)


def train(settings: Stage1Settings, *, prices=None, letters="ABC", golds="A", seed=0):
    """Train among three LLMs that always say the given letters; the last one decides."""
    clients = {n: always(x) for n, x in zip(("good", "bad", "judge"), letters, strict=True)}
    llms = service(clients, prices or {})
    graphs = GraphPool(2, (Topology(2, ()), Topology(2, ((0, 1),))))
    space = TeamSpace(roles(), ActionSpace(llms.pool.names, width=1), graphs, decision="judge")
    policy = match_policy(space.actions, NO_PRIOR, space.roles)
    tasks = toy_tasks(6, golds)
    featurizer = Featurizer(encoder(), space.roles, tasks)
    steps = asyncio.run(train_policy(policy, space, tasks, llms, featurizer, settings, seed))
    with torch.no_grad():
        return policy(featurizer(tasks)).softmax(-1), steps


def test_learns_which_llm_is_right():
    """Only "good" knows the answer; the decision follows whoever says it."""
    probs, steps = train(LONG)
    synthesizer = probs[:, :, -1]
    assert (synthesizer[..., 0] > synthesizer[..., 1]).all()
    late = np.mean([step.accuracy for step in steps[-5:]])
    assert late > np.mean([step.accuracy for step in steps[:5]]) + 0.15


def test_each_rollout_is_of_its_own_task_and_team():
    llms = service({name: always("A") for name in ("x", "y")})
    graphs = GraphPool(2, (Topology(2, ()), Topology(2, ((0, 1),))))
    space = TeamSpace(roles(), ActionSpace(llms.pool.names, width=1), graphs, decision="y")
    rng = np.random.default_rng(0)
    (batch,) = _batches(toy_tasks(3), Stage1Settings(passes=1, group=2), rng)
    actions = torch.tensor([[[i % 3, i % 2], [2, (i + 1) % 2]] for i in range(len(batch))])
    rollouts = asyncio.run(_rollouts(space, batch, actions, partial(run_batch, llms=llms), rng))
    assert [r.task_id for r in rollouts] == [attempt.task.id for attempt in batch]
    for rollout, team in zip(rollouts, actions, strict=True):
        chosen = [(c.role, c.position, c.llm) for c in rollout.calls[:-1]]
        expected = [
            (supernode.role, position, llm)
            for supernode in space.actions.supernodes(space.roles.names, team)
            for position, llm in [
                *(("proposer", name) for name in supernode.active_proposers),
                ("synthesizer", supernode.synthesizer),
            ]
        ]
        assert chosen == expected


def test_learns_to_leave_out_what_only_costs():
    """Where nobody can change the outcome, a dear LLM ends up less likely than SKIP."""
    dear = {"good": 2000.0, "bad": 2000.0, "judge": 1.0}
    settings = replace(LONG, credit="final_only", passes=20)
    probs, steps = train(settings, prices=dear, letters="BBC")
    assert (probs[:, :, -1, 1] < probs[:, :, -1, -1]).all()
    assert steps[-1].cost < steps[0].cost


def test_price_is_a_factor_on_what_calls_cost():
    """Nobody changes the outcome: without a price, the entropy bonus alone pays for acting."""
    dear = {"good": 2000.0, "bad": 2000.0, "judge": 1.0}
    skipped = []
    for price in (0.0, 1.0):
        settings = replace(LONG, credit="final_only", passes=10, price=price)
        probs, _ = train(settings, prices=dear, letters="BBC")
        skipped.append(float((probs[:, :, -1, -1] - probs[:, :, -1, 1]).mean()))
    assert skipped[0] < 0 < skipped[1]


def test_an_outage_teaches_nothing_but_prices():
    """All calls of two LLMs fail: that says nothing about them (reference: counts as wrong)."""
    probs, _ = train(replace(LONG, passes=10), letters=(None, None, "A"))
    assert (probs[:, :, -1, 0] - probs[:, :, -1, 1]).abs().max() < 1e-3


@pytest.mark.parametrize("credit", ["multi_level", "final_only", "node_only"])
def test_every_credit_mode_runs_and_reports(credit: str):
    settings = Stage1Settings(passes=2, batch=4, group=2, credit=credit)  # type: ignore[arg-type]
    probs, steps = train(settings)
    assert [step.rollouts for step in steps] == [8, 16, 24]
    assert all(isinstance(step, TrainingStep) and 0 <= step.kept_roles <= 2 for step in steps)
    assert torch.allclose(probs.sum(-1), torch.ones(()))


def test_the_published_update_runs_one_rollout_a_question():
    settings = Stage1Settings.published(passes=2)
    assert (settings.batch, settings.group, settings.steps, settings.alpha) == (6, 1, 1, 0.5)
    assert (settings.learning_rate, settings.entropy) == (5e-3, (1.0, 1.0))
    probs, steps = train(settings)
    assert [step.rollouts for step in steps] == [6, 12]
    assert torch.allclose(probs.sum(-1), torch.ones(()))
    assert (probs != probs[0, 0, 0, 0]).any()
    with pytest.raises(ConfigError, match="steps: the reference update takes 1"):
        replace(settings, steps=3)


def test_same_seed_same_policy_another_seed_another():
    short = Stage1Settings(passes=2, batch=6, group=2)
    first, second, other = (train(short, seed=seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(("tasks", "batch"), [(6, 4), (10, 12), (72, 16), (5, 5)])
def test_no_rollout_is_drawn_twice(tasks: int, batch: int):
    """Each pass asks each question ``group`` times, under sample indices of its own."""
    settings = Stage1Settings(passes=3, batch=batch, group=2)
    batches = _batches(toy_tasks(tasks), settings, np.random.default_rng(0))
    drawn = [(attempt.task.id, attempt.sample) for part in batches for attempt in part]
    assert len(set(drawn)) == len(drawn) == tasks * 3 * 2
    assert {sample for _, sample in drawn} == set(range(6))
    for part in batches:
        ids = [attempt.task.id for attempt in part]
        assert ids[::2] == ids[1::2]  # a question's rollouts stand together


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("group", 1),
        ("group", 0),
        ("passes", 0),
        ("credit", "multilevel"),
        ("alpha", 1.5),
        ("price", -1.0),
        ("entropy", (0.0, 0.1)),
    ],
)
def test_bad_settings_are_named(field: str, value: object):
    with pytest.raises(ConfigError, match=field):
        Stage1Settings(**{field: value})  # type: ignore[arg-type]
