"""What the agents see: every number by hand."""

import numpy as np
import pytest
import torch
from toy_teams import encoder, roles, toy_tasks

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.qmix.agents import cast
from hieramas_lib.learning.qmix.observation import (
    Observer,
    byte_viewer,
    mixer_state,
    network_input,
    spoken_answer,
    text_viewer,
)
from hieramas_lib.llms.chat import Completion
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import CallRecord, NodeRecord
from hieramas_lib.teams.rounds import Progress

TASK = toy_tasks(1)[0]


def record(role: str, text: str, tokens: int = 100) -> NodeRecord:
    done = Completion(text, "stop", tokens - 10, 10, None, 1.0, False, "")
    return NodeRecord(role, (), CallRecord(role, "synthesizer", "llm", done))


def test_every_number_by_hand() -> None:
    """Three agents before round 2 of 3; the first two said A, the third nothing that counts."""
    members = cast(roles(), 3)
    assert members.roles.names == ("One", "Two", "One 2")
    assert members.origin == (0, 1, 0)
    opening = {
        0: record("One", "Answer: A", 100),
        1: record("Two", "Answer: A", 200),
        2: record("One 2", "?", 300),
    }
    seen = Observer(members, 3, byte_viewer(members))(
        TASK, Progress(1, (opening,), ((0, 1), (2, 1)))
    )
    first = [1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0.5, 0.01, 0, 1 / 3]
    second = [0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0.5, 0.02, 2 / 3, 0]
    third = [0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0.0, 0.03, 0, 1 / 3]
    assert torch.allclose(seen.agents, torch.tensor([first, second, third]))
    assert seen.adjacency.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_tokens_add_up_and_the_last_answer_counts() -> None:
    members = cast(roles(), 2)
    rounds = (
        {0: record("One", "Answer: A"), 1: record("Two", "Answer: B")},
        {0: record("One", "Answer: B", 50), 1: record("Two", "Answer: B", 50)},
    )
    observer = Observer(members, 3, byte_viewer(members))
    before = observer(TASK, Progress(1, rounds[:1], ()))
    after = observer(TASK, Progress(2, rounds, ()))
    assert before.agents[:, 9:12].tolist()[0] == pytest.approx([1, 0, 0.01])
    assert after.agents[:, 9:12].tolist()[0] == pytest.approx([1, 1, 0.015])


def test_before_anything_is_said() -> None:
    members = cast(roles(), 1)
    seen = Observer(members, 1, byte_viewer(members))(TASK, Progress(0, (), ()))
    assert seen.agents[0, -5:].tolist() == [0, 0, 0, 0, 0]
    assert seen.adjacency.tolist() == [[0]]


@pytest.mark.parametrize(("agents", "rounds"), [(1, 1), (3, 2), (10, 3)])
def test_sizes_follow_from_what_is_put_in(agents: int, rounds: int) -> None:
    members = cast(load_roles("choice"), agents)
    observer = Observer(members, rounds, byte_viewer(members))
    seen = observer(TASK, Progress(0, (), ()))
    assert observer.sizes == (seen.task.shape[0], seen.agents.shape[1])
    assert network_input(seen.task, seen.agents).shape == (agents, sum(observer.sizes))
    state = mixer_state(seen.task, seen.agents, seen.adjacency)
    assert state.shape == (observer.sizes[0] + agents * observer.sizes[1] + 1,)


def test_text_view_is_the_vector_and_the_match_of_each_agents_role() -> None:
    tasks, members = toy_tasks(4), cast(roles(), 3)
    featurizer = Featurizer(encoder(), roles(), tasks)
    view = text_viewer(featurizer, members).look(tasks[2])
    features = featurizer([tasks[2]])
    assert torch.equal(view.task, features.query[0])
    one, two = features.match[0].tolist()
    assert view.fit[:, 0].tolist() == [one, two, one]
    assert text_viewer(featurizer, members).widths == (64, 1)


def test_bytes_by_hand() -> None:
    """Byte k counts for number k mod 32, as published; then the length is 1."""
    task = Task("t", "toy", "maths", "s", "a" * 32 + "b", "1")
    view = byte_viewer(cast(roles(), 2)).look(task)
    raw = np.full(32, 97.0)
    raw[0] += 98.0
    assert np.allclose(view.task.numpy(), raw / np.linalg.norm(raw))
    assert view.fit.shape == (2, 0)
    assert view.task.norm().item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "first", "second", "alike"),
    [
        ("choice", "Answer: B", "I think so.\nAnswer: B", True),
        ("choice", "Answer: B", "Answer: C", False),
        ("maths", "Answer: \\boxed{x + 1}", "Answer: \\boxed{x+1}", True),
        ("maths", "Answer: \\boxed{2}", "Answer: \\boxed{3}", False),
    ],
)
def test_who_agrees(kind: str, first: str, second: str, alike: bool) -> None:
    choices = ("a", "b", "c", "d") if kind == "choice" else ()
    task = Task("t", "toy", kind, "s", "p", "B", choices=choices)  # type: ignore[arg-type]
    a, b = spoken_answer(task, first), spoken_answer(task, second)
    assert a is not None and b is not None
    assert (a == b) is alike
    assert spoken_answer(task, "") is None


def test_chosen_roles_in_turn_and_unknown_ones() -> None:
    choice = load_roles("choice")
    members = cast(choice, 5, ("Critic", "Doctor"))
    assert members.roles.names == ("Critic", "Doctor", "Critic 2", "Doctor 2", "Critic 3")
    assert [role.duty for role in members.roles.roles][2] == "checker"
    for count, names, fault in ((0, (), "agents"), (2, ("Cook",), "no role Cook")):
        with pytest.raises(ConfigError, match=fault):
            cast(choice, count, names)
