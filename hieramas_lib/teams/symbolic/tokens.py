"""Tokens that the prompts and replies of a simulated team would have, without their texts.

Counts of parts add up to the count of the whole, as parts are set apart by line breaks, which no
piece of text spans. So the prompt of a call is the sum of its system message, its task, its
closing line and, for each message or proposal, frame and reply. A reply's wording is drawn apart
from everything else; here stands its mean over the wordings, and the mean over lengths of the
tokens that the LLM is said to have written. Costs are linear in tokens, so that the expected cost
of a call is exact, given who answered what.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Duty, Header, Position, Section, Style
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.simulated_lengths import draw_length
from hieramas_lib.llms.simulated_plans import write_plan
from hieramas_lib.llms.simulated_texts import write_answer, write_blank
from hieramas_lib.llms.tokens import count_tokens
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import Length
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.prompts import (
    CHARACTERS_PER_TOKEN,
    EDGE_TOKENS,
    Context,
    Prompt,
    alone_messages,
    prompt_set,
)
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.symbolic.answers import AnswerCodes

Floats = NDArray[np.float64]

_WORDINGS: Final = tuple((i + 0.5) / 6 for i in range(6))
"""Draws that pick each phrase of a list of 1, 2, 3 or 6 equally often."""

_DRAWS: Final = 4096
"""Evenly spaced draws over which a length is averaged."""

_MUTE: Final = write_blank(0.75)
"""The blank reply that can be read."""


class TokenCounts:
    """Token counts of one role set on the tasks of ``codes``."""

    def __init__(self, codes: AnswerCodes, roles: RoleSet, world: World) -> None:
        self._codes, self._roles, self._world = codes, roles, world
        self._visible: dict[tuple[Duty, Style], NDArray[np.int64]] = {}
        self._replies: dict[tuple[Duty, Style], Floats] = {}
        self._written: dict[tuple[str, Duty, Style], Floats] = {}
        self._prompts: dict[tuple[Header, int, bool], Floats] = {}
        self._message_frames = tuple(
            count_tokens(Section("message", "", source=name).render()) for name in roles.names
        )
        self._proposal_frame = count_tokens(Section("proposal", "", source="1").render())

    def reply(self, duty: Duty, style: Style = "step by step") -> Floats:
        """Return the mean visible tokens of a reply, shape ``[reply codes, tasks]``."""
        key = (duty, style)
        if key not in self._replies:
            self._replies[key] = self._visible_tokens(duty, style).mean(axis=0)
        return self._replies[key]

    def written(self, spec: LLMSpec, duty: Duty, style: Style = "step by step") -> Floats:
        """Return the mean tokens that ``spec`` is billed for, shape ``[reply codes, tasks]``.

        Raises:
            ConfigError: a reply would be cut, which only the text path can follow.
        """
        key = (spec.name, duty, style)
        if key not in self._written:
            self._written[key] = self._bill(spec, duty, style)
        return self._written[key]

    def _bill(self, spec: LLMSpec, duty: Duty, style: Style) -> Floats:
        visible = self._visible_tokens(duty, style)
        if visible.max() > spec.max_tokens:
            raise ConfigError(
                f"{spec.name}: max_tokens {spec.max_tokens} cuts a reply of {visible.max()} tokens;"
                " give it more, or run the teams with texts"
            )
        table = billed_tokens(spec, style, self._world)
        mean: Floats = table[visible].mean(axis=0)
        return mean

    def prompt(self, header: Header, role: int = 0, *, reading: bool = False) -> Floats:
        """Return the tokens of a prompt without messages and proposals, shape ``[tasks]``.

        ``reading`` is whether a synthesizer has proposals, or a decision has messages.
        """
        key = (header, role, reading)
        if key not in self._prompts:
            # What does not belong to the task is the same for all of them.
            written = self._write(header, role, self._codes.tasks[0], reading)
            rest = sum(count_tokens(message.content) for message in written) - self._tasks[0]
            if reading and header.position == "synthesizer":
                rest -= self._proposal_frame
            self._prompts[key] = self._tasks + rest
        return self._prompts[key]

    def frame(self, position: Position, role: int) -> int:
        """Return the tokens around a reply where it is read; 0 for one that nobody reads."""
        if position == "proposer":
            return self._proposal_frame
        return self._message_frames[role] if position == "synthesizer" else 0

    def _write(self, header: Header, role: int, task: Task, reading: bool) -> Prompt:
        """Write a prompt in which only the text of a message or proposal is missing."""
        prompts, context = prompt_set(self._roles), Context.write(task, ())
        if header.position == "proposer":
            return prompts.for_proposer(role, context)
        if header.position == "synthesizer":
            return prompts.for_synthesizer(role, context, [""] if reading else [])
        if header.position == "decision":
            return prompts.for_decision(replace(context, sources=(role,)) if reading else context)
        return alone_messages(task, self._roles, header.style)

    @cached_property
    def _tasks(self) -> Floats:
        """Count the task sections, shape ``[tasks]``."""
        sections = (Section("task", task.statement) for task in self._codes.tasks)
        return np.array([count_tokens(section.render()) for section in sections], np.float64)

    def _visible_tokens(self, duty: Duty, style: Style) -> NDArray[np.int64]:
        """Count each wording of each reply, shape ``[wordings, reply codes, tasks]``."""
        if (duty, style) not in self._visible:
            codes = self._codes
            counts = np.zeros((len(_WORDINGS), codes.replies, len(codes.tasks)), np.int64)
            counts[:, codes.mute] = count_tokens(_MUTE)
            if duty == "planner":
                for code, sound in enumerate((True, False)):
                    plans = (write_plan(task, sound, self._world.seed) for task in codes.tasks)
                    counts[:, code] = [count_tokens(plan) for plan in plans]
            else:
                counts[:, : codes.count] = self._answer_tokens(duty, style)
            self._visible[duty, style] = counts
        return self._visible[duty, style]

    def _answer_tokens(self, duty: Duty, style: Style) -> NDArray[np.int64]:
        """Count each wording of each answer, shape ``[wordings, C, tasks]``; 0 where none is.

        A duty and a wording add the same to every answer, so each is written in one only.
        """
        codes, first = self._codes, _WORDINGS[0]
        sizes = np.zeros((2, codes.count, len(codes.tasks)), np.int64)
        for column, (task, answers) in enumerate(zip(codes.tasks, codes.answers, strict=True)):
            for code, answer in enumerate(answers):
                sizes[:, code, column] = _reply_size(task, answer, "solver", style, first)
        task, gold = codes.tasks[0], codes.answers[0][0]
        worded = [_reply_size(task, gold, duty, style, wording) for wording in _WORDINGS]
        more = np.array(worded) - sizes[:, 0, 0]
        _check_length(codes.tasks, sizes[1].max(axis=0) + more[:, 1].max())
        return np.where(sizes[0] > 0, sizes[0] + more[:, 0, None, None], 0)


def billed_tokens(spec: LLMSpec, style: Style, world: World) -> Floats:
    """Return the mean completion tokens of ``spec`` by visible tokens, 0 to its limit."""
    usual = spec.usual_tokens[style == "step by step"]
    return _billed(usual, world.settings.replies.length[style], spec.max_tokens)


@lru_cache(maxsize=256)
def _billed(usual: int, length: Length, limit: int) -> Floats:
    """Return E[min(max(W, v), limit)] for v = 0 to ``limit``, W being the length as drawn."""
    drawn = np.array([draw_length(usual, length, (i + 0.5) / _DRAWS) for i in range(_DRAWS)])
    capped = np.minimum(drawn, limit)
    return np.array([np.maximum(capped, visible).mean() for visible in range(limit + 1)])


@lru_cache(maxsize=2**15)
def _reply_size(
    task: Task, answer: str, duty: Duty, style: Style, wording: float
) -> tuple[int, int]:
    """Return the tokens and the characters of a reply; worlds share most of them."""
    text = write_answer(task, answer, Header("", "alone", style), duty, wording)
    return count_tokens(text), len(text)


def _check_length(tasks: Sequence[Task], characters: NDArray[np.int64]) -> None:
    """Make sure that every reader gets the longest reply to each of ``tasks`` whole."""
    longest = int(characters.argmax())
    if characters[longest] > EDGE_TOKENS * CHARACTERS_PER_TOKEN:
        raise ConfigError(
            f"task {tasks[longest].id!r}: a reply of {characters[longest]} characters is cut on "
            "its way to a reader; run the teams with texts"
        )
