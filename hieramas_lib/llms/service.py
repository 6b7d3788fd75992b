"""One front door to all LLMs of a pool: call store, budget, concurrency and prices."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.budget import Budget, Reservation
from hieramas_lib.llms.call_store import CallStore, Totals
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient, key_of
from hieramas_lib.llms.pool import LLMPool, LLMSpec

_UNBILLED = ("rejected", "rate_limit")
"""Kinds of failed calls that no provider bills: they were refused, not answered."""

_LOOK_AGAIN_S = 0.05
"""Wait for a budget that calls of another event loop or service hold."""


class _LoopState:
    """What belongs to one event loop: semaphores and futures cannot be shared between loops."""

    def __init__(self, pool: LLMPool) -> None:
        self.gates = {spec.name: asyncio.Semaphore(spec.max_concurrency) for spec in pool.llms}
        self.in_flight: dict[str, asyncio.Future[Completion | None]] = {}
        self.reserved = 0
        self.call_ended = asyncio.Event()


class LLMService:
    """Answers requests for any LLM of a pool; is itself an ``LLMClient``.

    A request is routed by its model name, given the LLM's token limit if it has none, looked
    up in the store, shared with an identical one in flight, held to the LLM's concurrency limit
    and to the budget, priced if the client gave no cost, and written to the store before it is
    returned. In mode ``live`` nothing is shared either: every request is a call of its own.

    Args:
        pool: The LLMs there are.
        clients: A client for each name of the pool; may be empty in mode ``replay``. One with
            an attribute ``attempts`` may send, and be billed for, a call that often.
        store: Where calls are read from and written to.
        budget: Limit on the calls made; None for none.
        origins: What tells apart LLMs of one client and model id, by name: see
            ``ChatRequest.canonical``; by default the addresses in the specs.

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
    ) -> None:
        self.pool = pool
        self.store = store
        self.budget = budget
        self._clients = dict(clients)
        self._specs = {spec.name: spec for spec in pool.llms}
        self._origins = {spec.name: spec.address for spec in pool.llms} | dict(origins or {})
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = WeakKeyDictionary()
        if store.mode == "replay":
            return
        missing = [name for name in pool.names if name not in self._clients]
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
            BudgetExceeded: the call could pass the limit and was not made.
            CallError: no usable completion came back.
            ConfigError: the pool has no such LLM, or its provider refuses key or model.
            ReplayMiss: the call is not on the tape.
        """
        spec = self._specs.get(request.model) or self.pool[request.model]
        if request.max_tokens is None:
            request = replace(request, max_tokens=spec.max_tokens)
        text = request.canonical(spec.client, spec.model, self._origins[spec.name])
        key = key_of(text)
        if self.store.mode == "live":
            return await self._call(spec, request, key, text, self._state())
        stored = self.store.get(key)
        if stored is not None:
            return stored
        if self.store.mode == "replay":
            raise self.store.miss(request, text)
        return await self._call_once(spec, request, key, text)

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
        try:
            completion = await self._call(spec, request, key, text, state)
            future.set_result(completion)
            return completion
        except Exception as error:
            future.set_exception(error)
            future.exception()  # Mark as seen: there may be nobody waiting.
            raise
        finally:
            del state.in_flight[key]
            if not future.done():
                future.set_result(None)  # Cancelled: the first waiter makes the call.

    async def _call(
        self, spec: LLMSpec, request: ChatRequest, key: str, text: str, state: _LoopState
    ) -> Completion:
        """Make the call within the limits and write it down."""
        async with state.gates[spec.name]:
            if self.budget is None:
                answer = await self._clients[spec.name].complete(request)
                completion = _priced(answer, spec, key)
            else:
                completion = await self._call_in_budget(self.budget, spec, request, key, state)
        self.store.put(
            completion,
            name=spec.name,
            client=spec.client,
            model=spec.model,
            request=text,
            paid=spec.client in ("openai", "anthropic"),
        )
        return completion

    async def _call_in_budget(
        self, budget: Budget, spec: LLMSpec, request: ChatRequest, key: str, state: _LoopState
    ) -> Completion:
        """Make the call once there is room for it, and charge it."""
        held = await self._reserve(budget, spec, request, state)
        state.reserved += 1
        try:
            completion = _priced(await self._clients[spec.name].complete(request), spec, key)
        except BaseException as error:
            if _unbilled(error):
                budget.release(held)
            else:
                budget.settle(held, None)
            raise
        else:
            budget.settle(held, completion.cost_usd)
        finally:
            state.reserved -= 1
            state.call_ended.set()
        return completion

    async def _reserve(
        self, budget: Budget, spec: LLMSpec, request: ChatRequest, state: _LoopState
    ) -> Reservation:
        """Hold room for a call, waiting for calls in flight if they hold too much of it."""
        attempts = getattr(self._clients[spec.name], "attempts", 1)
        while (held := budget.reserve(spec, request, attempts)) is None:
            if state.reserved:
                state.call_ended.clear()
                await state.call_ended.wait()
            else:
                await asyncio.sleep(_LOOK_AGAIN_S)
        return held

    def _state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        state = self._loops.get(loop)
        if state is None:
            state = self._loops[loop] = _LoopState(self.pool)
        return state


def _unbilled(error: BaseException) -> bool:
    """Whether a call that ended with ``error`` has certainly cost nothing."""
    if isinstance(error, CallError):
        return error.kind in _UNBILLED
    return isinstance(error, ConfigError)


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
