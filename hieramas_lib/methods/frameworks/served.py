"""The LLMs of a pool behind an OpenAI endpoint on the loopback address, with a ledger an item.

A framework under comparison runs unmodified against this server, as it would against ``hieramas
serve``. What it asked and what that cost is read off here, not taken from its own account: each
item has an address of its own, so the books are right with many items under way.
"""

import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.llms.layout import role_of
from hieramas_lib.llms.server import Served, make_app
from hieramas_lib.llms.server_questions import BareQuestions, KnownQuestions
from hieramas_lib.llms.server_uvicorn import LOOPBACK, bind, make_server
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.agents import longest_s
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.verdict import judge

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient


class Item:
    """What a framework did for one task.

    Attributes:
        base_url: Where the framework finds the LLMs for this task; any key will do.
        http: The connection it is to use; closed with the item.
        requests: All requests that came there, in the order in which they were answered.
        calls: Those that reached an LLM, failed ones included.
    """

    def __init__(self, client: LLMClient, base_url: str, http: "DefaultAsyncHttpxClient") -> None:
        self._client = client
        self._fault: Exception | None = None
        self.base_url, self.http = base_url, http
        self.requests: list[Served] = []
        self.calls: list[CallRecord] = []

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a request and book it."""
        role = role_of(request)
        try:
            completion = await self._client.complete(request)
        except CallError as error:
            self.calls.append(CallRecord(role, "proposer", request.model, error=str(error)))
            raise
        except Exception as error:
            self._fault = error
            raise
        self.calls.append(CallRecord(role, "proposer", request.model, completion))
        return completion

    async def rollout(self, task: Task, answer: str, failure: Exception | None = None) -> Rollout:
        """Grade what the framework answered.

        Args:
            task: What it was asked.
            answer: The text that it ended with.
            failure: What it raised instead.

        Raises:
            Exception: what kept a call from being made, such as a budget used up; or ``failure``,
                where no failed call explains it.
            ConfigError: a request was none that could be passed on to an LLM, or none came.
        """
        if self._fault is not None:
            raise self._fault
        if len(self.requests) != len(self.calls):
            statuses = [served.status for served in self.requests]
            raise ConfigError(
                f"task {task.id!r}: a request of the framework is none to an LLM; HTTP {statuses}"
            ) from failure
        explained = bool(self.calls) and self.calls[-1].completion is None
        if failure is not None and not explained:
            raise failure
        if not self.calls:
            raise ConfigError(f"task {task.id!r}: the framework asked no LLM")
        last = self.calls[-1]
        if last.completion is not None:
            # The framework's own text is graded: it may have changed the LLM's.
            last = replace(last, completion=replace(last.completion, text=answer))
        return Rollout(
            task_id=task.id,
            answer=last.text,
            grade=await judge(task, last),
            calls=tuple(self.calls),
            latency_s=sum(longest_s([call]) for call in self.calls),
        )


class ServedLLMs:
    """The running server; made by :func:`serve_llms`.

    Attributes:
        llms: What is served, under the names of its pool.
        url: ``http://host:port``.
    """

    def __init__(self, llms: LLMService, url: str) -> None:
        self.llms, self.url = llms, url
        self._client: LLMClient = llms
        if llms.world is not None:
            self._client = BareQuestions(llms, KnownQuestions(llms.world.tasks))
        self._numbers = itertools.count(1)
        self._items: dict[str, Starlette] = {}
        self.app = Starlette(routes=[Mount("/{item}", app=self._forward)])

    @asynccontextmanager
    async def item(self) -> AsyncIterator[Item]:
        """Open an address with books of its own while the block runs."""
        from openai import DefaultAsyncHttpxClient

        number = str(next(self._numbers))
        # To this machine: by no proxy that the environment names, without certificates to load,
        # and without a time limit, which many items under way could pass.
        client = DefaultAsyncHttpxClient(trust_env=False, verify=False, timeout=None)
        async with client as http:
            item = Item(self._client, f"{self.url}/{number}/v1", http)
            clients = {name: item for name in self.llms.pool.names}
            self._items[number] = make_app(clients, log=item.requests.append)
            try:
                yield item
            finally:
                del self._items[number]

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._items.get(scope["path_params"]["item"], _CLOSED)
        await app(scope, receive, send)


_CLOSED = PlainTextResponse("this item is closed", 404)


@contextmanager
def serve_llms(llms: LLMService) -> Iterator[ServedLLMs]:
    """Serve ``llms`` on a free port while the block runs, in a thread of its own.

    Calls go out from that thread's event loop, which has its own count of calls in flight: run
    nothing else on ``llms`` meanwhile. Simulated LLMs are asked as :class:`BareQuestions` says.
    """
    listening = bind()
    served = ServedLLMs(llms, f"http://{LOOPBACK}:{listening.getsockname()[1]}")
    server = make_server(served.app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the server on the loopback address did not start")
            time.sleep(0.005)
        yield served
    finally:
        server.should_exit = True
        thread.join()
