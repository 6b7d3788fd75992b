"""The learner: its loss by hand, its target, and a toy that no constant joint action solves."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.qmix.constant import best_constant
from hieramas_lib.learning.qmix.learner import Memory, QLearner
from hieramas_lib.learning.qmix.observation import Observation
from hieramas_lib.learning.qmix.play import greedy
from hieramas_lib.learning.qmix.replay import Batch, Episode, Replay
from hieramas_lib.learning.qmix.settings import NetworkSettings, TrainingSettings

AGENTS, STEPS = 3, 2
TRAINING = TrainingSettings(episodes=400)
SMALL = NetworkSettings(hidden=32, mixing=16)
TARGETS = ((0, 0, 0), (1, 3, 5))
"""What to do in either context of the toy."""


def seen(context: int, step: int = 0, right: Sequence[bool] = (False,) * AGENTS) -> Observation:
    """A context of two, who is who, the step, and who did right in the step before."""
    own = torch.tensor([[float(step), float(flag)] for flag in right])
    adjacency = torch.zeros(AGENTS, AGENTS)
    adjacency[0, 1] = float(step)
    return Observation(torch.eye(2)[context], torch.cat([torch.eye(AGENTS), own], dim=1), adjacency)


def episode(context: int, joint: Sequence[int], reward: float, steps: int = STEPS) -> Episode:
    return Episode(tuple(seen(context, s) for s in range(steps)), (tuple(joint),) * steps, reward)


def rightness(context: int, joint: Sequence[int]) -> list[bool]:
    return [a == b for a, b in zip(joint, TARGETS[context], strict=True)]


def payoff(context: int, joint: Sequence[int]) -> float:
    """A third for every agent that does the right thing."""
    return sum(rightness(context, joint)) / AGENTS


def play(of: QLearner, context: int, epsilon: float = 0.0, draw: int = 0) -> Episode:
    """Play one episode; it is paid for at its end, for all that was done."""
    decide, right = greedy(of, epsilon, draw), [False] * AGENTS
    steps, actions = [], []
    for step in range(STEPS):
        steps.append(seen(context, step, right))
        actions.append(tuple(decide(steps[-1])))
        right = rightness(context, actions[-1])
    reward = float(np.mean([payoff(context, joint) for joint in actions]))
    return Episode(tuple(steps), tuple(actions), reward)


def learner(network: NetworkSettings = SMALL, seed: int = 0, **training: object) -> QLearner:
    settings = replace(TRAINING, **training)  # type: ignore[arg-type]
    return QLearner(AGENTS, (2, AGENTS + 2), network, settings, seed=seed)


def some_batch(reward: float = 1.0) -> Batch:
    rng = np.random.default_rng(0)
    return Batch.of([episode(i % 2, rng.integers(6, size=AGENTS), reward) for i in range(32)])


def train(of: QLearner, seed: int) -> list[Episode]:
    """Play both contexts in turn and learn."""
    replay, made = Replay(of.training.episodes, STEPS), []
    for number in range(of.training.episodes):
        epsilon = of.training.epsilon_at(number)
        made.append(play(of, number % 2, epsilon, 1000 * seed + number))
        replay.add(made[-1])
        if len(replay) >= of.training.batch:
            of.update(replay.sample(of.training.batch, of.generator))
    return made


def worth(of: QLearner) -> float:
    """What the greedy policy earns, mean over both contexts."""
    return sum(play(of, context).reward for context in (0, 1)) / 2


def test_no_constant_joint_action_solves_the_toy() -> None:
    means = [np.mean([payoff(c, j) for c in (0, 1)]) for j in product(range(6), repeat=AGENTS)]
    assert max(means) == pytest.approx(0.5)


def learned(seed: int, mixer: str = "qmix") -> float:
    of = learner(replace(SMALL, mixer=mixer), seed)  # type: ignore[arg-type]
    before = worth(of)
    train(of, seed)
    assert before < 0.5
    return worth(of)


@pytest.mark.parametrize(
    ("mixer", "least"),
    [
        ("qmix", 1.0),
        pytest.param("vdn", 1.0, marks=pytest.mark.slow),
        pytest.param("independent", 0.75, marks=pytest.mark.slow),
    ],
)
def test_the_toy_is_solved(mixer: str, least: float) -> None:
    """To independent learners, the others' actions are noise; they come near."""
    assert learned(0, mixer) > least - 1e-6


