"""What was used through a call store: two totals always, paid now and as if uncached."""

from array import array
from dataclasses import dataclass
from math import fsum

from hieramas_lib.llms.chat import Completion


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the calls used.

    Attributes:
        calls: Calls used, cached ones included.
        made: Calls that went out to a client and came back.
        paid_usd: US dollars paid now to a provider; simulated and local calls pay nothing.
        as_if_usd: US dollars the calls used would have cost without a cache.
        unpriced: Calls used whose price is unknown: both sums are then "at least".
        prompt_tokens, completion_tokens: Tokens of the calls used.
        misses: Requests looked up in the store and not found there; counted while it is open.
    """

    calls: int = 0
    made: int = 0
    paid_usd: float = 0.0
    as_if_usd: float = 0.0
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    misses: int = 0

    @property
    def hits(self) -> int:
        """Calls answered from the store."""
        return self.calls - self.made


class Tally:
    """Counts towards :class:`Totals`; not safe for threads by itself."""

    def __init__(self) -> None:
        self.misses = 0
        self._calls = self._made = self._unpriced = 0
        self._prompt_tokens = self._completion_tokens = 0
        # Kept one by one: fsum gives the same total in whatever order the calls ended.
        self._paid, self._as_if = array("d"), array("d")

    def add(self, call: Completion, *, made: bool, paid: bool, times: int = 1) -> None:
        """Count a call that was used ``times`` times, and whether it was made and paid for."""
        self._calls += times
        self._made += made
        self._prompt_tokens += call.prompt_tokens * times
        self._completion_tokens += call.completion_tokens * times
        if call.cost_usd is None:
            self._unpriced += times
            return
        self._as_if.append(call.cost_usd * times)
        if paid:
            self._paid.append(call.cost_usd)

    def totals(self) -> Totals:
        """Sum what was counted so far."""
        return Totals(
            calls=self._calls,
            made=self._made,
            paid_usd=fsum(self._paid),
            as_if_usd=fsum(self._as_if),
            unpriced=self._unpriced,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            misses=self.misses,
        )
