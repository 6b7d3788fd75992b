"""GDesigner as its paper has it, and as its code runs."""

from dataclasses import replace

import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.learning.edge_sampling import draw_edges, likely_first
from hieramas_lib.learning.role_graphs import matrix, shaped
from hieramas_lib.methods.gdesigner import (
    GDesigner,
    GDesignerNetwork,
    GDesignerSettings,
    GDesignerWeights,
    Sketch,
)
from hieramas_lib.methods.gdesigner_code import (
    GDesignerCode,
    GDesignerCodeNetwork,
    GDesignerCodeSettings,
)
from hieramas_lib.methods.run import run

LLM = "qwen3-8b"


def bench_of() -> Benchmark:
    return open_benchmark(
        "knowledge", difficulty="hard", seed=0, graphs=12, width=2, decision="gemma-3-27b"
    )


def paper(bench: Benchmark, **settings) -> GDesigner:
    how = GDesignerSettings(LLM, **{"passes": 1, "group": 2, **settings})
    return GDesigner(bench.space, bench.llms, bench.encoder, how, 0)


def code(bench: Benchmark) -> GDesignerCode:
    return GDesignerCode(bench.space, bench.llms, bench.encoder, GDesignerCodeSettings(LLM), 0)


def some_vectors(rows: int, seed: int = 0, dim: int = 384) -> torch.Tensor:
    vectors = torch.randn(rows, dim, generator=torch.Generator().manual_seed(seed))
    return vectors / vectors.norm(dim=1, keepdim=True)


def toy_network(roles: int = 4) -> GDesignerNetwork:
    return GDesignerNetwork(some_vectors(roles), matrix(shaped("chain", roles)), seed=0)


@pytest.mark.parametrize("term", ["policy", "anchor", "sparsity", "kl"])
def test_every_loss_term_has_a_gradient_on_all_that_it_is_about(term: str):
    """The published code has none of these terms but the first, and none reaches its decoder."""
    network = toy_network()
    generator = torch.Generator().manual_seed(0)
    sketch = network(some_vectors(3, seed=1), generator)
    drawn = draw_edges(sketch.logits, likely_first(sketch.logits), generator)
    loss = {
        "policy": lambda: drawn.log_prob(sketch.logits).sum(),
        "anchor": lambda: network.anchor_loss(sketch),
        "sparsity": lambda: network.sparsity_loss(sketch),
        "kl": lambda: network.kl_loss(sketch),
    }[term]()
    loss.backward()
    for name, parameter in network.named_parameters():
        if term == "kl" and name.startswith("decoder"):
            assert parameter.grad is None  # the divergence is of the encoder alone
        else:
            assert parameter.grad.abs().sum() > 0, name


def test_loss_terms_by_hand():
    """Two roles, S = 1/2 for both edges; the chain has 0 -> 1 only."""
    network = toy_network(2)
    sketch = Sketch(torch.zeros(1, 2, 2), torch.ones(1, 3, 16), torch.zeros(1, 3, 16))
    assert network.anchor_loss(sketch).item() == pytest.approx(0.5 * 0.25)
    assert network.sparsity_loss(sketch).item() == pytest.approx((0.5 + 0.5) / 2)
    assert network.kl_loss(sketch).item() == pytest.approx(0.5)


@pytest.mark.parametrize("weight", ["anchor", "sparsity", "kl"])
def test_every_weight_changes_what_is_learned(weight: str):
    learned = []
    for value in (0.0, 1.0):
        bench = bench_of()
        method = paper(bench, weights=replace(GDesignerWeights(0.0, 0.0, 0.0), **{weight: value}))
        run(method.fit(bench.train[:8]))
        learned.append(method.tensors()["network.hidden.weight"])
    assert not torch.equal(*learned)


