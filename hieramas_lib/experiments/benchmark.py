"""Everything a notebook needs to work on one benchmark, with simulated or real LLMs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.config import RunConfig
from hieramas_lib.experiments.pool_choice import (
    SIMULATED,
    allotted_usd,
    check_budget,
    check_llms,
    pool_of,
    simulated_llms,
    simulates,
)
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.paths import ROOT, call_store_path
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.team import Reads


@dataclass(frozen=True, slots=True)
class Setting:
    """Which LLMs a run's numbers are about.

    Attributes:
        simulated: Whether they are simulated ones, which say nothing about real models.
        text: For captions, e.g. ``"hard simulated world"`` or ``"real LLMs: a, b"``.
    """

    simulated: bool
    text: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's splits, a pool that answers, and the space of teams over it."""

    train: tuple[Task, ...]
    val: tuple[Task, ...]
    test: tuple[Task, ...]
    llms: LLMService
    space: TeamSpace
    encoder: Encoder

    @property
    def reference_cost(self) -> float:
        """US dollars of one usual call of the pool's reference LLM."""
        return self.llms.pool.reference_cost

    def featurizer(self) -> Featurizer:
        """Return features scaled on the training split."""
        return Featurizer(self.encoder, self.space.roles, self.train)


def check_plan(
    *,
    pool: str,
    benchmarks: Sequence[str],
    seeds: Sequence[int],
    llms: Mapping[str, str],
    at_least_one: Mapping[str, int],
) -> None:
    """Check what a notebook is about to do, before anything is trained or paid for.

    Args:
        pool: As :func:`open_benchmark` takes it.
        benchmarks: All that will be opened.
        seeds: All that will be run.
        llms: Parameter name to the LLM that it names.
        at_least_one: Parameter name to a number that must not be below 1.

    Raises:
        ConfigError: names the parameter and what it may be.
    """
    for name in benchmarks:
        benchmark_source(name).encoder()
    for field, values in (("benchmarks", benchmarks), ("seeds", seeds)):
        if not values:
            raise ConfigError(f"{field}: give at least one")
    check_llms(pool, llms)
    for field, number in at_least_one.items():
        if number < 1:
            raise ConfigError(f"{field}: at least 1, got {number}")


def open_benchmark(
    name: str,
    *,
    pool: str = SIMULATED,
    budget_usd: float = 0.0,
    difficulty: str = "hard",
    seed: int,
    graphs: int,
    density: tuple[float, float] = (0.3, 0.7),
    width: int,
    decision: str,
    reads: Reads = "all",
) -> Benchmark:
    """Open benchmark ``name``.

    Args:
        name: ``"knowledge"``, ``"maths"``, ``"humaneval"``, or the path of a file that describes
            one of your own: see :func:`~.benchmark_source.benchmark_source`.
        pool: ``"simulated"``, the path of a pool file, relative to the project, or
            ``"simulated:"`` and such a path.
        budget_usd: Spending limit of this process for a pool file with prices; see
            :func:`real_llms`.
        difficulty: Settings of the simulated world, see ``data/simulation``.
        seed: Of the simulated world and of the graph pool.
        graphs: Size K of the graph pool.
        density: Range of the share of forward edges in a graph of the pool.
        width: Proposers of a supernode, W.
        decision: LLM that gives the final answer.
        reads: What the decision reads.

    Raises:
        ConfigError: an unknown benchmark, difficulty, LLM or pool file, a missing key, or paid
            LLMs without a budget; before any call.
    """
    source = benchmark_source(name)
    if simulates(pool):
        llms = simulated_llms(pool_of(pool), source, difficulty, seed)
    else:
        llms = real_llms(ROOT / pool, budget_usd)
    roles = source.roles
    space = TeamSpace(
        roles=roles,
        actions=ActionSpace(llms.pool.names, width),
        graphs=reference_pool(len(roles.roles), graphs, density, seed=seed),
        decision=llms.pool[decision].name,
        reads=reads,
    )
    return Benchmark(
        source.train, source.val, source.test, llms=llms, space=space, encoder=source.encoder()
    )


def held_out(name: str) -> tuple[Task, ...]:
    """Return the test split of benchmark ``name``, for planning; see :func:`open_benchmark`."""
    return benchmark_source(name).test


def setting_of(config: RunConfig) -> Setting:
    """Name the LLMs behind a run that declares ``pool`` and ``difficulty``."""
    values = config.plain()
    pool, world = values["pool"], f"{values['difficulty']} simulated world"
    if pool == SIMULATED:
        return Setting(simulated=True, text=world)
    if simulates(pool):
        return Setting(simulated=True, text=f"{world}, pool {pool_of(pool).name!r}")
    return Setting(simulated=False, text=f"real LLMs: {', '.join(pool_of(pool).names)}")


def real_llms(path: Path, budget_usd: float) -> LLMService:
    """Connect to the LLMs of a pool file, once a process.

    All benchmarks and seeds of a run share one budget and one call store, usually
    ``results/calls.sqlite``, so that no call is paid for twice and the limit is for the whole. In
    a sweep with a limit of its own, what is left of that is the limit if it is less.

    Called again, for instance by another run in the same kernel, it returns the same service, and
    ``budget_usd`` becomes the limit on all that this process spends there, before and after: what
    was spent stays spent. A pool file that was edited meanwhile takes a new process.

    Raises:
        ConfigError: as :func:`open_benchmark` says.
    """
    llms, budget = _connected(path.resolve())
    check_budget(llms.pool, str(path), budget_usd)
    budget.usd = min(budget_usd, allotted_usd())
    return llms


@cache
def _connected(path: Path) -> tuple[LLMService, Budget]:
    """Connect to the LLMs of a pool file; the budget lets no paid call through yet."""
    pool, budget = load_pool(path), Budget(usd=0.0)
    store = call_store_path()
    store.parent.mkdir(parents=True, exist_ok=True)
    return connect(pool, store=CallStore(store), budget=budget), budget
