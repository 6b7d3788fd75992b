"""What holds for every method that learns a graph over plain agents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from graph_world import AGENT, Paired, graph_world, worth
from pydantic import TypeAdapter

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.methods.fixed_graphs import FixedGraph, FixedGraphSettings, random_graphs
from hieramas_lib.methods.gdesigner import GDesigner, GDesignerSettings
from hieramas_lib.methods.gdesigner_code import GDesignerCode, GDesignerCodeSettings
from hieramas_lib.methods.graph_learner import GraphLearner
from hieramas_lib.methods.gtd import GTD, GTDSettings
from hieramas_lib.methods.run import run
from hieramas_lib.methods.topodim import TopoDIM, TopoDIMSettings

LLM = "qwen3-8b"


@dataclass(frozen=True)
class Case:
    """A learner with settings for a few questions."""

    make: Callable[..., GraphLearner]
    small: Any

    def on(self, bench: Benchmark, seed: int = 0) -> GraphLearner:
        return self.make(bench.space, bench.llms, bench.encoder, self.small, seed)


CASES = {
    "GDesigner": Case(GDesigner, GDesignerSettings(LLM, passes=1, group=2)),
    "GDesigner, their code": Case(GDesignerCode, GDesignerCodeSettings(LLM)),
    "TopoDIM": Case(TopoDIM, TopoDIMSettings(LLM, passes=1, group=2)),
    "GTD": Case(GTD, GTDSettings(LLM, random_graphs=1, epochs=2, candidates=20)),
}
each_learner = pytest.mark.parametrize("name", list(CASES))


def bench_of(benchmark: str = "maths", seed: int = 0) -> Benchmark:
    return open_benchmark(
        benchmark, difficulty="hard", seed=seed, graphs=12, width=2, decision="gemma-3-27b"
    )


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
@each_learner
def test_fit_and_answer_on_every_benchmark(name: str, benchmark: str):
    bench = bench_of(benchmark)
    learned = CASES[name].on(bench)
    assert learned.name == name
    run(learned.fit(bench.train[:8]))
    roles = len(bench.space.roles.roles)
    for rollout, task in zip(run(answer_all(learned, bench.test[:4])), bench.test, strict=False):
        assert rollout.task_id == task.id
        if all(call.readable for call in rollout.calls):  # an empty message is not delivered
            assert rollout.requested_edges == rollout.delivered_edges
        assert len(rollout.requested_edges) == len(learned.team(task).topology.edges)
        assert rollout.usage.calls == roles + 1
        assert {call.llm for call in rollout.calls[:-1]} == {LLM}


@each_learner
def test_two_runs_with_one_seed_learn_the_same(name: str):
    """At 1 and 64 slots; another seed learns something else."""
    outcomes = []
    for slots, seed in ((1, 5), (64, 5), (64, 6)):
        bench = bench_of()
        learned = CASES[name].on(bench, seed)
        run(learned.fit(bench.train[:8]))
        rollouts = run(answer_all(learned, bench.test[:8], slots=slots))
        weights = learned.tensors()
        outcomes.append((learned.history, [r.to_json() for r in rollouts], weights))
    first, again, other = outcomes
    assert first[:2] == again[:2]
    assert all(torch.equal(tensor, again[2][key]) for key, tensor in first[2].items())
    assert any(not torch.equal(tensor, other[2][key]) for key, tensor in first[2].items())


@each_learner
def test_what_was_learned_can_be_taken_out_and_put_back(name: str):
    bench = bench_of()
    learned, other = CASES[name].on(bench), CASES[name].on(bench)
    learned.start(bench.train)
    with pytest.raises(ConfigError, match="call fit"):
        learned.tensors()
    with pytest.raises(ConfigError, match="call fit"):
        other.team(bench.test[0])
    run(learned.fit(bench.train[:8]))
    other.restore(learned.tensors())
    for key, tensor in learned.tensors().items():
        assert torch.equal(tensor, other.tensors()[key])
    ours, theirs = (run(answer_all(m, bench.test[:6])) for m in (learned, other))
    assert [r.to_json() for r in ours] == [r.to_json() for r in theirs]
    with pytest.raises(ConfigError, match="not the weights of this method"):
        other.restore({"network.roles": torch.zeros(2, 2)})


@each_learner
def test_training_is_booked(name: str):
    """Every call of every training rollout is in the ledger, at its price."""
    bench = bench_of()
    learned = CASES[name].on(bench)
    run(learned.fit(bench.train[:8]))
    total = bench.llms.store.totals()
    rollouts = learned.history[-1].rollouts
    assert total.calls == rollouts * (len(bench.space.roles.roles) + 1)
    if name == "GTD":  # one batch, so that its mean cost is that of all
        spent = learned.history[0].cost * rollouts * bench.reference_cost
        assert total.as_if_usd == pytest.approx(spent)


@each_learner
def test_an_unknown_llm_is_refused_before_anything_is_paid(name: str):
    bench = bench_of()
    case = CASES[name]
    with pytest.raises(ConfigError, match="llm: 'nobody' is not in the pool"):
        case.make(bench.space, bench.llms, bench.encoder, type(case.small)("nobody"), 0)


@each_learner
def test_settings_can_be_written_and_read(name: str):
    adapter = TypeAdapter(type(CASES[name].small))
    assert adapter.validate_json(adapter.dump_json(CASES[name].small)) == CASES[name].small


def test_trained_beats_untrained_in_one_world():
    """Deterministic; five worlds with intervals are in the slow test below."""
    world = graph_world(0)
    settings = GDesignerSettings(AGENT, passes=2)
    learned = GDesigner(world.space, world.llms, world.encoder, settings, 0)
    learned.start()
    untrained = worth(learned, world).mean()
    run(learned.fit(world.train))
    assert worth(learned, world).mean() > untrained + 0.1


LEARNERS = {
    "GDesigner": (GDesigner, GDesignerSettings(AGENT)),
    "TopoDIM": (TopoDIM, TopoDIMSettings(AGENT)),
    "GTD": (GTD, GTDSettings(AGENT)),
    "GDesigner, their code": (GDesignerCode, GDesignerCodeSettings(AGENT)),
}


STARTS = 5
"""Untrained forms a world: the graph of one alone is a lot drawn, good or bad by luck."""


@pytest.mark.slow
def test_each_learner_beats_its_untrained_form_in_five_worlds(record_property):
    """By more than the paired interval over seeds; nothing is asserted of the published code."""
    rows, gains = [], {}
    worlds = [graph_world(seed) for seed in range(5)]
    for shape in ("full", "chain", "star"):
        settings = FixedGraphSettings(AGENT, shape)
        u = [worth(FixedGraph(w.space, w.llms, settings), w).mean() for w in worlds]
        rows.append(f"{settings.shape:22} {np.mean(u):.3f}")
    draws = [random_graphs(w.space, w.llms, AGENT, seed) for seed, w in enumerate(worlds)]
    u = [worth(m, w).mean() for w, three in zip(worlds, draws, strict=True) for m in three]
    rows.append(f"{'random, 3 draws':22} {np.mean(u):.3f}")
    for name, (make, settings) in LEARNERS.items():
        own, before, after = [], [], []
        for seed, world in enumerate(worlds):
            untrained = []
            for start in range(STARTS):
                learned = make(world.space, world.llms, world.encoder, settings, seed + 100 * start)
                learned.start()
                untrained.append(worth(learned, world).mean())
            learned = make(world.space, world.llms, world.encoder, settings, seed)
            run(learned.fit(world.train))
            own.append(untrained[0])
            before.append(np.mean(untrained))
            after.append(worth(learned, world).mean())
        gains[name] = Paired.of(list(np.subtract(after, before)))
        rows.append(
            f"{name:22} {np.mean(after):.3f}, untrained {np.mean(before):.3f}, gain "
            f"{gains[name]}, over its own start {Paired.of(list(np.subtract(after, own)))}, "
            f"{learned.history[-1].rollouts} rollouts"
        )
    record_property("table: utility in the graph world (simulated, 5 seeds)", "\n".join(rows))
    for name in ("GDesigner", "TopoDIM", "GTD"):
        assert gains[name].mean > gains[name].half, name
