"""Limits on what may be used, which calls are held to before they are made."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hieramas_lib.errors import BudgetExceeded, BudgetLimit, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMSpec

_TOKENS_PER_MESSAGE = 16
"""Allowance for the marks that a chat template puts around a message."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room held for one call in flight: US dollars and tokens of an attempt at its worst."""

    usd: float
    tokens: int
    attempts: int = 1


class Budget:
    """Limits on the calls made through one service, in any of four units.

    A call reserves its worst case before it goes out: all attempts that the SDK may make, each
    with as many tokens as it can have. So the limits hold at any concurrency, as far as the
    prices in the pool file do. After it, a call is charged what its answer used, and the worst
    case for each attempt that left no answer and may have been billed all the same (a timeout
    does not stop the provider's work); :mod:`~hieramas_lib.llms.provider_http` says which those
    are.

    Time is counted from the first call, and no call goes out after the limit; one under way then
    is let come to its end, as it is paid for. So a run ends at most one call later.

    Cached answers use nothing here. Simulated calls count at the pool's prices: a simulated
    run rehearses the limit of a paid one.

    Args:
        usd: US dollars.
        calls: Calls, failed ones that may have been billed included.
        tokens: Tokens read and written together.
        seconds: Wall-clock seconds from the first call on.
        clock: Gives the time in seconds.

    Raises:
        ConfigError: a limit is negative.
    """

    def __init__(
        self,
        usd: float | None = None,
        calls: int | None = None,
        *,
        tokens: int | None = None,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = {"usd": usd, "calls": calls, "tokens": tokens, "seconds": seconds}
        for name, limit in limits.items():
            if limit is not None and not limit >= 0:
                raise ConfigError(f"budget: {name} must be at least 0, got {limit!r}")
        self.usd = usd
        self.calls = calls
        self.tokens = tokens
        self.seconds = seconds
        self._clock = clock
        self._began: float | None = None
        self._lock = threading.Lock()
        # Fractions, as sums of floats could pass a limit by their rounding.
        self._spent = self._reserved = Fraction(0)
        self._used_tokens = self._reserved_tokens = 0
        self._made = self._in_flight = self._unpriced = 0

    @property
    def spent_usd(self) -> float:
        """US dollars of the calls that ended; one of unknown cost counts at its worst case."""
        return float(self._spent)

    @property
    def used_tokens(self) -> int:
        """Tokens of the calls that ended; one of unknown count counts at its worst case."""
        return self._used_tokens

    @property
    def made(self) -> int:
        """Calls that ended with an answer, or may have been billed without one."""
        return self._made

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first call; 0 before it."""
        return 0.0 if self._began is None else self._clock() - self._began

    def check(self, spec: LLMSpec) -> None:
        """Make sure that calls of ``spec`` can be held to the limits.

        Raises:
            ConfigError: there is a limit in dollars and the LLM has no price.
        """
        if self.usd is not None and spec.price is None:
            raise ConfigError(
                f"LLM {spec.name!r} has no price, so a budget in dollars cannot hold: give it "
                "`price:` in the pool file, or limit the run by `calls` or `tokens` instead"
            )

    def check_time(self, ahead_s: float = 0.0) -> None:
        """Make sure that a call may go out ``ahead_s`` seconds from now.

        Raises:
            BudgetExceeded: the time is over by then.
        """
        if self.seconds is not None and self.elapsed_s + ahead_s >= self.seconds:
            self._stop("seconds", f"limit of {self.seconds:g} s reached")

    def reserve(self, spec: LLMSpec, request: ChatRequest, attempts: int = 1) -> Reservation | None:
        """Hold room for a call at its worst case; None if calls in flight hold it at present.

        They will not use all of it, as a rule: try again when one of them has ended.

        Args:
            spec: The LLM.
            request: The call.
            attempts: How often it may be sent.

        Raises:
            BudgetExceeded: the call could pass a limit whatever the calls in flight will use.
            ConfigError: see :meth:`check`.
        """
        self.check(spec)
        tokens = sum(worst_case_tokens(spec, request))
        wanted = Reservation(worst_case_usd(spec, request), tokens, attempts)
        with self._lock:
            if self._began is None:
                self._began = self._clock()
            self.check_time()
            if limit := self._passed(wanted):
                self._stop(limit, self._why(limit, wanted, spec))
            if self._passed(wanted, self._in_flight, self._reserved, self._reserved_tokens):
                return None
            self._hold(wanted, 1)
        return wanted

    def settle(self, held: Reservation, answer: Completion | None, unanswered: int = 0) -> None:
        """Charge a call that ended, and give back the rest of its room.

        Args:
            held: What :meth:`reserve` returned.
            answer: Charged at what is known of it, and else at the worst case.
            unanswered: Attempts without an answer that may have been billed.
        """
        usd, tokens = unanswered * Fraction(held.usd), unanswered * held.tokens
        if answer is not None:
            usd += Fraction(held.usd if answer.cost_usd is None else answer.cost_usd)
            tokens += answer.prompt_tokens + answer.completion_tokens or held.tokens
        with self._lock:
            self._hold(held, -1)
            self._made += answer is not None or unanswered > 0
            self._unpriced += answer is not None and answer.cost_usd is None and not held.usd
            self._spent += usd
            self._used_tokens += tokens

    def _hold(self, room: Reservation, sign: int) -> None:
        self._in_flight += sign
        self._reserved += sign * room.attempts * Fraction(room.usd)
        self._reserved_tokens += sign * room.attempts * room.tokens

    def _passed(
        self, wanted: Reservation, calls: int = 0, usd: Fraction | int = 0, tokens: int = 0
    ) -> BudgetLimit | None:
        """Return a limit that a call could pass beside what is used and what is held."""
        if self.calls is not None and self._made + calls >= self.calls:
            return "calls"
        usd += self._spent + wanted.attempts * Fraction(wanted.usd)
        if self.usd is not None and usd > self.usd:
            return "usd"
        tokens += self._used_tokens + wanted.attempts * wanted.tokens
        if self.tokens is not None and tokens > self.tokens:
            return "tokens"
        return None

    def _why(self, limit: BudgetLimit, wanted: Reservation, spec: LLMSpec) -> str:
        count = wanted.attempts
        within = f"in {count} attempts" if count > 1 else "in its one attempt"
        if limit == "usd":
            return (
                f"a call of {spec.name} could cost up to ${count * wanted.usd:.6f} {within}, and "
                f"${self.spent_usd:.6f} of ${self.usd:.6f} is spent"
            )
        if limit == "tokens":
            return (
                f"a call of {spec.name} could take up to {count * wanted.tokens:,} tokens "
                f"{within}, and {self._used_tokens:,} of {self.tokens:,} are used"
            )
        return f"limit of {self.calls} calls reached"

    def _stop(self, limit: BudgetLimit, why: str) -> None:
        at_least = "at least " if self._unpriced else ""
        raise BudgetExceeded(
            f"{why} (used so far: {at_least}${self.spent_usd:.6f}, {self._made:,} calls, "
            f"{self._used_tokens:,} tokens, {self.elapsed_s:.1f} s)",
            limit,
        )


def worst_case_tokens(spec: LLMSpec, request: ChatRequest) -> tuple[int, int]:
    """Return the most tokens that one attempt can read and write.

    A prompt has at most one token a byte with the byte-level tokenisers in use; four bytes a
    token is usual English, so the bound is loose, but it is a bound.
    """
    prompt = sum(
        len(m.content.encode(errors="surrogatepass")) + _TOKENS_PER_MESSAGE
        for m in request.messages
    )
    return prompt, spec.token_limit(request)


def worst_case_usd(spec: LLMSpec, request: ChatRequest) -> float:
    """Return the most that one attempt can cost in US dollars; 0 where the price is unknown."""
    return spec.cost(*worst_case_tokens(spec, request)) or 0.0
