"""One front door to all LLMs of a pool: call store, limits and prices."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.attempts import count_in
from hieramas_lib.llms.budget import Budget, worst_case_usd
from hieramas_lib.llms.call_limits import Admission, CallLimits
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_totals import Totals
from hieramas_lib.llms.cancellation import run_to_end
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient, key_of
from hieramas_lib.llms.layout import role_of
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.rate import Rate

if TYPE_CHECKING:
    from hieramas_lib.llms.world import World

PAID_CLIENTS = ("openai", "anthropic")
"""Clients whose calls are billed by a provider."""


class _LoopState:
    """What belongs to one event loop: futures cannot be shared between loops."""

    def __init__(self, limits: CallLimits) -> None:
        self.limits = limits
        self.in_flight: dict[str, asyncio.Future[Completion | None]] = {}


class LLMService:
    """Answers requests for any LLM of a pool; is itself an ``LLMClient``.

    A request is routed by its model name, given the LLM's token limit if it has none, looked
    up in the store, shared with an identical one in flight, held to the LLM's concurrency, the
    budget and the LLM's rate, marked in the store if it is to be paid for, priced if the client
    gave no cost, and written to the store before it is returned. In mode ``live`` nothing is
    shared either: every request is a call of its own.

    A request that is cancelled while it waits is dropped. Once its call is out, the answer is
    waited for and stored before the cancellation goes on; a second cancellation drops it.

    Args:
        pool: The LLMs there are.
        clients: A client for each name of the pool; may be empty in mode ``replay``. One that
            may send a call several times has an attribute ``max_attempts``, and counts them by
            :mod:`~hieramas_lib.llms.attempts`.
        store: Where calls are read from and written to.
        budget: Limits on the calls made; None for none.
        origins: What tells apart LLMs of one client and model id, by name: see
            ``ChatRequest.canonical``; by default the addresses in the specs.
        world: What the simulated ones among them know.

    Raises:
        ConfigError: an LLM lacks a client, or a price that the budget needs.
    """

    def __init__(
        self,
        pool: LLMPool,
        clients: Mapping[str, LLMClient],
        store: CallStore,
        budget: Budget | None = None,
        *,
        origins: Mapping[str, str | None] | None = None,
        world: "World | None" = None,
    ) -> None:
        self.pool = pool
        self.store = store
        self.budget = budget
        self.world = world
        self.clients = dict(clients)
        self._specs = {spec.name: spec for spec in pool.llms}
        self.origins = {spec.name: spec.address for spec in pool.llms} | dict(origins or {})
        self._rates = {
            spec.name: Rate(spec.max_per_minute) for spec in pool.llms if spec.max_per_minute
        }
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = WeakKeyDictionary()
        if store.mode == "replay":
            return
        missing = [name for name in pool.names if name not in self.clients]
        if missing:
            raise ConfigError(f"pool {pool.name!r}: no client for {', '.join(missing)}")
        if budget:
            for spec in pool.llms:
                budget.check(spec)

    @property
    def usage(self) -> Totals:
        """What was used through the store so far: paid now, and as if uncached."""
        return self.store.totals()

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` from the store or from its LLM.

        Raises:
            BudgetExceeded: the call could pass a limit and was not made.
            CallError: no usable completion came back.
            ConfigError: the pool has no such LLM, or its provider refuses key or model.
            ReplayMiss: the call is not on the tape.
        """
        spec, request, text = self._routed(request)
        key = key_of(text)
        if self.store.mode == "live":
            return await self._call(spec, request, key, text, self._admission(spec, request))
        stored = self.store.get(key)
        if stored is not None:
            return stored
        if self.store.mode == "replay":
            raise self.store.miss(request, text)
        return await self._call_once(spec, request, key, text)

    def explain_miss(self, request: ChatRequest) -> str:
        """Say which stored request is nearest to ``request``, and which fields differ.

        For finding out why a call was not answered from the store.
        """
        _, request, text = self._routed(request)
        return self.store.explain_miss(request, text)

    def _routed(self, request: ChatRequest) -> tuple[LLMSpec, ChatRequest, str]:
        """Return the LLM asked, the request with its token limit, and its canonical text."""
        spec = self._specs.get(request.model) or self.pool[request.model]
        if request.max_tokens is None:
            request = replace(request, max_tokens=spec.max_tokens)
        return spec, request, request.canonical(spec.client, spec.model, self.origins[spec.name])

    async def _call_once(
        self, spec: LLMSpec, request: ChatRequest, key: str, text: str
    ) -> Completion:
        """Make the call, or wait for an identical one in flight."""
        state = self._state()
        while (shared := state.in_flight.get(key)) is not None:
            # Shielded, so that one waiter's cancellation does not take the others along.
            if await asyncio.shield(shared) and (stored := self.store.get(key)):
                return stored
        future = asyncio.get_running_loop().create_future()
        state.in_flight[key] = future
        admission = self._admission(spec, request)
        try:
            return await self._call(spec, request, key, text, admission)
        except Exception as error:
            future.set_exception(error)
            future.exception()  # Mark as seen: there may be nobody waiting.
            raise
        finally:
            del state.in_flight[key]
            if not future.done():
                # None if it was cancelled before it was answered: the first waiter makes the call.
                future.set_result(admission.answer)

    def _admission(self, spec: LLMSpec, request: ChatRequest) -> Admission:
        max_attempts = getattr(self.clients[spec.name], "max_attempts", 1)
        return self._state().limits.admit(spec, request, max_attempts)

    async def _call(
        self, spec: LLMSpec, request: ChatRequest, key: str, text: str, admission: Admission
    ) -> Completion:
        """Make the call when its turn has come, and see it to its end."""
        async with admission:
            sending = self._send(spec, request, key, text, admission)
            # A simulated call is done at once, and a task of its own would be a third of its time.
            return await (sending if spec.client == "simulated" else run_to_end(sending))

    async def _send(
        self, spec: LLMSpec, request: ChatRequest, key: str, text: str, admission: Admission
    ) -> Completion:
        """Send the call and write the answer down; a paid one is marked as long as it has none."""
        role, paid = role_of(request), spec.client in PAID_CLIENTS
        mark = None
        if paid:
            most = _most_usd(spec, request, admission.max_attempts)
            mark = self.store.send(key, name=spec.name, role=role, most_usd=most)
        count_in(admission.attempts)
        try:
            completion = _priced(await self.clients[spec.name].complete(request), spec, key)
        except BaseException as error:
            if mark is not None:
                lost = _most_usd(spec, request, admission.unanswered)
                self.store.fail(mark, _outcome(error), lost)
            raise
        admission.answer = completion
        self.store.put(
            completion, name=spec.name, client=spec.client, model=spec.model, role=role,
            request=text, paid=paid, mark=mark,
            lost_usd=_most_usd(spec, request, admission.unanswered),
        )  # fmt: skip
        return completion

    def _state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        state = self._loops.get(loop)
        if state is None:
            limits = CallLimits(self.pool, self.budget, self._rates)
            state = self._loops[loop] = _LoopState(limits)
        return state


def _most_usd(spec: LLMSpec, request: ChatRequest, attempts: int) -> float | None:
    """Return the most that so many attempts can cost in US dollars; None if that is unknown."""
    if not attempts:
        return 0.0
    return None if spec.price is None else attempts * worst_case_usd(spec, request)


def _outcome(error: BaseException) -> str:
    """Say in a word how a call ended that left no answer."""
    if isinstance(error, CallError):
        return error.kind
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__


def _priced(answer: Completion, spec: LLMSpec, key: str) -> Completion:
    """Return the client's answer with its key, and the pool's price where it gave none.

    An answer without token counts has no known price, not the price 0.
    """
    cost = answer.cost_usd
    if cost is None and (answer.prompt_tokens or answer.completion_tokens):
        cost = spec.cost(answer.prompt_tokens, answer.completion_tokens)
    return Completion(
        answer.text, answer.finish_reason, answer.prompt_tokens, answer.completion_tokens,
        cost, answer.latency_s, cached=False, request_key=key,
    )  # fmt: skip
