"""What the agents see when they choose, and what the mixer sees.

Of the task: a text vector, or the published byte hash. Of each agent: who it is, the round, its
last answer, what it has read and written so far, its place in the graph of the round before, and
how well its role matches the task. Sizes follow from what is put in; none is written down.

The state that the mixer sees is all of that, *before* the actions are taken: the published code
reads it afterwards, and so shows the mixer what was chosen.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.qmix.agents import Cast
from hieramas_lib.llms.layout import Duty
from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.parsing import parse_program
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rounds import Progress

TOKEN_UNIT = 10_000
"""Tokens are seen as multiples of this number."""

BYTES_READ, BYTE_SLOTS = 128, 32
"""The published task features: so many bytes of the text, hashed into so many numbers."""

_SAID, _DEGREES = 3, 2


@dataclass(frozen=True, slots=True)
class Observation:
    """What is seen before a round.

    Attributes:
        task: Features of the task, the same for all agents, ``[task]``.
        agents: Features of each agent, ``[agents, own]``.
        adjacency: 1 where the column's agent read the row's in the round before,
            ``[agents, agents]``.
    """

    task: Tensor
    agents: Tensor
    adjacency: Tensor


@dataclass(frozen=True, slots=True)
class TaskView:
    """Features of a task ``[task]``, and of each agent with regard to it ``[agents, fit]``."""

    task: Tensor
    fit: Tensor


@dataclass(frozen=True, slots=True)
class Viewer:
    """Looks at a task.

    Attributes:
        widths: How many numbers it gives of a task, and of each agent with regard to it.
        look: Gives them.
    """

    widths: tuple[int, int]
    look: Callable[[Task], TaskView]


def text_viewer(featurizer: Featurizer, cast: Cast) -> Viewer:
    """Return a viewer that sees text vectors, and how well each agent's role matches the task."""
    origin = torch.tensor(cast.origin)

    def view(task: Task) -> TaskView:
        features = featurizer([task])
        return TaskView(features.query[0], features.match[0, origin][:, None])

    return Viewer((featurizer.state()["role"].shape[1], 1), view)


def byte_viewer(cast: Cast) -> Viewer:
    """Return a viewer that sees the first 128 bytes of the task's text, as published.

    Byte k is added to number k mod 32; the 32 numbers are then scaled to length 1. They tell how a
    text begins, not what it is about.
    """

    def view(task: Task) -> TaskView:
        raw = np.frombuffer(task.statement.encode(errors="replace")[:BYTES_READ], dtype=np.uint8)
        padded = np.zeros(BYTES_READ, dtype=np.float32)
        padded[: len(raw)] = raw / 255.0
        slots = padded.reshape(-1, BYTE_SLOTS).sum(axis=0)
        slots /= np.linalg.norm(slots) or 1.0
        return TaskView(torch.from_numpy(slots), torch.zeros(cast.size, 0))

    return Viewer((BYTE_SLOTS, 0), view)


class Observer:
    """Makes the :class:`Observation` of a task and of what has been said about it.

    Args:
        cast: The agents.
        rounds: Number of rounds, T.
        viewer: Looks at the task.

    Attributes:
        sizes: How many numbers are seen of a task, and of an agent.
    """

    def __init__(self, cast: Cast, rounds: int, viewer: Viewer) -> None:
        self._cast, self._rounds = cast, rounds
        self._view = lru_cache(maxsize=4096)(viewer.look)
        duties = get_args(Duty)
        held = [duties.index(role.duty) for role in cast.roles.roles]
        self._who = torch.cat([torch.eye(cast.size), torch.eye(len(duties))[held]], dim=1)
        task, fit = viewer.widths
        self.sizes = (task, self._who.shape[1] + rounds + _SAID + _DEGREES + fit)

    def __call__(self, task: Task, progress: Progress) -> Observation:
        """Return what is seen before the round that is about to begin."""
        view, size = self._view(task), self._cast.size
        adjacency = torch.zeros(size, size)
        for u, v in progress.edges:
            adjacency[u, v] = 1.0
        degrees = torch.stack([adjacency.sum(dim=0), adjacency.sum(dim=1)], dim=1) / size
        now = torch.zeros(size, self._rounds)
        now[:, progress.round] = 1.0
        said = torch.tensor(_said(task, progress, size))
        agents = torch.cat([self._who, now, said, degrees, view.fit], dim=1)
        return Observation(view.task, agents, adjacency)


def network_input(task: Tensor, agents: Tensor) -> Tensor:
    """Return what each agent's network sees, ``[..., agents, task + own]``.

    ``task`` is ``[..., task]`` and ``agents`` ``[..., agents, own]``.
    """
    shared = task[..., None, :].expand(*agents.shape[:-1], task.shape[-1])
    return torch.cat([shared, agents], dim=-1)


def mixer_state(task: Tensor, agents: Tensor, adjacency: Tensor) -> Tensor:
    """Return what the mixer sees, ``[..., task + agents · own + 1]``; the last is the density."""
    density = adjacency.mean(dim=(-2, -1))[..., None]
    return torch.cat([task, agents.flatten(-2), density], dim=-1)


def _said(task: Task, progress: Progress, size: int) -> list[list[float]]:
    """For each agent: whether it answered, how many others agree, and its tokens so far."""
    last = progress.records[-1] if progress.records else {}
    texts = {agent: record.synthesis.text for agent, record in last.items()}
    answers = {agent: spoken_answer(task, text) for agent, text in texts.items()}
    given = [answer for answer in answers.values() if answer is not None]
    rows = []
    for agent in range(size):
        answer = answers.get(agent)
        alike = 0.0 if answer is None else given.count(answer) - 1
        used = [r[agent].usage for r in progress.records if agent in r]
        tokens = sum(u.prompt_tokens + u.completion_tokens for u in used)
        rows.append([float(answer is not None), alike / max(1, size - 1), tokens / TOKEN_UNIT])
    return rows


@lru_cache(maxsize=65536)
def spoken_answer(task: Task, text: str) -> str | None:
    """Return the answer in ``text`` in a form in which equal ones are equal; None without one.

    Programs are compared without their layout; expressions letter by letter but for spaces, so
    that 1/2 and 0.5 count as different: good enough to see whether agents agree.
    """
    answer = extract_answer(task, text)
    if answer is None or task.kind == "choice":
        return answer
    if task.kind == "maths":
        return "".join(answer.split())
    return ast.dump(parse_program(answer))
