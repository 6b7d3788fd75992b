"""The HTTP client under both SDKs: it sees every attempt of a call, of which they show the last."""

from typing import Any

from hieramas_lib.llms.attempts import count_attempt
from hieramas_lib.llms.provider_errors import asked_wait_s, out_of_credit

_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol")
"""Errors of httpx before a request goes out, by class name: each SDK has an httpx of its own."""


class AttemptCounter:
    """Mixed into the SDK's own HTTP client: counts what may be billed, and ends vain retries.

    Every attempt may be billed but one that never went out and one that was refused, with a 4xx
    other than 408. A 5xx may be billed: what a gateway says of itself (502, 503, 504) tells
    nothing of the LLM behind it, which may have done the work.

    Args:
        longest_wait_s: What a server may ask for by a Retry-After and be waited for.
    """

    def __init__(self, *, longest_wait_s: float, **settings: Any) -> None:
        super().__init__(**settings)
        self._longest_wait_s = longest_wait_s

    async def send(self, request: Any, **settings: Any) -> Any:
        """Send one attempt, as httpx does."""
        try:
            response = await super().send(request, **settings)  # type: ignore[misc]
        except BaseException as error:
            if type(error).__name__ not in _NEVER_SENT:
                count_attempt()
            raise
        if not _refused(response.status_code):
            count_attempt()
        if self._is_vain(response):
            # As a server tells an SDK not to retry.
            response.headers["x-should-retry"] = "false"
        return response

    def _is_vain(self, response: Any) -> bool:
        """Whether no retry can mend a failed attempt in time."""
        if not response.is_error:
            return False
        wait = asked_wait_s(response.headers)
        too_long = wait is not None and wait > self._longest_wait_s
        return too_long or out_of_credit(response.status_code, response.content)


def _refused(status: int) -> bool:
    return 400 <= status < 500 and status != 408
