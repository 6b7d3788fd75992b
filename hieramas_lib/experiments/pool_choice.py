"""What a notebook's parameters ``pool`` and ``budget_usd`` mean, and whether they can be had.

Light to import, so that a batch can be checked before anything heavy is started.
"""

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world import World
from hieramas_lib.paths import ROOT, data_path

if TYPE_CHECKING:
    from hieramas_lib.experiments.benchmark_source import BenchmarkSource
    from hieramas_lib.llms.service import LLMService

SIMULATED = "simulated"
"""Name of the pool that needs no key: the twin of ``data/llm_pool.yaml``.

``"simulated:data/pools/qwen.yaml"`` is the twin of another pool file.
"""

ALLOTTED = "HIERAMAS_BUDGET_USD"
"""Environment variable with what a sweep leaves a run to spend, in US dollars."""


def simulates(pool: str) -> bool:
    """Whether the parameter ``pool`` asks for simulated LLMs."""
    return pool.partition(":")[0] == SIMULATED


def pool_of(pool: str) -> LLMPool:
    """Read the pool that a notebook's parameter ``pool`` means, a simulated one as such.

    Raises:
        ConfigError: the pool file is missing or malformed.
    """
    if pool == SIMULATED:
        return load_pool(data_path("llm_pool.yaml")).simulated()
    if simulates(pool):
        return load_pool(ROOT / pool.removeprefix(f"{SIMULATED}:")).simulated()
    return load_pool(ROOT / pool)


def simulated_llms(
    pool: LLMPool, source: "BenchmarkSource", difficulty: str, seed: int
) -> "LLMService":
    """Connect to a simulated pool, in a new world that knows the questions of ``source``.

    Raises:
        ConfigError: there is no such difficulty.
    """
    return connect(pool, world=World(source.tasks, source.settings(difficulty), pool, seed))


def check_llms(pool: str, llms: Mapping[str, str]) -> None:
    """Make sure that ``pool`` has the LLMs which parameters name.

    Args:
        pool: The parameter ``pool``.
        llms: Parameter name to the LLM that it names.

    Raises:
        ConfigError: names the parameter, and the LLMs there are.
    """
    names = pool_of(pool).names
    for field, llm in llms.items():
        if llm not in names:
            raise ConfigError(f"{field}: {llm!r} is not in pool {pool}; it has {', '.join(names)}")


def check_budget(pool: LLMPool, named: str, budget_usd: float) -> None:
    """Make sure that there is a limit on what LLMs may spend that cost money.

    Args:
        pool: The LLMs.
        named: The pool's file, for the message.
        budget_usd: The limit; 0 for none given.

    Raises:
        ConfigError: a limit is missing; names the LLMs.
    """
    paid = [s.name for s in pool.llms if s.price and s.price.input + s.price.output > 0]
    if paid and budget_usd <= 0:
        raise ConfigError(
            f"budget_usd: {', '.join(paid)} of {named} cost money; give a limit in US dollars, "
            "such as budget_usd: 5.0"
        )


def check_access(pool: str, budget_usd: float) -> None:
    """Make sure that the LLMs of ``pool`` can be asked: keys, files and packages are there.

    Nothing is called, and a server that does not run is not noticed.

    Raises:
        ConfigError: names what is missing, and the fix.
    """
    if simulates(pool):
        return
    llms = pool_of(pool)
    check_budget(llms, str(ROOT / pool), budget_usd)
    connect(llms, store=CallStore(None)).store.close()


def allotted_usd() -> float:
    """Return what the sweep that started this process leaves it to spend; infinite without one."""
    return float(os.environ.get(ALLOTTED, math.inf))
