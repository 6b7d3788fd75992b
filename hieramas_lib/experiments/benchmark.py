"""Everything a notebook needs to work on one shipped benchmark, with simulated or real LLMs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.config import RunConfig
from hieramas_lib.learning.encoder import ShippedVectors
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import ROOT, data_path, results_path
from hieramas_lib.tasks.load import BENCHMARKS, load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.team import Reads

SIMULATED = "simulated"
"""Name of the pool that needs no key: the twin of ``data/llm_pool.yaml``."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Which LLMs a run's numbers are about.

    Attributes:
        simulated: Whether they are simulated ones, which say nothing about real models.
        text: For captions, e.g. ``"hard simulated world"`` or ``"pool data/llm_pool.yaml"``.
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
    encoder: ShippedVectors

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
        if name not in BENCHMARKS:
            raise ConfigError(f"benchmark: {name!r} is not one of {', '.join(BENCHMARKS)}")
    for field, values in (("benchmarks", benchmarks), ("seeds", seeds)):
        if not values:
            raise ConfigError(f"{field}: give at least one")
    names = load_pool(_pool_file(pool)).names
    for field, llm in llms.items():
        if llm not in names:
            raise ConfigError(f"{field}: {llm!r} is not in pool {pool}; it has {', '.join(names)}")
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
        name: ``"knowledge"``, ``"maths"`` or ``"humaneval"``.
        pool: ``"simulated"``, or the path of a pool file, relative to the project.
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
    splits = {split: load_tasks(name, split) for split in ("train", "val", "test")}
    llms = (
        _simulated_llms(load_tasks(name), difficulty, seed)
        if pool == SIMULATED
        else real_llms(_pool_file(pool), budget_usd)
    )
    roles = load_roles(splits["train"][0].kind)
    space = TeamSpace(
        roles=roles,
        actions=ActionSpace(llms.pool.names, width),
        graphs=reference_pool(len(roles.roles), graphs, density, seed=seed),
        decision=llms.pool[decision].name,
        reads=reads,
    )
    return Benchmark(**splits, llms=llms, space=space, encoder=ShippedVectors())


def setting_of(config: RunConfig) -> Setting:
    """Name the LLMs behind a run that declares ``pool`` and ``difficulty``."""
    values = config.plain()
    if values["pool"] == SIMULATED:
        return Setting(simulated=True, text=f"{values['difficulty']} simulated world")
    return Setting(simulated=False, text=f"pool {values['pool']}")


def real_llms(path: Path, budget_usd: float) -> LLMService:
    """Connect to the LLMs of a pool file, once a process.

    All benchmarks and seeds of a run share one budget and one call store,
    ``results/calls.sqlite``, so that no call is paid for twice and the limit is for the whole.

    Called again, for instance by another run in the same kernel, it returns the same service, and
    ``budget_usd`` becomes the limit on all that this process spends there, before and after: what
    was spent stays spent. A pool file that was edited meanwhile takes a new process.

    Raises:
        ConfigError: as :func:`open_benchmark` says.
    """
    llms, budget = _connected(path.resolve())
    paid = [s.name for s in llms.pool.llms if s.price and s.price.input + s.price.output > 0]
    if paid and budget_usd <= 0:
        raise ConfigError(
            f"budget_usd: {', '.join(paid)} of {path} cost money; give a limit in US dollars, "
            "such as budget_usd: 5.0"
        )
    budget.usd = budget_usd
    return llms


@cache
def _connected(path: Path) -> tuple[LLMService, Budget]:
    """Connect to the LLMs of a pool file; the budget lets no paid call through yet."""
    pool, budget = load_pool(path), Budget(usd=0.0)
    store = results_path("calls.sqlite")
    store.parent.mkdir(parents=True, exist_ok=True)
    return connect(pool, store=CallStore(store), budget=budget), budget


def _simulated_llms(tasks: Sequence[Task], difficulty: str, seed: int) -> LLMService:
    pool = load_pool(_pool_file(SIMULATED)).simulated()
    return connect(pool, world=World(tasks, load_settings(difficulty), pool, seed))


def _pool_file(pool: str) -> Path:
    return data_path("llm_pool.yaml") if pool == SIMULATED else ROOT / pool
