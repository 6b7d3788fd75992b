"""What the OpenAI and the Anthropic client share: one raw call, read with care."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from hieramas_lib.errors import CallError
from hieramas_lib.llms.attempts import begin_count
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider_errors import MAX_WAIT_S, Faults

TIMEOUT_S = 120.0
"""Seconds that one attempt may be silent."""

MAX_RETRIES = 4
"""Further attempts of a call. The SDK makes them; one that this client makes takes from them."""

_PASSING = ("malformed", "server")
"""Kinds of faults in a reply with status 200 that another attempt may not meet."""

_NO_KEY = "none"
"""Stands in for a key, as the SDKs insist on one; servers without keys ignore it."""


class ProviderClient(ABC):
    """One LLM behind an official SDK.

    The SDK retries, with a growing pause or the one that a Retry-After asks for. Two things are
    added here, the same for both SDKs. A server that asks for more than 120 seconds, or more than
    ``timeout_s`` times all attempts, is not waited for: the call fails at once. And a reply with
    status 200 that cannot be read, or that reports a fault of the server, is asked for once
    again, at once, if the SDK has left an attempt.

    Args:
        spec: The LLM; ``base_url`` None is the SDK's default.
        key: Sent in a header, and nowhere else; None where the server needs none.
        timeout_s: Seconds that one attempt may be silent; all of a call's attempts together,
            pauses included, end after that times their number.
        max_retries: Further attempts after 408, 409, 429, 5xx, lost connections and unreadable
            replies.

    Attributes:
        max_attempts: How often one call may be sent, and so how often it may be billed. How
            often it was is counted, see :mod:`hieramas_lib.llms.attempts`.
    """

    def __init__(
        self,
        spec: LLMSpec,
        key: str | None,
        *,
        timeout_s: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self.spec = spec
        self.max_attempts = max_retries + 1
        self._key = key
        self._timeout_s = timeout_s
        self._limit_s = timeout_s * self.max_attempts
        self._faults = Faults(spec, key)
        # One SDK object for each event loop: its connections cannot be used from another.
        self._sdks: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; ``options`` are ignored.

        Raises:
            CallError: no usable completion came back after all attempts.
            ConfigError: the server knows the key or the model not, does not allow it, or has no
                credit left for it.
        """
        began = time.perf_counter()
        begin_count()
        sdk = self._sdk()
        try:
            # It also ends a body that drips on for ever.
            async with asyncio.timeout(self._limit_s):
                return await self._ask(sdk, request, began)
        except TimeoutError:
            raise self._faults.overdue(self._limit_s) from None
        except self._sdk_error() as error:
            # Only the SDK's own errors are failed calls; others are bugs.
            raise self._faults.raised(error) from None

    async def _ask(self, sdk: Any, request: ChatRequest, began: float) -> Completion:
        """Make the call, once more if the reply cannot be read and there is an attempt left."""
        raw = await self._send(sdk, request)
        try:
            return self._read(self._decode(raw), time.perf_counter() - began)
        except CallError as error:
            left = self.max_attempts - 1 - raw.retries_taken
            if error.kind not in _PASSING or not left:
                raise
        raw = await self._send(sdk.with_options(max_retries=left - 1), request)
        return self._read(self._decode(raw), time.perf_counter() - began)

    def _decode(self, raw: Any) -> dict[str, Any]:
        """Return the JSON object of a reply.

        The body is read here, not by the SDK, whose models turn a malformed reply into whatever
        error they stumble over.
        """
        try:
            reply = json.loads(raw.http_response.content)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise self._faults.malformed("the reply is not a JSON object")
        if isinstance(reply.get("error"), dict):
            raise self._faults.reported(reply["error"])
        return reply

    def _sdk(self) -> Any:
        """Return the SDK object of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._sdks:
            self._sdks[loop] = self._open(
                min(MAX_WAIT_S, self._limit_s),
                api_key=self._key or _NO_KEY,
                base_url=self.spec.base_url,
                timeout=self._timeout_s,
                max_retries=self.max_attempts - 1,
            )
        return self._sdks[loop]

    @abstractmethod
    def _open(self, longest_wait_s: float, **settings: Any) -> Any:
        """Make the SDK object, with :class:`.AttemptCounter` mixed into its HTTP client."""

    @abstractmethod
    def _sdk_error(self) -> type[Exception]:
        """Return the class of all errors that the SDK raises for a failed call."""

    @abstractmethod
    def _send(self, sdk: Any, request: ChatRequest) -> Awaitable[Any]:
        """Send ``request`` by the SDK's ``with_raw_response``."""

    @abstractmethod
    def _read(self, reply: dict[str, Any], latency_s: float) -> Completion:
        """Read the reply; raises CallError if it is none."""


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON can carry and neither files nor requests can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def token_count(value: object) -> int | None:
    """Return a token count, or None if ``value`` is none."""
    return value if type(value) is int and value >= 0 else None


def sampling_of(spec: LLMSpec, request: ChatRequest) -> dict[str, Any]:
    """Return temperature and seed, as far as the model and its server take them.

    The seed is the sample index, and goes to a server on this machine or in its own network:
    `hieramas serve`, llama-server, vLLM and Ollama answer one seed in one way, so that a sample
    can be drawn again; some providers refuse a request that names one.
    """
    sampling: dict[str, Any] = {}
    if request.temperature is not None and spec.takes_temperature:
        sampling["temperature"] = request.temperature
    if spec.own_address:
        sampling["seed"] = request.sample
    return sampling
