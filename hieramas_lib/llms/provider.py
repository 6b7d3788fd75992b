"""What the OpenAI and the Anthropic client share: one raw call, read with care."""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.provider_errors import Faults

TIMEOUT_S = 120.0
"""Seconds that one attempt may be silent."""

MAX_RETRIES = 4
"""Further attempts by the SDK, which alone retries: stacked retries multiply."""

_NO_KEY = "none"
"""Stands in for a key, as the SDKs insist on one; servers without keys ignore it."""


class ProviderClient(ABC):
    """One LLM behind an official SDK.

    Args:
        spec: The LLM; ``base_url`` None is the SDK's default.
        key: Sent in a header, and nowhere else; None where the server needs none.
        timeout_s: Seconds that one attempt may be silent.
        max_retries: Further attempts after 408, 409, 429, 5xx and lost connections.

    Attributes:
        attempts: How often one call may be sent, and so how often it may be billed.
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
        self.attempts = max_retries + 1
        self._key = key
        self._timeout_s = timeout_s
        self._faults = Faults(spec, key)
        # One SDK object for each event loop: its connections cannot be used from another.
        self._sdks: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; ``options`` are ignored.

        Raises:
            CallError: no usable completion came back after all attempts.
            ConfigError: the server knows the key or the model not, or does not allow it.
        """
        began = time.perf_counter()
        reply = await self._fetch(request)
        return self._read(reply, time.perf_counter() - began)

    async def _fetch(self, request: ChatRequest) -> dict[str, Any]:
        """Make the call and return the JSON object that came back.

        The body is read here, not by the SDK, whose models turn a malformed reply into whatever
        error they stumble over. So only the SDK's own errors are failed calls; others are bugs.
        """
        sdk = self._sdk()
        try:
            # A limit on all attempts together: it ends a body that drips on for ever, and a wait
            # that a server asks for without measure.
            async with asyncio.timeout(self._timeout_s * self.attempts):
                raw = await self._send(sdk, request)
        except (TimeoutError, self._sdk_error()) as error:
            raise self._faults.raised(error) from None
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
                api_key=self._key or _NO_KEY,
                base_url=self.spec.base_url,
                timeout=self._timeout_s,
                max_retries=self.attempts - 1,
            )
        return self._sdks[loop]

    @abstractmethod
    def _open(self, **settings: Any) -> Any:
        """Make the SDK object."""

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
