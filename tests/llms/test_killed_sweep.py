"""kill -9 at random moments of a sweep: no answered call is paid twice, nothing else differs."""

import asyncio
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import killed_sweep
import pytest
from serving import serving
from world_cases import make_pool

from hieramas_lib.llms.call_store import CallStore, decode
from hieramas_lib.llms.call_summary import DIED, listing, summarise, unanswered
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.llms.server import make_app
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.world import World, load_settings

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX")

CALLS_OF_A_ROLLOUT = 10
PATIENCE_S = 120


@dataclass
class Log:
    """The requests that reached the provider, in the order they came, each as one text."""

    asked: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, request: ChatRequest) -> None:
        messages = [{"content": m.content, "role": m.role} for m in request.messages]
        with self.changed:
            self.asked.append(text_of(request.model, messages, request.sample))
            self.changed.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have come."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.asked) >= count, PATIENCE_S)


def text_of(model: str, messages: list[dict[str, str]], sample: int) -> str:
    """Tell calls apart by what both ends see of them: not every model takes a temperature."""
    return json.dumps([model, messages, sample])


class Billed:
    """A simulated LLM that takes a moment, and whose calls are written down as they come."""

    def __init__(self, llm: LLMClient, log: Log) -> None:
        self.llm, self.log = llm, log

    async def complete(self, request: ChatRequest) -> Completion:
        self.log.add(request)
        await asyncio.sleep(0.02)
        return await self.llm.complete(request)


@pytest.fixture
def provider() -> Iterator[tuple[str, Log]]:
    """A running provider, and what it was asked."""
    world = World(killed_sweep.TASKS, load_settings("hard"), make_pool(), seed=3)
    log = Log()
    llms = {spec.name: Billed(SimulatedClient(spec, world), log) for spec in make_pool().llms}
    with serving(make_app(llms)) as url:
        yield url, log


def start(url: str, store: Path, records: Path, rollouts: int) -> subprocess.Popen:
    here = Path(killed_sweep.__file__)
    command = [sys.executable, str(here), url, str(store), str(records), str(rollouts)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def stored(path: Path) -> dict[str, str]:
    """Key to text of the calls that were answered."""
    if not path.exists():
        return {}
    store = CallStore(path)
    rows = store.rows("SELECT key, request FROM calls")
    store.close()
    requests = ((key, json.loads(decode(blob))) for key, blob in rows)
    return {key: text_of(r["model"], r["messages"], r["sample"]) for key, r in requests}


def run_killed(
    url: str, log: Log, store: Path, records: Path, rollouts: int, kills: int
) -> list[int]:
    """Run the sweep, killed that often; return how many stored calls each start found."""
    rng, calls, found = random.Random(kills), rollouts * CALLS_OF_A_ROLLOUT, []
    while True:
        known, asked = set(stored(store).values()), len(log.asked)
        found.append(len(known))
        child = start(url, store, records, rollouts)
        if len(found) <= kills:
            more = rng.randint(1, max(1, (calls - len(known)) // (kills - len(found) + 2)))
            log.wait_for(asked + more)
            time.sleep(rng.uniform(0, 0.03))
            child.kill()
        output = child.communicate(timeout=PATIENCE_S)[0]
        again = known & set(log.asked[asked:])
        assert not again, f"start {len(found)} sent {len(again)} calls that were answered before"
        if len(found) > kills:
            assert child.returncode == 0, output
            return found
        assert child.returncode == -signal.SIGKILL, output


@pytest.mark.parametrize(
    ("rollouts", "kills"),
    [(6, 3), pytest.param(20, 20, marks=pytest.mark.slow)],
    ids=["3 kills", "20 kills"],
)
def test_a_killed_sweep_ends_like_one_that_was_not(
    provider: tuple[str, Log], tmp_path: Path, rollouts: int, kills: int
) -> None:
    calls = rollouts * CALLS_OF_A_ROLLOUT
    url, log = provider
    store, records = tmp_path / "killed" / "calls.sqlite", tmp_path / "killed.jsonl"
    found = run_killed(url, log, store, records, rollouts, kills)
    sent, answered, ended = Counter(log.asked), stored(store), CallStore(store)
    marked = Counter(answered[key] for (key,) in ended.rows("SELECT key FROM unanswered"))

    assert set(sent) == set(answered.values())
    assert len(answered) == ended.count() == calls, "none lost, none twice"
    # A call was sent again only if a kill found it under way, and then it is marked.
    assert all(times - 1 <= marked[call] for call, times in sent.items())
    cut_off = [call for call in unanswered(ended) if call.outcome == DIED]
    assert sum(call.calls for call in cut_off) == marked.total()
    assert {call.experiment for call in cut_off} == {killed_sweep.EXPERIMENT}
    made = summarise(ended, "experiment")[killed_sweep.EXPERIMENT].made
    assert made == calls

    whole = tmp_path / "whole.jsonl"
    killed_sweep.main(url, tmp_path / "whole" / "calls.sqlite", whole, rollouts)
    assert records.read_bytes() == whole.read_bytes()
    print(
        f"\n{kills} kills with {found[1:]} of {calls} calls stored: {sum(sent.values())} calls "
        f"sent, {sum(sent.values()) - calls} of them again, {marked.total()} marked as under way"
    )
    print("\n".join(listing(ended, "model")))
