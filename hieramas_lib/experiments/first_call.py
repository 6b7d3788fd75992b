"""One cheap call to every LLM that can be reached: does it answer, how fast, for how much?"""

import asyncio
import os
import socket
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool, LLMSpec, load_pool

LIMIT_USD = 0.05
"""Most that one call may cost, all attempts of the SDK included."""

LIMIT_S = 60.0
"""Longest wait for one answer."""

_MAX_TOKENS = 64
"""Room for a word, and for a few of the hidden thoughts of a reasoning model."""

_CONNECT_S = 0.5
_CANCEL_S = 0.1
_PORTS = {"http": 80, "https": 443}
_PROMPT = (Message("user", "Reply with the word ok."),)
_FIXES = {
    "timeout": "try again later, or ask a smaller model",
    "rate_limit": "wait, or set max_per_minute in the pool file; an empty account looks alike",
    "server": "the fault is the server's: try again later",
    "connection": "check the network and base_url in the pool file",
    "malformed": "base_url leads to no such API; most addresses end in /v1",
    "rejected": "the message says what the server refuses",
}


def first_calls(paths: Sequence[Path]) -> Iterator[str]:
    """Call each LLM of the pool files ``paths`` once, and yield one line on each.

    An LLM that stands in several pools is called once. Nothing is stored.

    Raises:
        ConfigError: a pool file is missing or malformed.
    """
    seen = set()
    for pool in map(load_pool, paths):
        for spec in pool.llms:
            same = (spec.client, spec.model, spec.address, spec.prompting, spec.examples)
            if same not in seen:
                seen.add(same)
                yield f"{spec.name} ({pool.name}): {first_call(spec)}"


def first_call(spec: LLMSpec) -> str:
    """Call one LLM and say in a line how it went: time and cost, or the fault and its fix."""
    if spec.key_env and not os.environ.get(spec.key_env, "").strip():
        return f"not called: no key. Run `export {spec.key_env}=...` first"
    address = spec.own_address
    if address is not None and not listens(address):
        return (
            f"not called: nobody listens at {address}. Start the server, or correct base_url in "
            "the pool file"
        )
    try:
        answer = asyncio.run(_ask(spec))
    except ConfigError as error:
        return f"not usable: {_line(error)}"
    except BudgetExceeded as error:
        return f"not called: it could cost more than ${LIMIT_USD}: {_line(error)}"
    except TimeoutError:
        return f"timeout: no answer within {LIMIT_S:.0f} s. Fix: {_FIXES['timeout']}"
    except CallError as error:
        return f"{_line(error)}. Fix: {_FIXES.get(error.kind, 'see the message')}"
    cost = "price unknown" if answer.cost_usd is None else f"${answer.cost_usd:.6f}"
    return f"ok, {answer.latency_s:.2f} s, {cost}"


def listens(address: str) -> bool:
    """Whether somebody accepts connections at ``address``, a URL; asked for half a second."""
    parts = urlsplit(address)
    place = (parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80))
    try:
        socket.create_connection(place, timeout=_CONNECT_S).close()
    except OSError:
        return False
    return True


async def _ask(spec: LLMSpec) -> Completion:
    budget = Budget(calls=1) if spec.price is None else Budget(usd=LIMIT_USD, calls=1)
    alone = LLMPool(name="doctor", skip_profile="-", reference=spec.name, llms=(spec,))
    llms = connect(alone, store=CallStore(None, "live"), budget=budget)
    request = ChatRequest(spec.name, _PROMPT, max_tokens=_MAX_TOKENS)
    if spec.client in ("openai", "anthropic"):
        # Or its seconds of import would count as the server's.
        import_module(spec.client)
    asked = asyncio.create_task(llms.complete(request))
    await asyncio.wait({asked}, timeout=LIMIT_S)
    if asked.done():
        return asked.result()
    # One cancellation waits for an answer that may be billed, a second one drops it.
    for _ in range(2):
        asked.cancel()
        await asyncio.wait({asked}, timeout=_CANCEL_S)
    raise TimeoutError


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
