"""The classifier on graphs of three roles."""

import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.classifier import (
    GraphClassifier,
    ReferenceClassifier,
    new_classifier,
)
from hieramas_lib.learning.features import Features
from hieramas_lib.learning.labels import GraphLabels
from hieramas_lib.learning.stage2 import REFERENCE, Stage2Settings, train_classifier
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

POOL = GraphPool(
    3,
    (
        Topology(3, ()),
        Topology(3, ((0, 1), (1, 2))),
        Topology(3, ((2, 1), (1, 0))),
        Topology(3, ((0, 1), (0, 2), (1, 2))),
    ),
)
ALL = torch.arange(4)[None]


def features(tasks: int, dim: int = 6) -> Features:
    generator = torch.Generator().manual_seed(1)
    return Features(
        query=torch.randn(tasks, dim, generator=generator),
        role=torch.randn(3, dim, generator=generator),
        match=torch.randn(tasks, 3, generator=generator),
    )


def classifier() -> GraphClassifier:
    return GraphClassifier(6, POOL, seed=0)


def kept(*rows: tuple[int, int, int]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.bool)


def test_batched_scores_equal_one_by_one():
    model, batch = classifier(), features(5)
    every = kept(*[(1, 1, 1)] * 5)
    together = model(batch, every, ALL.expand(5, 4))
    for i in range(5):
        one = Features(batch.query[i : i + 1], batch.role, batch.match[i : i + 1])
        for graph in range(4):
            alone = model(one, every[i : i + 1], torch.tensor([[graph]]))
            assert alone.item() == pytest.approx(together[i, graph].item(), abs=1e-5)


def test_direction_of_edges_matters():
    scores = classifier()(features(1), kept((1, 1, 1)), ALL)[0]
    assert abs(scores[1] - scores[2]).item() > 1e-4


def test_messages_flow_along_the_edges():
    """With edge 0 -> 1 alone, changing role 0 must change what role 1 computes, not conversely."""
    pool = GraphPool(2, (Topology(2, ((0, 1),)),))
    model = GraphClassifier(2, pool, seed=0)
    seen: list[torch.Tensor] = []
    model.convolutions[0].register_forward_hook(lambda _m, _i, out: seen.append(out.detach()))
    everyone = kept((1, 1, 1))[:, :2]
    first = torch.tensor([[0]])

    def states(match: list[float]) -> torch.Tensor:
        model(Features(torch.ones(1, 2), torch.eye(2), torch.tensor([match])), everyone, first)
        return seen.pop()[0]

    plain, source_changed, target_changed = states([0, 0]), states([3, 0]), states([0, 3])
    assert not torch.allclose(plain[1], source_changed[1])
    assert torch.allclose(plain[0], target_changed[0])


def test_a_role_knows_whether_anybody_reads_it():
    """Between two otherwise equal roles, edge 0 -> 1 must be seen at role 0 as well."""
    model, twins = classifier(), Features(torch.ones(1, 6), torch.ones(3, 6), torch.zeros(1, 3))
    seen: list[torch.Tensor] = []
    model.score.register_forward_pre_hook(lambda _m, args: seen.append(args[0].detach()))
    states = []
    for edges in ((), ((0, 1),)):
        graph = torch.from_numpy(Topology(3, edges).adjacency()).float()[None, None]
        model.score_edges(twins, kept((1, 1, 1)), graph)
        states.append(seen.pop())
    for module in model.readers:
        torch.nn.init.zeros_(module.weight)
    model.score_edges(twins, kept((1, 1, 1)), graph)
    assert not torch.allclose(states[0], states[1])
    assert not torch.allclose(states[1], seen.pop())


def test_reference_form_averages_against_the_messages():
    """As published: a role sees who reads it; two rounds worked out by hand on numbers 1, 10, 100.

    Chain 0 -> 1 -> 2: 0 averages with 1, 1 with 2, 2 stays: 5.5, 55, 100, then 30.25, 77.5, 100.
    """
    model = ReferenceClassifier(1, GraphPool(3, (Topology(3, ((0, 1), (1, 2))),)), seed=0)
    seen: list[torch.Tensor] = []
    model.embed.register_forward_pre_hook(lambda _m, args: seen.append(args[0].detach()))
    numbers = Features(
        torch.tensor([[7.0]]), torch.tensor([[1.0], [10.0], [100.0]]), torch.zeros(1, 3)
    )
    model(numbers, kept((1, 1, 1)), torch.tensor([[0]]))
    assert seen[0].tolist() == [[[pytest.approx((30.25 + 77.5 + 100) / 3), 7.0]]]


