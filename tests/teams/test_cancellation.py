"""Runs that are stopped half-way: no call that went out is lost, and finished rollouts are had."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from team_stubs import TASK, StubLLM, make_team

from hieramas_lib.errors import BudgetExceeded
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Header
from hieramas_lib.teams import graph_pool
from hieramas_lib.teams.executor import Job, run_batch, run_team
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.topology import Topology

CHAIN = make_team(graph_pool.chain(2), width=1)
"""Five calls, one at a time."""


class Gate:
    """Holds calls up until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    def llms(self, at: str = "") -> StubLLM:
        """Stub LLMs that wait at the gate: all, or the one called ``at``."""

        def pause(header: Header, request: ChatRequest) -> object:
            return self.opened.wait() if at in ("", request.model) else None

        return StubLLM(pause=pause)  # type: ignore[arg-type]


async def turns(count: int = 60) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def counts(llms: StubLLM) -> tuple[int, int]:
    """Calls that went out, and calls that came back."""
    kinds = [event[0] for event in llms.events]
    return kinds.count("start"), kinds.count("end")


def test_a_cancelled_run_waits_for_calls_in_flight_and_starts_no_other() -> None:
    async def scenario() -> None:
        gate = Gate()
        llms = gate.llms()
        team = make_team(graph_pool.empty(3))
        running = asyncio.create_task(run_team(team, TASK, llms))
        await turns()
        running.cancel()
        await turns()
        assert not running.done()
        assert counts(llms) == (6, 0)
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert counts(llms) == (6, 6)

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_second_cancellation_drops_the_calls() -> None:
    async def scenario() -> None:
        llms = Gate().llms()
        jobs = [Job(make_team(graph_pool.empty(2)), TASK, sample) for sample in range(3)]
        running = asyncio.create_task(run_batch(jobs, llms))
        await turns()
        running.cancel()
        await turns()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await turns()
        assert len(asyncio.all_tasks()) == 2, "this one, and the scenario's own"
        assert counts(llms) == (12, 0)

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_finished_rollouts_of_a_cancelled_batch_are_handed_out() -> None:
    async def scenario() -> None:
        gate, calls = Gate(), 0
        found: dict[int, Rollout] = {}

        def pause(header: Header, request: ChatRequest) -> object:
            nonlocal calls
            calls += 1
            return gate.opened.wait() if calls > 5 else None

        llms = StubLLM(pause=pause)  # type: ignore[arg-type]
        jobs = [Job(CHAIN, TASK, sample) for sample in range(4)]
        running = asyncio.create_task(run_batch(jobs, llms, slots=1, on_rollout=found.__setitem__))
        await turns()
        running.cancel()
        await turns()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError) as caught:
            await running
        assert found == {0: await run_team(CHAIN, TASK, StubLLM(), sample=0)}
        assert counts(llms) == (6, 6)
        assert any("1 of 4 rollouts finished" in note for note in caught.value.__notes__)

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_timeout_is_a_timeout_and_loses_nothing() -> None:
    async def scenario() -> None:
        gate = Gate()
        llms = gate.llms(at="s0")
        asyncio.get_running_loop().call_later(0.1, gate.opened.set)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await run_team(CHAIN, TASK, llms)
        assert counts(llms) == (2, 2)

    asyncio.run(asyncio.wait_for(scenario(), 10))


@pytest.mark.parametrize("stop", ["cancelled", "error"])
def test_a_stopped_run_drops_what_waits_for_its_turn(stop: str) -> None:
    """Two calls are out, and come back; the others are not sent any more."""
    gate, llms = Gate(), StubLLM()
    turn = asyncio.Semaphore(2)

    class OneByOne:
        async def complete(self, request: ChatRequest) -> Completion:
            if request.model == "broken":
                await gate.opened.wait()
                raise BudgetExceeded("limit")
            async with turn:
                return await llms.complete(request)

    async def scenario() -> None:
        release = asyncio.Event()
        llms.pause = lambda header, request: release.wait()  # type: ignore[assignment,return-value]
        jobs = [Job(make_team(graph_pool.empty(3)), TASK, sample) for sample in range(3)]
        broken = make_team(Topology(1), width=0)
        node = replace(broken.supernodes[0], synthesizer="broken")
        jobs.append(Job(replace(broken, supernodes=(node,)), TASK))
        running = asyncio.create_task(run_batch(jobs, OneByOne()))
        await turns()
        if stop == "error":
            gate.opened.set()
        else:
            running.cancel()
        await turns()
        assert counts(llms) == (2, 0)
        assert not running.done()
        release.set()
        with pytest.raises(BudgetExceeded if stop == "error" else asyncio.CancelledError):
            await running
        assert counts(llms) == (2, 2)

    asyncio.run(asyncio.wait_for(scenario(), 10))


