"""Cost of the call store on disk, in CPU time (design 14).

Run ``python tests/bench/bench_store.py``: it prints figures next to their goals and asserts none,
as a busy machine is no fault of the code.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.service import LLMService

CALLS = 3000
WORDS = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split()


class StubLLM:
    """Answers at once."""

    async def complete(self, request: ChatRequest) -> Completion:
        return Completion("word " * 80, "stop", 700, 80, 1e-4, 0.1, False, "")


def requests(count: int, seed: int = 0) -> list[ChatRequest]:
    """Prompts of 2.7 kB: a header that repeats and a text that does not."""
    rng = random.Random(seed)
    system = Message("system", Header("Critic", "proposer").render() + "\n\n" + "Be strict. " * 40)
    return [
        ChatRequest("a", (system, Message("user", " ".join(rng.choices(WORDS, k=330)))), sample=n)
        for n in range(count)
    ]


def service(store: CallStore, client: str) -> LLMService:
    """One LLM that answers at once, behind ``store``."""
    spec = LLMSpec.model_validate(
        {"name": "a", "client": client, "model": "a", "family": "f", "profile": "p"}
    )
    pool = LLMPool(name="bench", skip_profile="-", reference="a", llms=(spec,))
    return LLMService(pool, {"a": StubLLM()}, store)


def microseconds(work: Callable[[], object]) -> float:
    """CPU time of ``work`` for each call."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / CALLS * 1e6


def bare(path: Path | None) -> None:
    """Time put and get of the store by itself."""
    store = CallStore(path)
    asked = requests(CALLS)
    size = sum(len(r.canonical("openai", "a")) for r in asked) / CALLS / 1000
    texts = [r.canonical("openai", "a") for r in asked]
    keys = [r.key("openai", "a") for r in asked]
    done = [Completion("word " * 80, "stop", 700, 80, 1e-4, 0.1, False, key) for key in keys]

    def put_all() -> None:
        for completion, text in zip(done, texts, strict=True):
            store.put(completion, name="a", client="openai", model="a", request=text, paid=True)

    def get_all() -> None:
        for key in keys:
            assert store.get(key)

    where = "on disk" if path else "in memory"
    print(
        f"store {where}, requests of {size:.1f} kB, us of CPU time: "
        f"put {microseconds(put_all):.0f} (goal 60), get {microseconds(get_all):.0f}, "
        f"and again {microseconds(get_all):.0f}"
    )


def through_the_service(path: Path, client: str) -> None:
    """Time a call that is made, and one that is answered from the store."""
    llms, asked = service(CallStore(path), client), requests(CALLS, seed=1)

    async def all_of_them() -> None:
        for request in asked:
            await llms.complete(request)

    made, hit = (microseconds(lambda: asyncio.run(all_of_them())) for _ in range(2))
    print(
        f"through the service, client {client}, us of CPU time: call {made:.0f}, "
        f"hit {hit:.0f} (goal 200)"
    )


READER = "import sys; sys.path.insert(0, {folder!r}); import bench_store as b; b.read_all({path!r})"


def read_all(path: str) -> None:
    """Answer all requests from the store, and print the microseconds a hit takes by the clock."""
    llms, asked = service(CallStore(Path(path)), "openai"), requests(CALLS, seed=1)
    began = time.perf_counter()

    async def all_of_them() -> None:
        for request in asked:
            await llms.complete(request)

    asyncio.run(all_of_them())
    print(f"{(time.perf_counter() - began) / CALLS * 1e6:.0f}")


def four_readers(path: Path) -> None:
    """Time hits of four processes at once, by the clock: they note them in the same file."""
    code = READER.format(folder=str(Path(__file__).parent), path=str(path))
    readers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    times = [reader.communicate()[0].strip() for reader in readers]
    print(f"four processes at once, us a hit by the clock: {', '.join(times)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        bare(None)
        bare(Path(folder) / "bare.sqlite")
        through_the_service(Path(folder) / "simulated.sqlite", "simulated")
        through_the_service(Path(folder) / "paid.sqlite", "openai")
        four_readers(Path(folder) / "paid.sqlite")
