"""Self-consistency draws the same samples and gives the same votes with the cache on and off."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import serving
from world_cases import choice_tasks, make_pool

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.server import Served, make_app
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.methods.single import self_consistency
from hieramas_lib.teams.roles import load_roles

TASKS = choice_tasks(12)
LLM = "llama-3.1-8b"
Connect = Callable[[CallStore], LLMService]


def simulated_world() -> World:
    return World(TASKS, load_settings("hard"), make_pool(), seed=3)


def behind_a_server(url: str) -> LLMPool:
    """The pool as the OpenAI SDK reaches it."""
    pool = make_pool()
    found = {"client": "openai", "base_url": f"{url}/v1", "max_concurrency": 4}
    return pool.model_copy(
        update={"llms": tuple(spec.model_copy(update=found) for spec in pool.llms)}
    )


@pytest.fixture(params=["simulated", "loopback"])
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[Connect, list[Served]]]:
    """Opens the world on a store, in process or through a real SDK; and the server's log."""
    world, pool, log = simulated_world(), make_pool(), []
    if request.param == "simulated":
        yield lambda store: connect(pool, store=store, world=world), log
        return
    clients = {spec.name: SimulatedClient(spec, world) for spec in pool.llms}
    with serving(make_app(clients, log=log.append)) as url:
        yield lambda store: connect(behind_a_server(url), store=store), log


def test_the_same_votes(opened: tuple[Connect, list[Served]], tmp_path: Path) -> None:
    connect_to, log = opened
    path = tmp_path / "calls.sqlite"

    def run(store: CallStore) -> tuple[list[tuple[str, ...]], list[str], int]:
        """Return each task's samples, its vote, and how many calls were made."""
        llms = connect_to(store)
        method = self_consistency(LLM, llms, load_roles("choice"), samples=5)

        async def all_of_them() -> list:
            return [await method.answer(task) for task in TASKS]

        rollouts = asyncio.run(all_of_them())
        samples = [tuple(call.text for call in rollout.calls) for rollout in rollouts]
        made = llms.usage.made
        store.close()
        return samples, [rollout.answer for rollout in rollouts], made

    samples, votes, made = run(CallStore(None, "live"))
    assert made == 60
    assert any(len(set(five)) > 1 for five in samples), "or there is nothing to mix up"
    assert run(CallStore(None, "live")) == (samples, votes, 60)
    assert run(CallStore(path, "cache")) == (samples, votes, 60)
    assert run(CallStore(path, "cache")) == (samples, votes, 0)
    assert run(CallStore(path, "replay")) == (samples, votes, 0)
    if log:
        assert len(log) == 3 * 60
        assert len({served.digest for served in log}) == 60
