"""A spending limit that calls are held to before they are made."""

import threading
from dataclasses import dataclass

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.pool import LLMSpec

_TOKENS_PER_MESSAGE = 16
"""Allowance for the marks that a chat template puts around a message."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room held for one call in flight."""

    usd: float


class Budget:
    """Limits on the calls made through one service, in US dollars, in calls, or both.

    A call reserves its worst case before it goes out: all attempts that the SDK may make, each
    with as many tokens as it can have. So the limit holds at any concurrency. After it, a call
    is charged what it cost. One that failed is charged all that it reserved, as every attempt
    may have been billed (a timeout does not stop the provider's work), unless the server
    refused it. Attempts that failed before an answer came are not known and not charged.

    Cached answers cost nothing here. Simulated calls count at the pool's prices: a simulated
    run rehearses the limit of a paid one.

    Raises:
        ConfigError: a limit is negative.
    """

    def __init__(self, usd: float | None = None, calls: int | None = None) -> None:
        for name, limit in (("usd", usd), ("calls", calls)):
            if limit is not None and not limit >= 0:
                raise ConfigError(f"budget: {name} must be at least 0, got {limit!r}")
        self.usd = usd
        self.calls = calls
        self._lock = threading.Lock()
        self._spent = self._reserved = 0.0
        self._made = self._in_flight = 0

    @property
    def spent_usd(self) -> float:
        """US dollars of the calls that ended; one of unknown cost counts at its worst case."""
        return self._spent

    @property
    def made(self) -> int:
        """Calls that ended with an answer, or may have been billed without one."""
        return self._made

    def check(self, spec: LLMSpec) -> None:
        """Make sure that calls of ``spec`` can be held to the limit.

        Raises:
            ConfigError: there is a limit in dollars and the LLM has no price.
        """
        if self.usd is not None and spec.price is None:
            raise ConfigError(
                f"LLM {spec.name!r} has no price, so a budget in dollars cannot hold: give it "
                "`price:` in the pool file, or limit the run by `calls` instead"
            )

    def reserve(self, spec: LLMSpec, request: ChatRequest, attempts: int = 1) -> Reservation | None:
        """Hold room for a call at its worst case; None if calls in flight hold it at present.

        They will not use all of it, as a rule: try again when one of them has ended.

        Args:
            spec: The LLM.
            request: The call.
            attempts: How often it may be sent.

        Raises:
            BudgetExceeded: the call could pass a limit whatever the calls in flight will cost.
            ConfigError: see :meth:`check`.
        """
        self.check(spec)
        usd = 0.0 if self.usd is None else attempts * worst_case_usd(spec, request)
        with self._lock:
            if self.calls is not None and self._made >= self.calls:
                raise BudgetExceeded(f"limit of {self.calls} calls reached")
            if self.usd is not None and self._spent + usd > self.usd:
                raise BudgetExceeded(
                    f"a call of {spec.name} could cost up to ${usd:.6f} in {attempts} attempts, "
                    f"and ${self._spent:.6f} of ${self.usd:.6f} is spent"
                )
            if self.calls is not None and self._made + self._in_flight >= self.calls:
                return None
            if self.usd is not None and self._spent + self._reserved + usd > self.usd:
                return None
            self._reserved += usd
            self._in_flight += 1
        return Reservation(usd)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Charge a call that ended; None, an unknown cost, is all that was reserved for it."""
        with self._lock:
            self._free(reservation)
            self._made += 1
            self._spent += reservation.usd if cost_usd is None else cost_usd

    def release(self, reservation: Reservation) -> None:
        """Give back the room of a call that was not billed."""
        with self._lock:
            self._free(reservation)

    def _free(self, reservation: Reservation) -> None:
        self._in_flight -= 1
        # With nothing in flight the sum is 0 exactly, whatever rounding left behind.
        self._reserved = self._reserved - reservation.usd if self._in_flight else 0.0


def worst_case_usd(spec: LLMSpec, request: ChatRequest) -> float:
    """Return the most that one attempt can cost in US dollars at the price of ``spec``.

    A prompt has at most one token a byte with the byte-level tokenisers in use; four bytes a
    token is usual English, so the bound is loose, but it is a bound.
    """
    prompt = sum(
        len(m.content.encode(errors="surrogatepass")) + _TOKENS_PER_MESSAGE
        for m in request.messages
    )
    return spec.cost(prompt, spec.token_limit(request)) or 0.0
