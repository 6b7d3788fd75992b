"""TopoDIM: order, kinds of edges, and what of them runs."""

from collections import Counter

import numpy as np
import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.methods.run import run
from hieramas_lib.methods.topodim import TopoDIM, TopoDIMSettings, _Baseline, instructed
from hieramas_lib.methods.topodim_network import (
    KINDS,
    NO_EDGE,
    Scores,
    TopoDIMNetwork,
    TypedDraws,
    draw_typed,
)
from hieramas_lib.teams.prompts import prompt_set
from hieramas_lib.teams.roles import load_roles

LLM = "llama-3.1-8b"
"""Weak, so that a few questions have right and wrong answers."""


def bench_of(benchmark: str = "knowledge") -> Benchmark:
    return open_benchmark(
        benchmark, difficulty="hard", seed=0, graphs=12, width=2, decision="gemma-3-27b"
    )


def method(bench: Benchmark, **settings) -> TopoDIM:
    how = TopoDIMSettings(LLM, **{"passes": 1, "group": 2, **settings})
    return TopoDIM(bench.space, bench.llms, bench.encoder, how, 0)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_draws_come_as_often_as_their_probability_says():
    """Two roles: 2 orders, 4 kinds. Also at another temperature."""
    kinds = torch.tensor([[[0.0] * 4, [1.0, 0.0, -1.0, 0.5]], [[0.0, 2.0, 0.0, 0.0], [0.0] * 4]])
    count = 40_000
    for temperature in (1.0, 2.0):
        one = Scores(torch.tensor([[0.4, -0.4]]), kinds[None]).tempered(temperature)
        scores = Scores(one.order.expand(count, -1), one.kinds.expand(count, -1, -1, -1))
        drawn = draw_typed(scores, generator())
        names = list(map(tuple, torch.cat([drawn.order, drawn.kinds.flatten(1)], 1).tolist()))
        said = dict(zip(names, drawn.log_prob(scores).exp().tolist(), strict=True))
        assert len(said) == 8
        assert sum(said.values()) == pytest.approx(1.0, abs=1e-5)
        for name, times in Counter(names).items():
            assert times / count == pytest.approx(said[name], abs=0.01)


def test_entropy_is_that_of_the_pairs_that_were_drawn():
    """Two roles, 0 before 1: the only pair is uniform over four; the other one is sure."""
    kinds = torch.zeros(1, 2, 2, 4)
    kinds[0, 1, 0, 0] = 50.0
    scores = Scores(torch.zeros(1, 2), kinds)
    drawn = TypedDraws(torch.tensor([[0, 1]]), torch.full((1, 2, 2), NO_EDGE))
    assert drawn.entropy(scores).item() == pytest.approx(np.log(4))


def test_every_parameter_has_a_gradient():
    """The published code sorts the scores of the order, so that nothing teaches its scorer."""
    network = TopoDIMNetwork(4, 8, seed=0)
    scores = network(torch.randn(3, 8, generator=generator()))
    for term in ("reward", "entropy"):
        network.zero_grad()
        drawn = draw_typed(scores, generator())
        loss = drawn.log_prob(scores) if term == "reward" else drawn.entropy(scores)
        loss.sum().backward(retain_graph=True)
        for name, parameter in network.named_parameters():
            if term == "entropy" and name == "order.weight":
                continue  # the bonus is for kinds of edges
            assert parameter.grad.abs().sum() > 0, (term, name)


def test_the_probability_is_of_the_whole_draw_not_of_the_edges_that_are_kept():
    """The published code sums over kept edges: deciding against an edge has no probability."""
    scores = Scores(torch.zeros(1, 3), torch.zeros(1, 3, 3, 4))
    nothing = TypedDraws(torch.tensor([[0, 1, 2]]), torch.full((1, 3, 3), NO_EDGE))
    assert nothing.kept(scores, 2) == [{}]
    assert nothing.log_prob(scores).exp().item() == pytest.approx(1 / 6 * (1 / 4) ** 3)


