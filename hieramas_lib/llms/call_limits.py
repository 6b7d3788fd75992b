"""What a call passes before it goes out: its LLM's concurrency, the budget, the rate."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from hieramas_lib.llms.attempts import Attempts
from hieramas_lib.llms.budget import Budget, Reservation
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.rate import Rate

_LOOK_AGAIN_S = 0.05
"""Wait for a budget that calls of another event loop or service hold."""


class CallLimits:
    """The limits as one event loop sees them: semaphores cannot be shared between loops.

    Args:
        pool: The LLMs, with their concurrency.
        budget: Shared by all loops; None for none.
        rates: Shared by all loops, by the name of the LLM; those without one have no limit.
    """

    def __init__(self, pool: LLMPool, budget: Budget | None, rates: Mapping[str, Rate]) -> None:
        self.budget = budget
        self.rates = rates
        self.gates = {spec.name: asyncio.Semaphore(spec.max_concurrency) for spec in pool.llms}
        self.reserved = 0
        self.call_ended = asyncio.Event()

    def admit(self, spec: LLMSpec, request: ChatRequest, max_attempts: int) -> "Admission":
        """Return a call's way through the limits; ``max_attempts`` is how often it may be sent."""
        return Admission(self, spec, request, max_attempts)


class Admission:
    """A call's way through the limits: ``async with`` waits for its turn, and charges it after.

    Attributes:
        max_attempts: How often it may be sent.
        attempts: How often it was; to be counted while it is under way.
        answer: Set it when there is one.

    Raises:
        BudgetExceeded: the call could pass a limit, and may not go out.
    """

    def __init__(
        self, limits: CallLimits, spec: LLMSpec, request: ChatRequest, max_attempts: int
    ) -> None:
        self._limits = limits
        self._spec, self._request = spec, request
        self.max_attempts = max_attempts
        self._held: Reservation | None = None
        self.attempts = Attempts()
        self.answer: Completion | None = None

    @property
    def unanswered(self) -> int:
        """Attempts that may have been billed and left no answer."""
        return self.attempts.billable - (self.answer is not None)

    async def __aenter__(self) -> Self:
        gate = self._limits.gates[self._spec.name]
        await gate.acquire()
        try:
            if self._limits.budget:
                await self._reserve(self._limits.budget)
            await self._wait_for_turn()
        except BaseException:
            self._free()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._free()

    async def _reserve(self, budget: Budget) -> None:
        """Hold room for the call, waiting for calls in flight if they hold too much of it."""
        limits = self._limits
        while (held := budget.reserve(self._spec, self._request, self.max_attempts)) is None:
            if limits.reserved:
                limits.call_ended.clear()
                await limits.call_ended.wait()
            else:
                await asyncio.sleep(_LOOK_AGAIN_S)
        limits.reserved += 1
        self._held = held

    async def _wait_for_turn(self) -> None:
        """Wait as the LLM's rate asks; not at all if the time is over by then."""
        rate = self._limits.rates.get(self._spec.name)
        if rate is None:
            return
        wait_s = rate.take()
        if self._limits.budget:
            self._limits.budget.check_time(wait_s)
        await asyncio.sleep(wait_s)

    def _free(self) -> None:
        limits = self._limits
        limits.gates[self._spec.name].release()
        if limits.budget is None or self._held is None:
            return
        limits.budget.settle(self._held, self.answer, self.unanswered)
        limits.reserved -= 1
        limits.call_ended.set()
