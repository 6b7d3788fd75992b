"""Common random numbers: what is drawn anew whenever a call is made again.

Every seat of a team (a position of a role, or the decision) has draws of its own, the same ones
whichever LLM sits there and whatever team it belongs to. Two teams that differ in one seat are
thus compared under equal luck everywhere else.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Seat = tuple[int, int]
"""Node and place: 0 is the synthesizer, w is proposer w, counted from 1."""


class CallNoise:
    """Draws of shape ``[draws * tasks]``, repetition by repetition."""

    def __init__(self, draws: int, tasks: int, seed: int, blank_rate: float) -> None:
        self._size = draws * tasks
        self._seed = seed
        self._blank_rate = blank_rate
        self._normals: dict[Seat, Floats] = {}
        self._blanks: dict[Seat, tuple[Flags, Flags] | None] = {}

    def normal(self, seat: Seat) -> Floats:
        """Return standard normal draws for the calls of ``seat``."""
        if seat not in self._normals:
            rng = np.random.default_rng((self._seed, 0, *seat))
            self._normals[seat] = rng.standard_normal(self._size)
        return self._normals[seat]

    def blanks(self, seat: Seat) -> tuple[Flags, Flags] | None:
        """Return where a reply is mute and where it is empty; None if nowhere."""
        if seat not in self._blanks:
            rng = np.random.default_rng((self._seed, 1, *seat))
            draws = rng.random(self._size)
            rate = self._blank_rate
            mute, empty = draws < rate / 2, (draws >= rate / 2) & (draws < rate)
            self._blanks[seat] = (mute, empty) if (mute | empty).any() else None
        return self._blanks[seat]