def test_the_anchor_term_alone_rebuilds_the_anchor():
    network, queries = toy_network(), some_vectors(3, seed=1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    for _ in range(100):
        optimizer.zero_grad()
        network.anchor_loss(network(queries, None)).backward()
        optimizer.step()
    logits = network(queries, None).logits
    graphs = draw_edges(logits, likely_first(logits), None).topologies()
    assert graphs == [shaped("chain", 4)] * 3


def test_all_weights_are_trained():
    bench = bench_of()
    method = paper(bench)
    before = {name: p.clone() for name, p in method.untrained().named_parameters()}
    run(method.fit(bench.train[:16]))
    for name, parameter in method.network.named_parameters():
        assert (parameter != before[name]).any(), name


def test_at_test_nothing_is_drawn_and_edges_are_those_above_one_half():
    bench = bench_of()
    method = paper(bench)
    run(method.fit(bench.train[:16]))
    for task in bench.test[:5]:
        probable = method.edge_probabilities(task) > 0.5
        edges = method.team(task).topology.edges
        assert edges == method.team(replace(task, id="another id")).topology.edges
        assert all(probable[edge] for edge in edges)
        # What is more probable than not and missing would have closed a cycle.
        missing = {(u, v) for u, v in probable.nonzero().tolist()} - set(edges)
        for edge in missing:
            with pytest.raises(ConfigError, match="cycle"):
                replace(method.team(task).topology, edges=(*edges, edge))


def test_scores_have_a_direction_and_no_limit():
    """Of the published scores neither is true."""
    logits = toy_network()(some_vectors(1, seed=1), None).logits[0]
    assert not torch.allclose(logits, logits.T)
    network = toy_network()
    with torch.no_grad():
        network.decoder[-1].bias += 5.0
    assert network(some_vectors(1, seed=1), None).logits.sigmoid().min() > 0.95


def test_published_network_has_the_published_size():
    network = GDesignerCodeNetwork(some_vectors(5), matrix(shaped("chain", 5)), seed=0)
    convolutions = sum(p.numel() for p in network.convolutions.parameters())
    decoder = sum(p.numel() for p in network.decoder.parameters())
    assert (convolutions, decoder) == (18_832, 6_432)


def test_published_scores_are_symmetric_and_never_sure():
    bench = bench_of()
    method = code(bench)
    run(method.fit(bench.train[:8]))
    for task in bench.test[:5]:
        probable = method.edge_probabilities(task)
        assert torch.allclose(probable, probable.T, atol=1e-6)
        off_diagonal = probable[~torch.eye(8, dtype=torch.bool)]
        assert off_diagonal.min() >= 0.2689
        assert off_diagonal.max() <= 0.7311


def test_published_decoder_is_never_trained():
    bench = bench_of()
    method = code(bench)
    before = method.untrained().state_dict()
    run(method.fit(bench.train))
    for name, tensor in method.network.state_dict().items():
        if "decoder" in name:
            assert torch.equal(tensor, before[name]), name
        elif "convolutions" in name:
            assert not torch.equal(tensor, before[name]), name


def test_published_training_sees_the_first_forty_questions_and_whole_batches_only():
    bench = bench_of()
    first, other = code(bench), code(bench)
    run(first.fit(bench.train))
    run(other.fit([*bench.train[:40], *bench.train[:40:-1]]))
    assert first.history[-1].rollouts == 40
    assert all(torch.equal(t, other.tensors()[name]) for name, t in first.tensors().items())
    run(other.fit(bench.train[:7]))
    assert other.history[-1].rollouts == 4


def test_published_edges_that_close_a_cycle_are_left_out_and_counted():
    """Row by row, each pair of roles has an edge in declared direction first."""
    bench = bench_of()
    method = code(bench)
    run(method.fit(bench.train[:40]))
    assert all(step.refused > 5 for step in method.history)
    forwards = backwards = 0
    for task in bench.test[:40]:
        for u, v in method.team(task).topology.edges:
            forwards, backwards = forwards + (u < v), backwards + (u > v)
    assert forwards > 2 * backwards


def test_published_choice_is_still_drawn_at_test():
    """The same for the same question and seed, another one under another id."""
    bench = bench_of()
    method = code(bench)
    run(method.fit(bench.train[:8]))
    task = bench.test[0]
    graphs = {method.team(replace(task, id=f"id {i}")).topology.id for i in range(10)}
    assert len(graphs) == 10
    assert method.team(task) == method.team(task)


def test_settings_name_the_field_that_is_wrong():
    for fields, message in (
        ({"group": 1}, "group: at least 2"),
        ({"anchor": "ring"}, "anchor: 'ring'"),
        ({"passes": 0}, "passes: at least 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            GDesignerSettings(LLM, **fields)
    with pytest.raises(ConfigError, match="kl: at least 0"):
        GDesignerWeights(kl=-1.0)
    with pytest.raises(ConfigError, match="dropout: below 1"):
        GDesignerCodeSettings(LLM, dropout=1.0)