def test_an_error_tells_how_many_rollouts_were_finished() -> None:
    class Limited(StubLLM):
        async def complete(self, request: ChatRequest) -> Completion:
            if len(self.asked) == 12:
                raise BudgetExceeded("limit")
            return await super().complete(request)

    jobs = [Job(CHAIN, TASK, sample) for sample in range(4)]
    with pytest.raises(BudgetExceeded) as caught:
        asyncio.run(run_batch(jobs, Limited(), slots=1))
    assert caught.value.__notes__ == [
        "in the rollout of task 'stub/1'",
        "2 of 4 rollouts finished; all calls that came back are kept in the call store",
    ]


def test_an_error_in_what_is_done_with_a_rollout_stops_the_batch() -> None:
    def full_disk(index: int, rollout: Rollout) -> None:
        raise OSError("no space left")

    llms = StubLLM()
    jobs = [Job(CHAIN, TASK, sample) for sample in range(4)]
    with pytest.raises(OSError, match="no space"):
        asyncio.run(run_batch(jobs, llms, slots=1, on_rollout=full_disk))
    assert counts(llms) == (5, 5)


def test_the_bar_counts_finished_rollouts(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [Job(CHAIN, TASK, sample) for sample in range(3)]
    asyncio.run(run_batch(jobs, StubLLM(), progress=True))
    assert "3/3" in capsys.readouterr().err
    asyncio.run(run_batch(jobs, StubLLM()))
    assert capsys.readouterr() == ("", "")


REPLY = (
    b'{"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [{"index": 0,'
    b' "finish_reason": "stop", "message": {"role": "assistant", "content": "Answer: B"}}],'
    b' "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}'
)

SCRIPT = """
import asyncio, sys
from pathlib import Path
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.teams.executor import Job, run_batch
from team_stubs import TASK, make_team
from hieramas_lib.teams import graph_pool

url, path = sys.argv[1:]
team = make_team(graph_pool.empty(2), width=1)
names = ["p0.0", "s0", "p1.0", "s1", "decider"]
llms = [
    {"name": n, "client": "openai", "model": n, "family": "f", "profile": "p", "base_url": url}
    for n in names
]
pool = LLMPool.model_validate(
    {"name": "own", "skip_profile": "-", "reference": "s0", "llms": llms}
)
service = connect(pool, store=CallStore(Path(path)))
jobs = [Job(team, TASK, sample) for sample in range(3)]
print("ready", flush=True)
asyncio.run(run_batch(jobs, service))
"""


@contextmanager
def slow_server(seconds: float) -> Iterator[tuple[str, list[float]]]:
    """An OpenAI-compatible server, and the moments at which it was asked."""
    asked: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked.append(time.monotonic())
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(REPLY)))
            self.end_headers()
            self.wfile.write(REPLY)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()


def stored(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT count(*) FROM calls").fetchone()[0])


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a child alone")
def test_ctrl_c_keeps_the_calls_that_were_sent_and_a_second_run_asks_for_the_rest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "OPENAI_API_KEY": "none"}
    with slow_server(0.5) as (url, asked):
        command = [sys.executable, "-c", SCRIPT, url, str(path)]
        child = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 60
        while len(asked) < 6 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        assert child.returncode != 0
        assert "KeyboardInterrupt" in errors
        # Two sources a rollout, three rollouts: six calls were out, and no synthesizer's began.
        assert len(asked) == stored(path) == 6
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        assert len(asked) == stored(path) == 15