def test_the_most_probable_edges_of_each_kind_are_kept():
    """Three edges of kind 0 and one of kind 2; 1 -> 2 is the least likely of kind 0."""
    kinds = torch.zeros(1, 4, 4, 4)
    kinds[0, 0, 1, 0], kinds[0, 0, 2, 0], kinds[0, 1, 2, 0] = 3.0, 2.0, 1.0
    drawn = torch.full((1, 4, 4), NO_EDGE)
    drawn[0, 0, 1] = drawn[0, 0, 2] = drawn[0, 1, 2] = 0
    drawn[0, 2, 3] = 2
    draws = TypedDraws(torch.tensor([[0, 1, 2, 3]]), drawn)
    scores = Scores(torch.zeros(1, 4), kinds)
    assert draws.kept(scores, 2) == [{(0, 1): 0, (0, 2): 0, (2, 3): 2}]
    assert draws.kept(scores, 1) == [{(0, 1): 0, (2, 3): 2}]


def test_edges_lead_from_earlier_to_later_roles():
    scores = TopoDIMNetwork(6, 8, seed=0)(torch.randn(50, 8, generator=generator()))
    drawn = draw_typed(scores, generator())
    place = drawn.order.argsort(dim=1)
    for graph, edges in enumerate(drawn.kept(scores, 9)):
        assert edges
        assert all(place[graph, u] < place[graph, v] for u, v in edges)


def test_what_is_kept_is_what_runs():
    bench = bench_of()
    learned = method(bench, edges_per_kind=1)
    run(learned.fit(bench.train[:16]))
    names = bench.space.roles.names
    for task, rollout in zip(bench.test[:6], run(answer_all(learned, bench.test[:6])), strict=True):
        edges = learned.edges(task)
        assert Counter(edges.values()).total() == len(edges) <= len(KINDS)
        assert max(Counter(edges.values()).values()) == 1
        assert set(rollout.requested_edges) == {(names[u], names[v]) for u, v in edges}
        if all(call.readable for call in rollout.calls):
            assert rollout.requested_edges == rollout.delivered_edges
        assert rollout.usage.calls == len(names) + 1


def test_readers_are_told_how_to_treat_a_message():
    roles = load_roles("maths")  # Analyst, Solver, Inspector
    told = instructed(roles, {(0, 1): "conditioned", (0, 2): "debate", (1, 2): "evaluation"})
    before, after = prompt_set(roles).solo, prompt_set(told).solo
    assert before[:2] == after[:2]
    text = after[2].content
    assert "Argue against what the Mathematical Analyst writes" in text
    assert "what the Math Solver writes, evaluate it" in text
    assert roles.names == told.names


def test_training_moves_every_weight():
    bench = bench_of()
    learned = method(bench)
    before = {name: p.clone() for name, p in learned.untrained().named_parameters()}
    run(learned.fit(bench.train[:48]))
    for name, parameter in learned.network.named_parameters():
        assert (parameter != before[name]).any(), name


def test_baselines_by_hand():
    reward = np.array([1.0, 0.0, 0.5, np.nan])
    question = _Baseline(TopoDIMSettings(LLM, group=2))
    assert question(reward).tolist() == [1.0, -1.0, 0.0, 0.0]
    moving = _Baseline(TopoDIMSettings(LLM, group=1, baseline="moving average"))
    assert moving(reward).tolist() == [0.5, -0.5, 0.0, 0.0]
    # 0.9 · 0.5 + 0.1 · 1.0 = 0.55
    assert moving(np.array([1.0, 1.0])).tolist() == pytest.approx([0.45, 0.45])
    assert moving(np.array([np.nan])).tolist() == [0.0]


@pytest.mark.parametrize(
    "changed",
    [
        {"coverage": 0.0},
        {"entropy": 1.0},
        {"temperature": (1.0, 1.0)},
        {"baseline": "moving average"},
    ],
)
def test_every_setting_changes_what_is_learned(changed: dict):
    """On maths: with three roles, not every draw has edges of all kinds."""
    learned = []
    for settings in ({}, changed):
        bench = bench_of("maths")
        trained = method(bench, **settings)
        run(trained.fit(bench.train[:16]))
        learned.append(trained.tensors()["network.kind.0.weight"])
    assert not torch.equal(*learned)


def test_settings_name_the_field_that_is_wrong():
    for fields, message in (
        ({"group": 1}, "group: at least 2"),
        ({"baseline": "none"}, "baseline: 'none'"),
        ({"temperature": (2.0, 0.0)}, "temperature: both"),
        ({"edges_per_kind": 0}, "edges_per_kind: at least 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            TopoDIMSettings(LLM, **fields)