def test_reference_form_trains_every_parameter():
    model = new_classifier("reference", 6, POOL, seed=0)
    model(features(3), kept(*[(1, 1, 1)] * 3), ALL.expand(3, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_reference_settings_train_the_reference_form():
    model, everyone = new_classifier(REFERENCE.form, 6, POOL, seed=0), kept(*[(1, 1, 1)] * 20)
    history = train_classifier(model, features(20), everyone, labelled(20), REFERENCE, seed=0)
    assert isinstance(model, ReferenceClassifier)
    assert history[-1].loss < history[0].loss


def test_pruned_role_passes_nothing_on():
    """Graphs that differ only in edges of a pruned role get equal scores."""
    scores = classifier()(features(1), kept((1, 0, 0)), ALL)[0]
    assert torch.allclose(scores, scores[0].expand(4), atol=1e-6)


def test_every_parameter_receives_gradient():
    model = classifier()
    model(features(3), kept(*[(1, 1, 1)] * 3), ALL.expand(3, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def labelled(tasks: int) -> GraphLabels:
    """Graph 2 is the best one for every question."""
    utility = torch.tensor([0.2, 0.3, 0.9, 0.1]).expand(tasks, 4).clone()
    return GraphLabels(ALL.expand(tasks, 4).clone(), utility, utility > 0.5)


@pytest.mark.parametrize("rule", ["pairwise", "top2"])
def test_training_finds_the_best_graph(rule: str):
    model, batch, everyone = classifier(), features(20), kept(*[(1, 1, 1)] * 20)
    settings = Stage2Settings(rule=rule, epochs=60)  # type: ignore[arg-type]
    history = train_classifier(model, batch, everyone, labelled(20), settings, seed=0)
    chosen = model(batch, everyone, ALL.expand(20, 4)).argmax(dim=1)
    assert (chosen == 2).all()
    assert len(history) == 60
    assert history[-1].loss < history[0].loss


def test_every_question_is_trained_on_once_an_epoch():
    """16 questions to train on in batches of 5: four steps, the last of a single question."""
    model, everyone = classifier(), kept(*[(1, 1, 1)] * 20)
    sizes: list[int] = []
    model.score.register_forward_hook(
        lambda _m, args, _out: sizes.append(len(args[0]) // 4) if torch.is_grad_enabled() else None
    )
    settings = Stage2Settings(epochs=1, batch=5)
    train_classifier(model, features(20), everyone, labelled(20), settings, seed=0)
    assert sizes == [5, 5, 5, 1]


def test_training_is_deterministic():
    def trained() -> torch.Tensor:
        model, everyone = classifier(), kept(*[(1, 1, 1)] * 10)
        train_classifier(model, features(10), everyone, labelled(10), Stage2Settings(), seed=3)
        return model(features(10), everyone, ALL.expand(10, 4))

    assert torch.equal(trained(), trained())


def test_labels_without_information_teach_nothing():
    model, everyone = classifier(), kept(*[(1, 1, 1)] * 10)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    flat = GraphLabels(
        ALL.expand(10, 4).clone(), torch.full((10, 4), 0.5), torch.ones(10, 4, dtype=torch.bool)
    )
    train_classifier(model, features(10), everyone, flat, Stage2Settings(), seed=0)
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_how_badly_a_role_matches_is_seen():
    """A rectified match would make all roles below average look the same."""
    model, batch = classifier(), features(1)
    everyone = kept((1, 1, 1))
    little = Features(batch.query, batch.role, torch.tensor([[1.0, -0.1, -0.1]]))
    much = Features(batch.query, batch.role, torch.tensor([[1.0, -3.0, -2.0]]))
    assert not torch.allclose(model(little, everyone, ALL), model(much, everyone, ALL), atol=1e-3)


def test_held_out_questions_are_not_trained_on():
    """If one half says graph 2 and the held-out half says graph 0, the start stays best or wins."""
    model, everyone = classifier(), kept(*[(1, 1, 1)] * 10)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    held_out = order[:5]
    utility = torch.tensor([0.2, 0.3, 0.9, 0.1]).expand(10, 4).clone()
    utility[held_out] = torch.tensor([0.9, 0.3, 0.2, 0.1])
    labels = GraphLabels(ALL.expand(10, 4).clone(), utility, utility > 0.5)
    settings = Stage2Settings(held_out=0.5, epochs=60)
    history = train_classifier(model, features(10), everyone, labels, settings, seed=0)
    assert history[-1].held_out_utility == pytest.approx(0.2)


def test_a_graph_without_a_verdict_is_not_chosen_for_early_stopping():
    model, everyone = classifier(), kept(*[(1, 1, 1)] * 10)
    some = labelled(10)
    some.utility[:, 3] = float("nan")
    history = train_classifier(model, features(10), everyone, some, Stage2Settings(), seed=0)
    assert all(epoch.held_out_utility == epoch.held_out_utility for epoch in history)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rule", "pairwize"),
        ("form", "gcn"),
        ("graphs_per_task", 1),
        ("batch", 0),
        ("held_out", 0.0),
    ],
)
def test_bad_settings_are_named(field: str, value: object):
    with pytest.raises(ConfigError, match=field):
        Stage2Settings(**{field: value})  # type: ignore[arg-type]


def test_one_question_is_too_few():
    with pytest.raises(ConfigError, match="at least two questions"):
        train_classifier(
            classifier(), features(1), kept((1, 1, 1)), labelled(1), Stage2Settings(), seed=0
        )
