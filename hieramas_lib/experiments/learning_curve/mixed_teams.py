"""Replay many simulated teams at once, each another team on one question.

``teams.symbolic`` replays one team on many questions, which is what a search needs. A learner
draws another team for every rollout. The rules and the tables are the same: without the luck of
single calls, both give what teams do with texts (tests hold this one against the text path).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.learning_curve.mixed_tables import Tables
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.teams.oracle.estimate import Results
from hieramas_lib.teams.symbolic.answers import AnswerCodes, Codes
from hieramas_lib.teams.team import Reads

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Teams:
    """N teams of R roles with P positions, one question each.

    Attributes:
        task: Which question, ``[N]``.
        actions: LLM of each position, or the number of LLMs for SKIP, ``[N, R, P]``; the
            synthesizer is last.
        edges: Whether the column reads the row, ``[N, R, R]``, pruned roles included.
        order: Nodes so that nobody comes before whom it reads, ``[N, R]``.
    """

    task: Indices
    actions: Indices
    edges: Flags
    order: Indices


@dataclass(frozen=True)
class Replies:
    """What became of N teams.

    Attributes:
        decision: Codes of the final answers, ``[N]``.
        nodes: Codes of the roles' messages, ``[N, R]``; that of a pruned role means nothing.
        node_cost: Of each role, ``[N, R]``, in reference calls.
        decision_cost: Of the last call, ``[N]``.
    """

    decision: Codes
    nodes: Codes
    node_cost: Floats
    decision_cost: Floats

    @property
    def results(self) -> Results:
        """Right or wrong, and cost: one repetition of N questions."""
        cost = self.node_cost.sum(axis=1) + self.decision_cost
        return Results((self.decision == 0).astype(np.float64)[None], cost[None])


@dataclass
class _Read:
    """What N readers have before them: votes by answer, texts read, and their tokens."""

    votes: NDArray[np.int64]
    texts: Floats
    tokens: Floats

    def plus(self, other: "_Read") -> "_Read":
        return _Read(self.votes + other.votes, self.texts + other.texts, self.tokens + other.tokens)


class MixedTeams:
    """Teams over one set of questions, see :class:`Teams`."""

    def __init__(
        self, tables: Tables, settings: WorldSettings, decision: int, reads: Reads = "all"
    ) -> None:
        """Fix the questions (by ``tables``), and which LLM decides upon reading whom."""
        self._tables, self._settings = tables, settings
        self._decision, self._reads = decision, reads
        self._kind = settings.difficulty[tables.codes.kind]
        self._right, self._own, self._other = (
            np.array([getattr(reader, name) for reader in tables.readers])
            for name in ("right", "own", "other")
        )
        self._production = np.array([reader.production for reader in tables.readers])

    @property
    def codes(self) -> AnswerCodes:
        """What replies are written as."""
        return self._tables.codes

    def replay(self, teams: Teams, rng: np.random.Generator) -> Replies:
        """Run ``teams``; equal generators give every seat equal luck, whoever sits there."""
        count, roles, positions = teams.actions.shape
        skip, rows = len(self._tables.price[0]), np.arange(count)
        luck = rng.standard_normal((roles * positions + 1, count))
        blank = rng.random((roles * positions + 1, count))
        empty = self._tables.codes.empty
        nodes = np.full((count, roles), empty, np.int8)
        cost = np.zeros((count, roles))
        kept = teams.actions[:, :, -1] != skip
        for step in range(roles):
            node = teams.order[:, step]
            acts, chosen = kept[rows, node], teams.actions[rows, node]
            read = self._messages(teams.task, nodes, teams.edges[rows, :, node])
            own = _nothing(read)
            for place in range(positions - 1):
                asked = acts & (chosen[:, place] != skip)
                seat = node * positions + place
                replies, paid = self._ask(
                    teams.task, np.where(asked, chosen[:, place], 0), node, read, read.texts > 0,
                    luck[seat, rows], blank[seat, rows],
                )  # fmt: skip
                replies = np.where(asked, replies, empty)
                cost[rows, node] += np.where(asked, paid, 0.0)
                own = own.plus(self._texts(teams.task, replies, node))
            seat = node * positions + positions - 1
            replies, paid = self._ask(
                teams.task, np.where(acts, chosen[:, -1], 0), roles + node, read.plus(own),
                own.texts > 0, luck[seat, rows], blank[seat, rows],
            )  # fmt: skip
            nodes[rows, node] = np.where(acts, replies, empty)
            cost[rows, node] += np.where(acts, paid, 0.0)
        read = self._messages(teams.task, nodes, self._informants(teams.edges, kept))
        last = np.full(count, self._decision)
        seats = np.full(count, 2 * roles)
        decision, paid = self._ask(
            teams.task, last, seats, read, read.texts > 0, luck[-1], blank[-1]
        )
        return Replies(decision, nodes, cost, paid)

    def _informants(self, edges: Flags, kept: Flags) -> Flags:
        if self._reads == "all":
            return kept
        readers: Flags = edges & kept[:, None, :]
        informants: Flags = kept & np.logical_not(np.any(readers, axis=2))
        return informants

    def _messages(self, task: Indices, nodes: Codes, given: Flags) -> _Read:
        """Gather the messages ``given`` to each reader, ``[N, R]``."""
        roles = nodes.shape[1]
        parts = [
            self._texts(
                task, np.where(given[:, node], nodes[:, node], self._tables.codes.empty),
                np.full(len(task), roles + node),
            )
            for node in range(roles)
        ]  # fmt: skip
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        return total

    def _texts(self, task: Indices, replies: Codes, seat: Indices) -> _Read:
        """Return what one text for each reader holds; nothing if it is empty."""
        tables = self._tables
        there = replies != tables.codes.empty
        tokens = tables.visible[tables.duty[seat], replies, task] + tables.frame[seat]
        return _Read(
            votes=(replies == np.arange(tables.codes.count)[:, None]).astype(np.int64),
            texts=there.astype(np.float64),
            tokens=np.where(there, tokens, 0.0),
        )

    def _ask(
        self, task: Indices, llm: Indices, seat: Indices, read: _Read, decisive: Flags,
        luck: Floats, blank: Floats,
    ) -> tuple[Codes, Floats]:  # fmt: skip
        """Return the replies of one call for each team, and what they cost."""
        tables, rows = self._tables, np.arange(len(task))
        duty, own = tables.duty[seat], tables.own[llm, task].astype(np.intp)
        margin = tables.margin[llm, seat, task] + self._kind.call_noise * luck
        margin += self._production[duty] - self._settings.reading.fatigue * read.texts
        margin += self._right[duty, read.votes[0]]
        most = read.votes[1:].max(axis=0)
        loudest = read.votes[1:].argmax(axis=0) + 1
        mine, theirs = self._own[duty, read.votes[own, rows]], self._other[duty, most]
        wrong = np.where(theirs > mine, loudest, own)
        replies = np.where(margin > np.maximum(mine, theirs), 0, wrong)
        rate = self._settings.replies.blank_rate
        replies = np.where(blank < rate, tables.codes.empty, replies)
        replies = np.where(blank < rate / 2, tables.codes.mute, replies).astype(np.int8)
        prompt = tables.prompt[decisive.astype(np.intp), seat, task] + read.tokens
        billed = tables.billed[llm, duty, replies, task]
        return replies, tables.price[0, llm] * prompt + tables.price[1, llm] * billed


def _nothing(like: _Read) -> _Read:
    return _Read(np.zeros_like(like.votes), np.zeros_like(like.texts), np.zeros_like(like.tokens))
