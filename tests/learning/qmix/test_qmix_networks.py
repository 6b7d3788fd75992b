"""The agents' network and the mixers: who learns from whom, and in which direction values go."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.qmix.mixers import NoMixer, QMixer, SumMixer, new_mixer
from hieramas_lib.learning.qmix.networks import AgentNetwork, GraphEncoder
from hieramas_lib.learning.qmix.settings import NetworkSettings

SMALL = NetworkSettings(hidden=8, mixing=6)


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def network(settings: NetworkSettings = SMALL, inputs: int = 5) -> AgentNetwork:
    return AgentNetwork(inputs, settings, seed=0)


@pytest.mark.parametrize(("source", "reader", "other"), [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_information_flows_along_edges(source: int, reader: int, other: int) -> None:
    """In the published network it flows from the reader back to the source."""
    encoder = network().encoder
    adjacency = torch.zeros(1, 3, 3)
    adjacency[0, source, reader] = 1.0
    x = noise(1, 3, 5)
    changed = x.clone()
    changed[0, source] += 1.0
    moved = (encoder(changed, adjacency) != encoder(x, adjacency)).any(dim=-1)[0]
    assert moved[source] and moved[reader] and not moved[other]
    changed = x.clone()
    changed[0, reader] += 1.0
    moved = (encoder(changed, adjacency) != encoder(x, adjacency)).any(dim=-1)[0]
    assert moved[reader] and not moved[source] and not moved[other]


def test_two_layers_reach_two_edges_far() -> None:
    chain = torch.tensor([[[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]])
    x = noise(1, 4, 5)
    changed = x.clone()
    changed[0, 0] += 1.0
    encoder = network().encoder
    moved = (encoder(changed, chain) != encoder(x, chain)).any(dim=-1)[0]
    assert moved.tolist() == [True, True, True, False]


def test_what_is_taken_up_is_the_mean_of_those_who_were_read() -> None:
    """Three sources with equal features are as one of them."""
    encoder = network().encoder
    one, three = torch.zeros(1, 4, 4), torch.zeros(1, 4, 4)
    one[0, 0, 3] = 1.0
    three[0, :3, 3] = 1.0
    x = noise(1, 1, 5).expand(1, 4, 5)
    assert torch.allclose(encoder(x, one)[0, 3], encoder(x, three)[0, 3], atol=1e-6)


def test_agents_are_told_apart_by_their_features_alone() -> None:
    """Renumbering the agents renumbers their values: the weights are shared."""
    x, adjacency, order = noise(1, 2, 4, 5), (noise(1, 2, 4, 4) > 0).float(), [2, 0, 3, 1]
    renumbered = adjacency[:, :, order][:, :, :, order]
    values = network()(x, adjacency)
    assert torch.allclose(network()(x[:, :, order], renumbered), values[:, :, order], atol=1e-6)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 6))
@settings(deadline=None, max_examples=15)
def test_whole_episodes_are_the_steps_one_by_one(episodes: int, steps: int, agents: int) -> None:
    x = noise(episodes, steps, agents, 5)
    adjacency = (noise(episodes, steps, agents, agents, seed=1) > 0).float()
    net = network().eval()
    together, memory = net(x, adjacency), net.start(episodes, agents)
    assert together.shape == (episodes, steps, agents, 6)
    for step in range(steps):
        values, memory = net.step(x[:, step], adjacency[:, step], memory)
        assert torch.allclose(values, together[:, step], atol=1e-5)


def test_memory_carries_the_first_step_to_the_second() -> None:
    x, adjacency = noise(1, 2, 3, 5), torch.zeros(1, 2, 3, 3)
    changed = x.clone()
    changed[0, 0] += 1.0
    assert not torch.equal(network()(x, adjacency)[0, 1], network()(changed, adjacency)[0, 1])


def test_dropout_in_training_only_and_from_its_own_generator() -> None:
    net = network(NetworkSettings(hidden=8, mixing=6, dropout=0.5))
    x, adjacency = noise(1, 1, 3, 5), torch.zeros(1, 1, 3, 3)
    before = torch.get_rng_state()
    assert not torch.equal(net.train()(x, adjacency), net(x, adjacency))
    assert torch.equal(net.eval()(x, adjacency), net(x, adjacency))
    assert torch.equal(before, torch.get_rng_state())


def test_sizes_of_the_published_networks() -> None:
    """The published encoder has 238,080 weights, with one layer norm for both layers."""

    def count(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    net = AgentNetwork(51, NetworkSettings(hidden=128, mixing=64), seed=0)
    assert count(net.encoder) == 238_080 + 2 * 128
    assert (count(net.memory), count(net.head)) == (99_072, 8_646)
    assert count(QMixer(3, 156, NetworkSettings(mixing=64), seed=0)) == 56_897


def test_every_weight_gets_a_gradient() -> None:
    net, mixer = network(), new_mixer(3, 4, SMALL, seed=1)
    x, adjacency = noise(8, 2, 3, 5), (noise(8, 2, 3, 3) > 0).float()
    total = mixer(net(x, adjacency).mean(dim=-1), noise(8, 2, 4))
    total.square().sum().backward()
    for module in (net, mixer):
        for name, weight in module.named_parameters():
            assert weight.grad is not None and weight.grad.abs().max() > 0, name


@given(st.integers(1, 6), st.integers(0, 1000), st.floats(0.1, 50.0))
@settings(deadline=None, max_examples=60)
def test_monotone_in_every_agents_value(agents: int, seed: int, scale: float) -> None:
    """For random weights of any size, not only those at the start."""
    mixer = QMixer(agents, 4, SMALL, seed=seed)
    for weight in mixer.parameters():
        weight.data = scale * noise(*weight.shape, seed=seed)
    values = (scale * noise(5, agents, seed=seed + 1)).requires_grad_()
    total = mixer(values, scale * noise(5, 4, seed=seed + 2))
    (slope,) = torch.autograd.grad(total.sum(), values)
    assert (slope >= 0).all()


def test_slopes_are_those_of_finite_differences() -> None:
    mixer, state = QMixer(3, 4, SMALL, seed=0).double(), noise(1, 4).double()
    values = noise(1, 3, seed=1).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: mixer(v, state), (values,))


def test_the_state_decides_how_much_each_agent_counts() -> None:
    mixer, values = QMixer(2, 4, SMALL, seed=0), torch.zeros(2, 2, requires_grad=True)
    state = torch.stack([noise(4), noise(4, seed=9)])
    (slope,) = torch.autograd.grad(mixer(values, state).sum(), values)
    assert not torch.allclose(slope[0], slope[1])


def test_a_mixer_by_hand() -> None:
    """All weights 1 or -1 and no biases: |W1| = 1, so hidden = q1 + q2 and Q = ELU(q1 + q2)."""
    mixer = QMixer(2, 1, NetworkSettings(hidden=2, mixing=1), seed=0)
    for name, weight in mixer.named_parameters():
        weight.data.fill_(0.0 if "bias" in name else -1.0 if ".2." in name else 1.0)
    one = torch.tensor([[1.0]])
    assert mixer(torch.tensor([[2.0, 1.0]]), one).item() == pytest.approx(3.0)
    below = mixer(torch.tensor([[-2.0, 1.0]]), one).item()
    assert below == pytest.approx(torch.tensor(-1.0).expm1().item())


def test_sum_and_no_mixer_behind_the_same_interface() -> None:
    values, state = noise(4, 2, 3), noise(4, 2, 5)
    shapes = [QMixer(3, 5, SMALL, seed=0)(values, state).shape]
    shapes += [SumMixer()(values, state).shape, NoMixer()(values, state).shape]
    assert shapes == [(4, 2, 1), (4, 2, 1), (4, 2, 3)]
    assert torch.equal(SumMixer()(values, state), values.sum(dim=-1, keepdim=True))
    forms = [new_mixer(3, 5, NetworkSettings(mixer=m), seed=0) for m in ("qmix", "vdn")]  # type: ignore[arg-type]
    assert [type(form) for form in forms] == [QMixer, SumMixer]


def test_starting_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = GraphEncoder(5, SMALL, 0), network().state_dict()
    torch.manual_seed(2)
    assert all(torch.equal(a, b) for a, b in zip(first[1].values(), network().state_dict().values(),
                                                 strict=True))  # fmt: skip
    other = AgentNetwork(5, SMALL, seed=1).state_dict()
    assert not torch.equal(first[1]["memory.weight_ih"], other["memory.weight_ih"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("hidden", 1), ("layers", 0), ("mixing", 0), ("mixer", "x"), ("dropout", 1)],
)
def test_bad_sizes_are_named(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        NetworkSettings(**{field: value})  # type: ignore[arg-type]
