"""LLMs of this project behind the endpoints that other frameworks speak: OpenAI and Anthropic.

``POST /v1/chat/completions``, ``POST /v1/messages``, ``GET /v1/models``, ``GET /health``. The
official SDKs, and whatever is built on these endpoints, need no more than another base URL.
"""

import hashlib
import itertools
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hieramas_lib.errors import BudgetExceeded, CallError, ConfigError, ReplayMiss
from hieramas_lib.llms import server_anthropic, server_openai
from hieramas_lib.llms.chat import Completion, LLMClient
from hieramas_lib.llms.server_faults import (
    UNANSWERED,
    Fault,
    FaultPlan,
    FaultyResponse,
    json_bytes,
    spoil,
)
from hieramas_lib.llms.server_wire import Asked, BadRequest, WireFormat

_log = logging.getLogger(__name__)
_STATUS_OF_KIND = {"rejected": 400, "rate_limit": 429, "timeout": 504}


@dataclass(frozen=True, slots=True)
class Served:
    """One request that the server dealt with, written down before the reply is sent.

    Attributes:
        number: Of the request, from 1.
        digest: Hash of path and body: an SDK's further attempts have that of the first.
        attempt: How often this body came before.
        status: Of the reply; 0 where none was sent.
        fault: What was done to the reply on purpose.
        completion: What the LLM answered; None if it did not, or was not asked.
    """

    number: int
    digest: str
    attempt: int
    status: int
    fault: Fault | None
    completion: Completion | None


def make_app(
    clients: Mapping[str, LLMClient],
    *,
    faults: FaultPlan | None = None,
    log: Callable[[Served], None] | None = None,
) -> Starlette:
    """Put ``clients`` behind both providers' endpoints.

    A request is answered by the client whose name it gives as ``model``. The key that it
    carries is not looked at. Errors come in each provider's own form: 400 naming the field for
    a body that cannot be read and for a call that its client rejects, 402 for a budget that is
    used up, 403 for a set-up at fault, 404 for an unknown model, 429, 502 and 504 for a client's
    other errors. With ``stream`` the finished answer comes as server-sent events, at once.

    Args:
        clients: By the name of the model.
        faults: What goes wrong on purpose; None for nothing. To close a connection takes a
            server made by :mod:`~hieramas_lib.llms.server_uvicorn`.
        log: Called for each request to an LLM. No header, and so no key, is in what it gets.
    """
    desk = _Desk(clients, faults, log)

    async def chat_completions(request: Request) -> Response:
        return await desk.reply(request, server_openai)

    async def messages(request: Request) -> Response:
        return await desk.reply(request, server_anthropic)

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/messages", messages, methods=["POST"]),
            Route("/v1/models", desk.models),
            Route("/v1/models/{name:path}", desk.model),
            Route("/health", _health),
        ],
        exception_handlers={404: _no_path},
    )


class _Desk:
    """Answers requests, numbers them and counts how often each body came."""

    def __init__(
        self,
        clients: Mapping[str, LLMClient],
        faults: FaultPlan | None,
        log: Callable[[Served], None] | None,
    ) -> None:
        self._clients = dict(clients)
        self._faults = faults
        self._log = log
        self._numbers = itertools.count(1)
        self._came: Counter[str] = Counter()

    async def models(self, request: Request) -> Response:
        """List the models, in a form that both SDKs read."""
        names = list(self._clients)
        page = {"has_more": False, "first_id": names[0], "last_id": names[-1]}
        return JSONResponse({"object": "list", "data": [_model(n) for n in names]} | page)

    async def model(self, request: Request) -> Response:
        """Describe one model."""
        name = request.path_params["name"]
        if name in self._clients:
            return JSONResponse(_model(name))
        return _error(server_openai, 404, self._unknown(name), "model")

    def _unknown(self, name: str) -> str:
        return f"no model {name!r}; there are {', '.join(self._clients)}"

    async def reply(self, request: Request, wire: WireFormat) -> Response:
        """Answer a request to an LLM; one whose sender hung up before it was read is none."""
        try:
            raw = await request.body()
        except ClientDisconnect:
            return Response(status_code=408)  # It goes nowhere.
        number = next(self._numbers)
        digest = hashlib.blake2b(request.url.path.encode() + raw, digest_size=16).hexdigest()
        attempt = self._came[digest]
        self._came[digest] += 1
        fault = self._faults.draw(digest, attempt) if self._faults else None
        if self._faults and fault in UNANSWERED:
            response, completion = _unanswered(wire, fault, self._faults), None
        else:
            response, completion = await self._answer(raw, wire, number, fault)
        if self._log:
            status = 0 if fault in ("silence", "drop") else response.status_code
            self._log(Served(number, digest, attempt, status, fault, completion))
        return response

    async def _answer(
        self, raw: bytes, wire: WireFormat, number: int, fault: Fault | None
    ) -> tuple[Response, Completion | None]:
        """Ask the LLM, and write its answer or the error."""
        try:
            asked = wire.read_request(_decoded(raw))
            client = self._clients.get(asked.request.model)
            if client is None:
                return _error(wire, 404, self._unknown(asked.request.model), "model"), None
            completion = await client.complete(asked.request)
        except BadRequest as error:
            return _error(wire, 400, str(error), error.field), None
        except (CallError, ConfigError, ReplayMiss, BudgetExceeded) as error:
            return _error(wire, _status_of(error), str(error)), None
        except Exception:
            _log.exception("request %d failed", number)
            return _error(wire, 500, "a fault of this server; its log has the traceback"), None
        return self._written(wire, asked, completion, number, fault), completion

    def _written(
        self,
        wire: WireFormat,
        asked: Asked,
        completion: Completion,
        number: int,
        fault: Fault | None,
    ) -> Response:
        """Write the answer, as events if these are wanted."""
        reply = wire.write_reply(completion, asked.request.model, number)
        if asked.stream:
            events = wire.write_events(reply, asked.stream_usage)
            body, media_type = "".join(events).encode(), "text/event-stream"
        else:
            body, media_type = json_bytes(spoil(reply, fault)), "application/json"
        if fault and self._faults:
            return FaultyResponse(body, media_type, fault, self._faults)
        return Response(body, media_type=media_type)


def _model(name: str) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "hieramas",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


async def _no_path(request: Request, error: Exception) -> Response:
    message = (
        f"nothing at {request.url.path}; an OpenAI base URL ends in /v1, an Anthropic one does not"
    )
    return JSONResponse(server_anthropic.write_error(404, message, None), 404)


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _decoded(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise BadRequest("body", "not valid JSON") from None


def _error(wire: WireFormat, status: int, message: str, field: str | None = None) -> Response:
    return JSONResponse(wire.write_error(status, message, field), status)


def _status_of(error: Exception) -> int:
    if isinstance(error, BudgetExceeded):
        return 402
    if isinstance(error, ConfigError):
        return 403
    if isinstance(error, CallError):
        return _STATUS_OF_KIND.get(error.kind, 502)
    return 400


def _unanswered(wire: WireFormat, fault: Fault, plan: FaultPlan) -> Response:
    """Make the reply of a fault at which no LLM is asked."""
    if fault in ("silence", "drop"):
        return FaultyResponse(b"", "application/json", fault, plan)
    status, headers = plan.status(fault)
    body = wire.write_error(status, f"fault on purpose: {fault}", None)
    return JSONResponse(body, status, headers)
