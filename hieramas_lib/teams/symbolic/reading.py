"""How simulated readers choose among answers, for many questions and repetitions at once.

The rule of ``llms.simulated_reading.choose_answer`` on codes instead of texts; tests hold the two
against each other. Arrays are flat over (repetition, task).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log2

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.llms.layout import Duty
from hieramas_lib.llms.world_settings import WorldSettings

Floats = NDArray[np.float64]
Bytes = NDArray[np.int8]
Flags = NDArray[np.bool_]

_MOST_VOTES = 127
_RANK_BITS = 7
"""Votes, and the place of a code in their order, fit into 7 bits each."""


@dataclass(frozen=True, slots=True)
class Message:
    """What readers find in one text, for every question and repetition.

    Attributes:
        votes: Shape ``[C, size]``, 1 where the text gives the answer with that code; None for
            plans.
        read: 1 where there is something to read, None if everywhere.
        sound: Where it is a plan that works; None for answers.
        unsound: Where it is a plan that does not.
    """

    votes: Bytes | None
    read: Bytes | None = None
    sound: Flags | None = None
    unsound: Flags | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """How one kind of reader is moved; tables are indexed by the number of votes.

    Attributes:
        production: Logits added to finding the right answer itself.
        right: Logits that votes add to the right answer.
        own: Logits that votes add to the reader's own wrong answer.
        other: Score of any other answer; minus infinity without votes, as it is then unheard of.
    """

    production: float
    right: Floats
    own: Floats
    other: Floats


@lru_cache(maxsize=64)
def _tables(kappa: float, recognition: float, doubt: float) -> tuple[Floats, Floats, Floats]:
    own = np.array([kappa * log2(1 + votes) for votes in range(_MOST_VOTES + 1)])
    right = own + recognition * (np.arange(_MOST_VOTES + 1) > 0)
    other = own - doubt
    other[0] = -inf
    return right, own, other


def reader_of(duty: Duty, settings: WorldSettings) -> Reader:
    """Return how a reader with ``duty`` is moved."""
    reading, checker = settings.reading, settings.checker
    kappa, recognition, production = reading.persuasion, reading.recognition, 0.0
    if duty == "checker":
        production = checker.production
        kappa *= checker.persuasion
        recognition += checker.recognition
    return Reader(production, *_tables(kappa, recognition, reading.doubt))


def choose_codes(
    margin: Floats, own: Bytes, seats: NDArray[np.intp], messages: Sequence[Message],
    reader: Reader, settings: WorldSettings,
) -> Bytes:  # fmt: skip
    """Return the code of the answer with the highest score, shape ``[size]``.

    Args:
        margin: Logits of right against own wrong, call noise included; overwritten.
        own: Code of the reader's own wrong answer.
        seats: Where in flat votes those of ``own`` stand: own * size + position.
        messages: What is read.
        reader: How the reader is moved.
        settings: The world's settings.
    """
    if reader.production:
        margin += reader.production
    if not messages:
        return np.where(margin > 0.0, 0, own).astype(np.int8)
    _move(margin, messages, settings)
    votes = _sum([message.votes for message in messages if message.votes is not None])
    if votes is None:
        return np.where(margin > 0.0, 0, own).astype(np.int8)
    margin += reader.right.take(votes[0])
    best = reader.own.take(votes.take(seats))
    most, code = _loudest(votes)
    score = reader.other.take(most)
    wrong = np.where(score > best, code, own)
    return np.where(margin > np.maximum(best, score), 0, wrong).astype(np.int8)


def _move(margin: Floats, messages: Sequence[Message], settings: WorldSettings) -> None:
    """Add what fatigue and plans do to finding the right answer oneself."""
    knobs = settings.reading
    everywhere = sum(message.read is None for message in messages)
    partly = _sum([message.read for message in messages if message.read is not None])
    margin -= knobs.fatigue * (everywhere if partly is None else everywhere + partly)
    for effect, flags in (
        (knobs.sound_plan, [m.sound for m in messages if m.sound is not None]),
        (knobs.unsound_plan, [m.unsound for m in messages if m.unsound is not None]),
    ):
        if flags:
            margin += effect * np.logical_or.reduce(flags)


def _sum(arrays: Sequence[Bytes]) -> Bytes | None:
    if not arrays:
        return None
    total = arrays[0]
    if len(arrays) > 1:
        total = arrays[0] + arrays[1]
        for array in arrays[2:]:
            total += array
    return total


def _loudest(votes: Bytes) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the most votes of any wrong answer, and the first code that has them.

    Votes and code are packed into one number, so that one maximum finds both. The reader's own
    wrong answer need not be left out: with as many votes as another one it wins anyhow, and so it
    does where votes move nobody.
    """
    size = len(votes)
    packed = votes[1:].astype(np.int16) << _RANK_BITS
    packed += np.arange(size - 1, 0, -1, dtype=np.int16)[:, None]
    top = np.maximum.reduce(packed)
    return top >> _RANK_BITS, size - (top & _MOST_VOTES)
