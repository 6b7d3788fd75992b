"""What a search may spend: a limit that is never passed, whatever a call turns out to cost."""

import asyncio
from typing import Final

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError
from hieramas_lib.llms.budget import worst_case_usd
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.service import LLMService

LIMIT: Final = "the search's own limit"


class PurseEmpty(BudgetExceeded):
    """A call was not made, as it could have passed the limit of the search."""


class Purse:
    """Sends calls on as long as even their worst case fits, calls in flight counted at theirs.

    A call that fits only without those in flight waits for one of them to end. Costs are counted
    as if nothing were cached. So a search that is run again, from the cache or with other
    latencies, ends where it ended before, but for the last call that just fits or just does not.
    A call that failed may have been billed and counts at its worst case.

    Args:
        llms: Where calls go.
        limit: In usual calls of the pool's reference LLM.

    Raises:
        ConfigError: an LLM of the pool has no price, so that no limit can hold.
    """

    def __init__(self, llms: LLMService, limit: float) -> None:
        unpriced = [spec.name for spec in llms.pool.llms if spec.price is None]
        if unpriced:
            raise ConfigError(
                f"spend: {', '.join(unpriced)} have no price, so a limit cannot hold: give them "
                "`price:` in the pool file"
            )
        self._llms = llms
        self._unit = llms.pool.reference_cost
        self._limit_usd = limit * self._unit
        self._spent_usd = self._held_usd = 0.0
        self._in_flight = 0
        self._ended = asyncio.Event()

    @property
    def spent(self) -> float:
        """What was spent so far, in reference calls."""
        return self._spent_usd / self._unit

    def affords(self, cost: float) -> bool:
        """Say whether ``cost`` more reference calls would stay within the limit."""
        return self._spent_usd + cost * self._unit <= self._limit_usd

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``.

        Raises:
            PurseEmpty: the call could pass the limit, and was not made.
            Exception: what the service raises.
        """
        worst = worst_case_usd(self._llms.pool[request.model], request)
        while self._spent_usd + self._held_usd + worst > self._limit_usd:
            if not self._in_flight or self._spent_usd + worst > self._limit_usd:
                raise PurseEmpty(f"{LIMIT}: {self.spent:.1f} reference calls are spent", "usd")
            self._ended.clear()
            await self._ended.wait()
        self._held_usd += worst
        self._in_flight += 1
        try:
            completion = await self._llms.complete(request)
        except CallError:
            self._spent_usd += worst
            raise
        else:
            cost = completion.cost_usd
            self._spent_usd += worst if cost is None else cost
        finally:
            self._held_usd -= worst
            self._in_flight -= 1
            self._ended.set()
        return completion