@pytest.mark.slow
def test_the_toy_is_solved_by_qmix_in_nine_of_ten_seeds() -> None:
    assert sum(learned(seed) > 1 - 1e-6 for seed in range(100, 110)) >= 9


def test_the_best_constant_joint_action_is_found_in_the_same_episodes() -> None:
    of = learner()
    made = [play(of, number % 2, 1.0, number) for number in range(600)]
    joint = best_constant(made)
    assert np.mean([payoff(context, joint) for context in (0, 1)]) == pytest.approx(0.5)
    assert best_constant([e for e in made if e.seen[0].task[1] == 1]) == TARGETS[1]


def test_best_constant_by_hand() -> None:
    """(1, 1, 1) is seen often and good; (2, 1, 1) was lucky once, and is held back for that."""
    many = [episode(0, (1, 1, 1), 0.9)] * 40 + [episode(0, (0, 0, 0), 0.1)] * 40
    assert best_constant([*many, episode(0, (2, 1, 1), 1.0)]) == (1, 1, 1)
    with pytest.raises(ValueError, match="no choices"):
        best_constant([])


def test_the_last_step_is_in_the_loss() -> None:
    """In the published code, a last reward of 0 or of 100 gives one and the same loss."""
    of = learner()
    assert of.loss(some_batch(0.0)) != of.loss(some_batch(100.0))
    single = [episode(i % 2, (0, 0, 0), 1.0, steps=1) for i in range(4)]
    assert of.loss(Batch.of(single)) > 0


