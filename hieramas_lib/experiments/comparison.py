"""All methods of a comparison in one world: trained, asked the same questions, and costed alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.method_settings import Effort
from hieramas_lib.experiments.method_table import (
    check_methods,
    fit_costed,
    make_method,
    method_names,
    settings_for,
)
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.methods.fixed import PolicyTeam, decision_alone, random_policy
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.method import Method
from hieramas_lib.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

OURS: Final = "HieraMAS"
EVERY: Final = "all"
EQUAL_BUDGET: Final = "Base, equal budget"
RANDOM_GRAPH: Final = "Random-Graph"
DRAWS: Final = 3
"""Draws of Random-Graph in each world, all of them in the mean: one may be lucky."""

FRAMEWORKS: Final = ("LangGraph", "AutoGen")
"""Run as they come from PyPI, on request alone: they are an extra, and slow."""

_NEED_PRICES: Final = (EQUAL_BUDGET, "AFlow")

PARTS: Final = (
    "HieraMAS, random graph",
    "Untrained prior",
    "Random policy",
    "Decision LLM alone",
)
"""What is compared besides: HieraMAS with parts taken away, down to no team at all."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out in one world.

    Attributes:
        records: One row an item and method, see :mod:`.records`; Random-Graph has one a draw.
        training: One row a method that learns, see :func:`.fit_costed`.
    """

    records: "pd.DataFrame"
    training: "pd.DataFrame"


def chosen_methods(names: Sequence[str], pool: LLMPool) -> tuple[str, ...]:
    """Return the methods that a notebook's parameter means, in table order, ours included.

    Args:
        names: Names of :func:`.method_names` and :data:`FRAMEWORKS`; or ``"all"`` alone, for all
            that come with the project.
        pool: Whose LLMs answer.

    Raises:
        ConfigError: a name is unknown or given twice, there is none, the frameworks are not
            installed, or a method needs prices that are not known.
    """
    if tuple(names) == (EVERY,):
        names = method_names()
    own = [name for name in names if name not in FRAMEWORKS]
    if own or not names:
        check_methods(own)
    if set(names) & set(FRAMEWORKS) and find_spec("langgraph") is None:
        raise ConfigError('methods: LangGraph and AutoGen need `pip install -e ".[frameworks]"`')
    unpriced = [spec.name for spec in pool.llms if spec.price is None]
    priced = [name for name in names if name in _NEED_PRICES]
    if unpriced and priced:
        raise ConfigError(
            f"methods: {' and '.join(priced)} need the price of every LLM, and {unpriced[0]!r} has "
            "none in the pool file; leave them out, or add it"
        )
    order = list(method_names())
    order[order.index("Full-Graph") : order.index("Full-Graph")] = FRAMEWORKS
    return tuple(name for name in order if name in {*names, OURS})


def planned_rows(names: Sequence[str], tasks: int) -> int:
    """Return how many records :func:`compare_methods` makes in one world."""
    return tasks * (len(names) + len(PARTS) + (DRAWS - 1) * (RANDOM_GRAPH in names))


async def compare_methods(
    names: Sequence[str],
    world: Benchmark,
    tasks: Sequence[Task],
    *,
    seed: int,
    llm: str,
    effort: Effort = "quick",
    ours: Mapping[str, Any] | None = None,
) -> Comparison:
    """Train and ask ``names``, and HieraMAS with parts taken away.

    HieraMAS is first, as it says what "Base, equal budget" may cost: as much per item.

    Args:
        names: As :func:`chosen_methods` returns them.
        world: Where.
        tasks: What is asked.
        seed: Of all training and draws.
        llm: Of methods with one LLM.
        effort: See :mod:`.method_settings`.
        ours: Fields to change in HieraMAS's settings.

    Raises:
        ConfigError: HieraMAS is not among ``names``, or a method does not fit the benchmark.
    """
    import pandas as pd

    if OURS not in names:
        raise ConfigError(f"methods: {OURS} has to be among them, as the others are compared to it")
    settings = replace(settings_for(OURS, world, llm=llm, effort=effort), **(ours or {}))
    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    training = [await fit_costed(system, world, seed=seed)]
    frames = {OURS: await _asked([system], world, tasks, seed)}
    budget = float(frames[OURS]["cost_reference"].mean())
    for name in [name for name in names if name not in (OURS, *FRAMEWORKS)]:
        methods = _made(name, world, seed, llm, effort, budget)
        training += [await fit_costed(method, world, seed=seed) for method in methods]
        frames[name] = await _asked(methods, world, tasks, seed)
    for name in [name for name in FRAMEWORKS if name in names]:
        frames[name] = await _framework(name, world, tasks, seed, llm)
    for part in hieramas_parts(system, world, seed):
        frames[part.name] = await _asked([part], world, tasks, seed)
    rows = pd.DataFrame(training).set_index("method", drop=False)
    learning = [name for name in names if name in method_names(learning=True)]
    return Comparison(
        pd.concat([frames[name] for name in (*names, *PARTS)], ignore_index=True),
        rows.loc[learning].reset_index(drop=True),
    )


def hieramas_parts(system: HieraMAS, world: Benchmark, seed: int) -> tuple[Method, ...]:
    """Return :data:`PARTS` of a trained system: without the classifier, training, or a team."""
    space, llms, features = world.space, world.llms, world.featurizer()
    untrained = HieraMAS(space, llms, world.encoder, system.settings, seed).policy
    graphless, prior = PARTS[:2]
    return (
        PolicyTeam(graphless, space, llms, system.policy, features, sampled=False, seed=seed),
        PolicyTeam(prior, space, llms, untrained, features, sampled=False, seed=seed),
        random_policy(space, llms, features, seed),
        decision_alone(space, llms),
    )


def _made(
    name: str, world: Benchmark, seed: int, llm: str, effort: Effort, budget: float
) -> list[Method]:
    """Make a method; several draws of one whose draws are averaged."""
    settings = settings_for(name, world, llm=llm, effort=effort)
    if name == EQUAL_BUDGET:
        settings = replace(settings, reference_calls=budget)
    each = [settings]
    if name == RANDOM_GRAPH:
        each = [replace(settings, draw=draw) for draw in range(DRAWS)]
    return [make_method(name, world, seed=seed, llm=llm, settings=one) for one in each]


async def _framework(
    name: str, world: Benchmark, tasks: Sequence[Task], seed: int, llm: str
) -> "pd.DataFrame":
    from hieramas_lib.methods.frameworks.autogen_chat import AutoGenChat
    from hieramas_lib.methods.frameworks.langgraph_chain import LangGraphChain
    from hieramas_lib.methods.frameworks.served import serve_llms

    adapter = LangGraphChain if name == "LangGraph" else AutoGenChat
    with serve_llms(world.llms) as served:
        return await _asked([adapter(llm, served, world.space.roles)], world, tasks, seed)


async def _asked(
    methods: Sequence[Method], world: Benchmark, tasks: Sequence[Task], seed: int
) -> "pd.DataFrame":
    import pandas as pd

    pool = world.llms.pool
    frames = [await evaluate(method, tasks, pool=pool, seed=seed) for method in methods]
    return pd.concat(frames, ignore_index=True)
