"""Faults that a server can have on purpose, by a schedule that a seed fixes.

What happens to a request is a pure function of the seed, its body and how often that body came
before, so a run meets the same faults whatever the order and the concurrency of its calls.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.world_draws import uniforms

Fault = Literal[
    "429", "429 wait", "429 long wait", "500", "503", "silence", "drop",
    "cut", "not JSON", "HTML", "null content", "no choices", "text/plain", "slow",
]  # fmt: skip
"""What can happen to a request; the first seven give no answer, the others spoil one.

``429 wait`` and ``429 long wait`` name a Retry-After; ``silence`` never answers; ``drop`` closes
the connection before the reply, ``cut`` in the middle of its body; ``HTML`` is a proxy's page
with status 200; ``text/plain`` is a good reply with the wrong content type; ``slow`` is one whose
bytes drip.
"""
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)

UNANSWERED: Final[tuple[Fault, ...]] = FAULTS[:7]
"""Faults at which no LLM is asked."""

HARMLESS: Final[tuple[Fault, ...]] = ("text/plain", "slow")
"""Faults at which the whole answer is sent nevertheless."""

_PIECES = 20


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which requests meet which fault.

    Attributes:
        rate: Share of requests that meet one.
        seed: Of the schedule.
        kinds: Faults to draw from, all equally likely.
        wait_s, long_wait_s: Seconds that the two kinds of Retry-After ask for.
        silence_s: Seconds until a silent connection is closed.
        slow_s: Seconds that a dripping body takes.
    """

    rate: float
    seed: int = 0
    kinds: tuple[Fault, ...] = FAULTS
    wait_s: float = 1.0
    long_wait_s: float = 3600.0
    silence_s: float = 600.0
    slow_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ConfigError(f"faults: a rate from 0 to 1, got {self.rate}")
        unknown = [kind for kind in self.kinds if kind not in FAULTS]
        if unknown or not self.kinds:
            raise ConfigError(f"faults: kinds {unknown} are not among {', '.join(FAULTS)}")

    def draw(self, digest: str, attempt: int) -> Fault | None:
        """Return what happens to the request of this hash at its ``attempt``, counted from 0."""
        whether, which = uniforms(2, self.seed, "fault", digest, attempt)
        return self.kinds[int(which * len(self.kinds))] if whether < self.rate else None

    def status(self, fault: Fault) -> tuple[int, dict[str, str]]:
        """Return status and headers of a reply without an answer."""
        if fault == "429 wait":
            return 429, {"retry-after-ms": str(round(1000 * self.wait_s))}
        if fault == "429 long wait":
            return 429, {"retry-after": str(round(self.long_wait_s))}
        return {"429": 429, "500": 500}.get(fault, 503), {}


def spoil(reply: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
    """Return ``reply`` with what ``fault`` does to its fields."""
    if fault == "null content" and "choices" in reply:
        choice = reply["choices"][0]
        silent = choice | {"message": choice["message"] | {"content": None}}
        return reply | {"choices": [silent]}
    if fault == "no choices" and "choices" in reply:
        return reply | {"choices": []}
    if fault in ("null content", "no choices"):
        return reply | {"content": None if fault == "null content" else []}
    return reply


class FaultyResponse(Response):
    """A reply whose bytes meet ``fault`` on their way."""

    def __init__(self, body: bytes, media_type: str, fault: Fault, plan: FaultPlan) -> None:
        if fault == "not JSON":
            body = body[: len(body) // 2]
        elif fault == "HTML":
            body, media_type = b"<html><body>Please stand by.</body></html>", "text/html"
        elif fault == "text/plain":
            media_type = "text/plain"
        super().__init__(body, media_type=media_type)
        self._fault, self._plan = fault, plan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply, or as much of it as the fault lets through."""
        if self._fault == "silence":
            await _wait_for_hang_up(receive, self._plan.silence_s)
        if self._fault in ("silence", "drop"):
            await _close(scope)
        elif self._fault == "cut":
            await self._send_pieces(send, [bytes(self.body[: len(self.body) // 2])], 0.0)
            await _close(scope)
        elif self._fault == "slow":
            size = len(self.body) // _PIECES + 1
            pieces = [bytes(self.body[i : i + size]) for i in range(0, len(self.body), size)]
            await self._send_pieces(send, pieces, self._plan.slow_s / len(pieces))
            await send({"type": "http.response.body", "body": b""})
        else:
            await super().__call__(scope, receive, send)

    async def _send_pieces(self, send: Send, pieces: list[bytes], pause_s: float) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        for piece in pieces:
            await asyncio.sleep(pause_s)
            await send({"type": "http.response.body", "body": piece, "more_body": True})


def json_bytes(content: dict[str, Any]) -> bytes:
    """Encode a body."""
    return json.dumps(content).encode()


async def _wait_for_hang_up(receive: Receive, limit_s: float) -> None:
    try:
        async with asyncio.timeout(limit_s):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        pass


async def _close(scope: Scope) -> None:
    """Close the connection, which ASGI has no message for (see ``server_uvicorn``)."""
    scope["state"]["transport"].close()
    # The server notices in the loop's next rounds, and then has nothing to complain about.
    for _ in range(3):
        await asyncio.sleep(0)
