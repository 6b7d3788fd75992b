"""The calls of one seat of a simulated team, on all questions and repetitions at once."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Duty, Header
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world import World
from hieramas_lib.teams.symbolic.answers import AnswerCodes, Codes
from hieramas_lib.teams.symbolic.noise import CallNoise, Seat
from hieramas_lib.teams.symbolic.reading import Message, choose_codes, reader_of
from hieramas_lib.teams.symbolic.tokens import TokenCounts

Floats = NDArray[np.float64]

MEMORY: Final = 2**27
"""Bytes of replayed calls that are kept, so that teams alike in part are replayed in part."""


@dataclass(frozen=True, slots=True)
class SeatCalls:
    """What a seat replied, and what that cost.

    Attributes:
        serial: Tells replays apart: what is read under equal serials is equal.
        replies: Codes, shape ``[draws * tasks]``, repetition by repetition.
        message: What readers find in them.
        tokens: Mean tokens that they take in a reader's prompt, shape ``[tasks]``.
        read: Share of repetitions with something to read, shape ``[tasks]``.
        cost: In calls of the reference LLM, shape ``[tasks]``.
    """

    serial: int
    replies: Codes
    message: Message
    tokens: Floats
    read: Floats
    cost: Floats


class Abilities:
    """What is the same in every repetition: margins, wrong answers and prices."""

    def __init__(
        self, world: World, pool: LLMPool, codes: AnswerCodes, tokens: TokenCounts
    ) -> None:
        self.world, self.pool, self.codes, self.tokens = world, pool, codes, tokens
        self._margins: dict[tuple[str, Header], Floats] = {}
        self._prices: dict[str, tuple[float, float]] = {}

    def margin(self, llm: str, header: Header) -> Floats:
        """Return the persistent logits of right against own wrong, shape ``[tasks]``."""
        key = (llm, header)
        if key not in self._margins:
            margins = [self.world.margin(llm, task, header) for task in self.codes.tasks]
            self._margins[key] = np.array(margins)
        return self._margins[key]

    def duty(self, header: Header) -> Duty:
        """Return what is asked of a seat, see :meth:`WorldSettings.duty`."""
        return self.world.settings.duty(header)

    def price(self, llm: str) -> tuple[float, float]:
        """Return the price of a prompt and of a completion token, in reference calls.

        Raises:
            ConfigError: it is unknown.
        """
        if llm not in self._prices:
            spec, unit = self.pool[llm], self.pool.reference_cost
            read, written = spec.cost(1.0, 0.0), spec.cost(0.0, 1.0)
            if read is None or written is None:
                raise ConfigError(f"pool {self.pool.name!r}: give {llm!r} a price")
            self._prices[llm] = read / unit, written / unit
        return self._prices[llm]


class CallReplay:
    """Replays calls under one stock of luck, and remembers them."""

    def __init__(self, abilities: Abilities, draws: int, seed: int) -> None:
        self.abilities = abilities
        codes, settings = abilities.codes, abilities.world.settings
        tasks = len(codes.tasks)
        self._shape = (draws, tasks)
        self._noise = CallNoise(draws, tasks, seed, settings.replies.blank_rate)
        self._own: dict[str, tuple[Codes, NDArray[np.intp]]] = {}
        self._serials = count()
        self._memory: OrderedDict[tuple[object, ...], SeatCalls] = OrderedDict()
        # A byte for each reply and for each code it could be, three numbers a task, and objects.
        size = draws * tasks * (codes.replies + 1) + 24 * tasks + 2000
        self._capacity = max(64, MEMORY // size)

    def call(
        self, llm: str, header: Header, seat: Seat, messages: Sequence[SeatCalls] = (),
        proposals: Sequence[SeatCalls] = (),
    ) -> SeatCalls:  # fmt: skip
        """Replay the calls of ``llm`` in ``seat``, which reads ``messages`` and ``proposals``."""
        read = (*messages, *proposals)
        # Role and position go with the seat.
        key = (llm, seat, header.style, *[calls.serial for calls in read])
        if (known := self._memory.get(key)) is not None:
            self._memory.move_to_end(key)
            return known
        decisive = proposals if header.position == "synthesizer" else messages
        prompt = self._prompt(header, seat[0], decisive)
        for calls in read:
            prompt = prompt + calls.tokens
        replies = self._replies(llm, header, seat, [calls.message for calls in read])
        self._memory[key] = calls = self._account(llm, header, seat, replies, prompt)
        if len(self._memory) > self._capacity:
            self._memory.popitem(last=False)
        return calls

    def held(self, header: Header, seat: Seat, replies: Codes) -> SeatCalls:
        """Return calls that cost nothing and replied ``replies``, shape ``[draws * tasks]``."""
        return self._account(None, header, seat, replies, np.zeros(self._shape[1]))

    def _prompt(self, header: Header, node: int, decisive: Sequence[SeatCalls]) -> Floats:
        """Count a prompt without its messages and proposals, shape ``[tasks]``.

        Instructions differ where none of the ``decisive`` texts could be read.
        """
        tokens = self.abilities.tokens
        without = tokens.prompt(header, node)
        if not decisive or header.position == "proposer":
            return without
        unread = 1.0 - decisive[0].read
        for calls in decisive[1:]:
            unread = unread * (1.0 - calls.read)
        reading = tokens.prompt(header, node, reading=True)
        return reading + unread * (without - reading)

    def _replies(self, llm: str, header: Header, seat: Seat, messages: Sequence[Message]) -> Codes:
        abilities = self.abilities
        settings, duty = abilities.world.settings, abilities.duty(header)
        knobs = settings.difficulty[abilities.codes.kind]
        margin = knobs.call_noise * self._noise.normal(seat)
        by_draw = margin.reshape(self._shape)
        by_draw += abilities.margin(llm, header)
        own, seats = self._own_wrong(llm)
        replies = choose_codes(margin, own, seats, messages, reader_of(duty, settings), settings)
        if duty == "planner":
            replies = (replies != 0).astype(np.int8)
        blanks = self._noise.blanks(seat)
        if blanks is not None:
            replies[blanks[0]] = abilities.codes.mute
            replies[blanks[1]] = abilities.codes.empty
        return replies

    def _own_wrong(self, llm: str) -> tuple[Codes, NDArray[np.intp]]:
        if llm not in self._own:
            own = np.tile(self.abilities.codes.own_wrong(llm), self._shape[0])
            self._own[llm] = own, own.astype(np.intp) * own.size + np.arange(own.size)
        return self._own[llm]

    def _account(
        self, llm: str | None, header: Header, seat: Seat, replies: Codes, prompt: Floats
    ) -> SeatCalls:
        """Find what others read in ``replies``, and what they cost."""
        abilities = self.abilities
        codes, duty = abilities.codes, abilities.duty(header)
        found = replies == np.arange(codes.replies, dtype=np.int8)[:, None]
        shares = _mean_over_draws(found.reshape(codes.replies, *self._shape))
        cost = np.zeros(self._shape[1])
        if llm is not None:
            read_price, written_price = abilities.price(llm)
            billed = abilities.tokens.written(abilities.pool[llm], duty, header.style)
            cost = read_price * prompt + written_price * np.add.reduce(shares * billed)
        read = 1.0 - shares[codes.empty]
        visible = np.add.reduce(shares * abilities.tokens.reply(duty, header.style))
        return SeatCalls(
            serial=next(self._serials),
            replies=replies,
            message=self._message(duty, replies, found),
            tokens=visible + read * abilities.tokens.frame(header.position, seat[0]),
            read=read,
            cost=cost,
        )

    def _message(self, duty: Duty, replies: Codes, found: NDArray[np.bool_]) -> Message:
        codes = self.abilities.codes
        empty = found[codes.empty]
        read = (~empty).view(np.int8) if empty.any() else None
        if duty == "planner":
            return Message(None, read, sound=found[0], unsound=found[1])
        if codes.as_read is not None:
            seen = np.vstack([codes.as_read, np.full((2, self._shape[1]), codes.mute, np.int8)])
            column = np.tile(np.arange(self._shape[1]), self._shape[0])
            found = seen[replies, column] == np.arange(codes.replies, dtype=np.int8)[:, None]
        return Message(found[: codes.count].view(np.int8), read)


def _mean_over_draws(found: NDArray[np.bool_]) -> Floats:
    """Average over the middle axis of ``[codes, draws, tasks]``."""
    draws = found.shape[1]
    if draws == 1:  # Several times as fast, and usual.
        return found[:, 0].astype(np.float64)
    total: Floats = np.add.reduce(found, axis=1) / draws
    return total
