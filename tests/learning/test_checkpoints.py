"""A training that is stopped and resumed equals one that never stopped, to the last bit."""

import asyncio
from dataclasses import replace

import pytest
import torch
from toy_teams import always, encoder, roles, service, toy_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.checkpoints import Checkpoints
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import (
    NO_PRIOR,
    ActionSpace,
    PaperHead,
    PolicyLearner,
    PolicyPrior,
    match_policy,
)
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.learning.stage1 import train_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.tensor_file import read_tensors
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.topology import Topology

SETTINGS = Stage1Settings(passes=2, batch=3, group=2)  # four batches of six rollouts


class Stop(Exception):
    """Somebody pulled the plug."""


def train(folder=None, *, form="match", stop_after=None, settings=SETTINGS, seed=0, **changes):
    """Train on six questions, from scratch as a new process would; return policy and history."""
    prices = changes.get("prices", {})
    llms = service({"x": always("A"), "y": always("B"), "z": always("C")}, prices)
    graphs = GraphPool(2, (Topology(2, ()), Topology(2, ((0, 1),))))
    space = TeamSpace(
        roles(), ActionSpace(llms.pool.names, width=1), graphs, changes.get("decision", "z")
    )
    tasks = toy_tasks(6, changes.get("golds", "AB"))
    if form == "match":
        policy = match_policy(space.actions, changes.get("prior", NO_PRIOR), space.roles)
    else:
        head = PaperHead(space.actions, torch.eye(4, 64), seed=0, hidden=8)
        policy = PolicyLearner(space.actions, head, NO_PRIOR, space.roles)
    done = []

    def on_step(step):
        done.append(step)
        if len(done) == stop_after:
            raise Stop

    featurizer = Featurizer(encoder(), space.roles, tasks)
    checkpoints = Checkpoints(folder) if folder else None
    work = train_policy(
        policy, space, tasks, llms, featurizer, settings, seed, on_step, checkpoints
    )
    try:
        history = asyncio.run(work)
    except Stop:
        return None, done
    return policy, history


@pytest.mark.parametrize("form", ["match", "paper"])
@pytest.mark.parametrize("stop_after", [1, 2, 3, 4])
def test_stopped_after_any_batch_and_resumed(tmp_path, form: str, stop_after: int):
    whole, expected = train(form=form)
    train(tmp_path, form=form, stop_after=stop_after)
    resumed, history = train(tmp_path, form=form)
    assert history == expected and len(history) == 4
    for name, weight in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], weight), name


def test_stopped_after_every_batch(tmp_path):
    whole, expected = train()
    steps = []
    for _ in range(4):
        _, done = train(tmp_path, stop_after=1)
        steps += done
    assert steps == expected
    resumed, history = train(tmp_path, stop_after=1)  # there is nothing left to do
    assert history == expected
    assert all(
        torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True)
    )


def test_resumed_weights_do_differ_from_those_of_the_checkpoint(tmp_path):
    """The tests above would also pass if training stood still."""
    train(tmp_path, stop_after=2)
    before, _ = read_tensors(Checkpoints(tmp_path).path)
    resumed, _ = train(tmp_path)
    assert not torch.equal(before["policy.head.bias"], resumed.state_dict()["head.bias"])


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("settings.learning_rate", {"settings": replace(SETTINGS, learning_rate=0.02)}),
        ("settings.passes", {"settings": replace(SETTINGS, passes=3)}),
        ("seed", {"seed": 1}),
        ("train", {"golds": "A"}),
        ("space.decision", {"decision": "x"}),
        ("llms", {"prices": {"x": 2.0}}),
        ("policy", {"prior": PolicyPrior(), "form": "paper"}),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, name: str, changes: dict):
    train(tmp_path, stop_after=1)
    with pytest.raises(ConfigError, match=rf"stage1\.safetensors: {name}: .* now"):
        train(tmp_path, **changes)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    train(tmp_path, stop_after=1)
    path = Checkpoints(tmp_path).path
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ConfigError, match="damaged"):
        train(tmp_path)