class Fixed(nn.Module):
    """Values that are given; action a of agent i at step t is worth ``table[t][i][a]``."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        return self.table[: x.shape[1]].expand(x.shape[0], -1, -1, -1)


@pytest.mark.parametrize(("double", "next_value"), [(False, 5.0), (True, 4.0)])
def test_temporal_differences_by_hand(double: bool, next_value: float) -> None:
    """Sums of three agents: Q(s1) = 3 · 0.5, the target is 0.9 · max Q(s2), Q(s2) = 3 · 1, r = 2.

    The target network's best action is 2, worth 5 in all; the online network's is 1, which the
    target network values at 4 in all.
    """
    of = learner(NetworkSettings(mixer="vdn"), gamma=0.9, double=double)
    online, target = torch.zeros(2, 3, 6), torch.zeros(2, 3, 6)
    online[0, :, 0], online[1, :, 0], online[1, :, 1] = 0.5, 1.0, 7.0
    target[1, :, 1], target[1, :, 2] = 4 / 3, 5 / 3
    of.network, of.target_network = Fixed(online), Fixed(target)  # type: ignore[assignment]
    loss = of.loss(Batch.of([episode(0, (0, 0, 0), 2.0)]))
    expected = ((1.5 - 0.9 * next_value) ** 2 + (3.0 - 2.0) ** 2) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_independent_learners_are_each_held_against_the_reward() -> None:
    of = learner(NetworkSettings(mixer="independent"))
    table = torch.tensor([[[0.0] * 6, [1.0] * 6, [3.0] * 6]])
    of.network = of.target_network = Fixed(table)  # type: ignore[assignment]
    loss = of.loss(Batch.of([episode(0, (0, 0, 0), 1.0, steps=1)]))
    assert loss.item() == pytest.approx((1.0 + 0.0 + 4.0) / 3)


def test_padding_changes_nothing() -> None:
    of = learner()
    short = [episode(0, (1, 2, 3), 1.0, steps=1), episode(1, (0, 4, 5), 0.5, steps=1)]
    alone, padded = Batch.of(short), Batch.of([*short, episode(0, (0, 0, 0), 0.0)])
    assert padded.mask.sum(dim=1).tolist() == [1, 1, 2]
    assert torch.allclose(of.loss(alone), of.loss(padded.rows(torch.tensor([0, 1]))))


def test_gradient_is_that_of_finite_differences(request: pytest.FixtureRequest) -> None:
    """For one weight of each layer, in double precision."""
    torch.set_default_dtype(torch.float64)
    request.addfinalizer(lambda: torch.set_default_dtype(torch.float32))
    of, batch = learner(seed=3), some_batch()
    of.loss(batch).backward()
    for weight in [*of.network.parameters(), *of.mixer.parameters()]:
        place = int(weight.grad.abs().argmax())  # type: ignore[union-attr]
        slope, flat = weight.grad.flatten()[place].item(), weight.data.flatten()  # type: ignore[union-attr]
        losses = []
        for step in (1e-6, -1e-6):
            flat[place] += step
            weight.data = flat.view_as(weight)
            losses.append(of.loss(batch).item())
            flat[place] -= step
        weight.data = flat.view_as(weight)
        assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(slope, rel=1e-3, abs=1e-7)


def test_an_update_reaches_every_weight_and_lowers_the_loss() -> None:
    of, batch = learner(), some_batch()
    before, first = [w.clone() for w in of.tensors().values()], of.loss(batch).item()
    for _ in range(30):
        of.update(batch)
    assert of.loss(batch).item() < first
    assert all((a != b).any() for a, b in zip(before, of.tensors().values(), strict=True))


def test_the_target_moves_when_it_is_time_and_not_before() -> None:
    """The published target is the random initial network for the whole of its runs."""
    of, batch = learner(target_period=3), some_batch()
    start = [w.clone() for w in of.target_network.parameters()]

    def moved() -> bool:
        now = of.target_network.parameters()
        return any((a != b).any() for a, b in zip(start, now, strict=True))

    for expected in (False, False, True):
        of.update(batch)
        assert moved() is expected
    pairs = zip(of.network.parameters(), of.target_network.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_a_target_that_would_never_move_is_refused() -> None:
    """200 updates a period, and 43 in all: the published settings for Gemini."""
    with pytest.raises(ConfigError, match=r"only 43.*never move"):
        TrainingSettings(episodes=50, collect=1, updates=1, batch=8, target_period=200)
    published = TrainingSettings(episodes=50, collect=1, updates=1, batch=8)
    assert published.planned_updates == 43
    assert (
        TrainingSettings(episodes=70, collect=8, updates=2, target_period=9).planned_updates == 12
    )


def test_greedy_is_deterministic_even_with_dropout() -> None:
    """The published network is never put in eval mode: equal calls gave 12 joint actions."""
    of = learner(NetworkSettings(hidden=16, mixing=8, dropout=0.5))
    of.update(some_batch())
    joints = {tuple(greedy(of)(seen(1))) for _ in range(50)}
    assert len(joints) == 1
    values = [of.values(seen(1), Memory()) for _ in range(2)]
    assert torch.equal(*values)


def test_exploring_draws_belong_to_the_episode() -> None:
    of = learner()
    drawn = [greedy(of, 1.0, draw)(seen(0)) for draw in range(300)]
    assert drawn == [greedy(of, 1.0, draw)(seen(0)) for draw in range(300)]
    counts = np.bincount(np.array(drawn).ravel(), minlength=6) / 900
    assert np.abs(counts - 1 / 6).max() < 0.05
    best = greedy(of)(seen(0))
    kept = [greedy(of, 0.25, draw)(seen(0)) == best for draw in range(300)]
    assert 0.3 < np.mean(kept) < 0.65  # (0.75 + 0.25 / 6)^3 = 0.50


def test_epsilon_reaches_its_floor_where_it_is_said_to() -> None:
    settings = TrainingSettings(episodes=101, explore=0.5, epsilon=(1.0, 0.2), target_period=2)
    assert settings.epsilon_at(0) == 1.0
    assert settings.epsilon_at(25) == pytest.approx(0.6)
    assert settings.epsilon_at(50) == settings.epsilon_at(100) == pytest.approx(0.2)


def test_the_replay_keeps_the_latest() -> None:
    replay, generator = Replay(4, STEPS), torch.Generator().manual_seed(0)
    for number in range(6):
        replay.add(episode(0, (0, 0, 0), float(number)))
    drawn = replay.sample(4, generator)
    assert sorted(drawn.rewards[:, -1].tolist()) == [2, 3, 4, 5]
    assert drawn.rewards[:, 0].tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="5 episodes"):
        replay.sample(5, generator)
    replay.add(episode(1, (5, 5, 5), 6.0, steps=1))
    assert sorted(replay.sample(4, generator).mask.sum(dim=1).tolist()) == [1, 2, 2, 2]


def test_weights_there_and_back() -> None:
    of, other = learner(seed=1), learner(seed=2)
    of.update(some_batch())
    other.restore(of.tensors())
    assert torch.equal(of.values(seen(1), Memory()), other.values(seen(1), Memory()))
    assert other.loss(some_batch()) != learner(seed=2).loss(some_batch())


@pytest.mark.parametrize(
    ("field", "value"),
    [("episodes", 0), ("replay", 8), ("explore", 0.0), ("epsilon", (1.0, 2.0)), ("gamma", 1.1)],
)
def test_bad_settings_are_named(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        TrainingSettings(**{field: value})  # type: ignore[arg-type]
