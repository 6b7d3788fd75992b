"""The methods of the result tables: by the names shown there, made for a benchmark.

Every method is built from the same parts (LLMs, roles, space of teams, encoder) and settings of
its own, in the sizes of :mod:`.method_settings`. A method's module is imported when the method is
asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import method_settings as sizes
from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.method_settings import Effort
from hieramas_lib.experiments.runs import is_simulated
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.saved_kinds import kind_of
from hieramas_lib.methods.saved_parts import Parts, check_named


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table.

    Attributes:
        family: What it is, for figures.
        kind: Class of the method, as :func:`.kind_of` knows it.
        settings: One of the functions of :mod:`.method_settings`.
        learns: Whether :meth:`Method.fit` does anything.
    """

    family: str
    kind: str
    settings: Callable[[Benchmark, str, Effort], Any]
    learns: bool = False


def method_names(*, learning: bool | None = None) -> tuple[str, ...]:
    """Return the names of all methods that run offline, in table order.

    Args:
        learning: True for those that learn alone, False for the others alone.
    """
    return tuple(name for name, row in _ROWS.items() if learning in (None, row.learns))


def families() -> dict[str, str]:
    """Return what each method is, such as ``"learned graphs"``, by its name."""
    return {name: row.family for name, row in _ROWS.items()}


def check_methods(names: Sequence[str]) -> None:
    """Make sure that there are ``names``, each once, and that the table knows them.

    Raises:
        ConfigError: names what is wrong.
    """
    if not names:
        raise ConfigError("methods: give at least one")
    for name in names:
        _row(name)
    if len(set(names)) < len(names):
        raise ConfigError("methods: one is named twice")


def settings_for(name: str, world: Benchmark, *, llm: str, effort: Effort = "quick") -> Any:
    """Return the settings of method ``name``, to be changed by ``dataclasses.replace``.

    Args:
        name: One of :func:`method_names`.
        world: Gives the LLMs there are.
        llm: LLM of a method that has but one.
        effort: How much is spent on learning.

    Raises:
        ConfigError: name or effort is unknown.
    """
    if effort not in get_args(Effort):
        raise ConfigError(f"effort: {effort!r} is not one of {', '.join(get_args(Effort))}")
    return _row(name).settings(world, llm, effort)


def make_method(
    name: str,
    world: Benchmark,
    *,
    seed: int,
    llm: str,
    effort: Effort = "quick",
    settings: Any = None,
) -> Method:
    """Make method ``name`` for a benchmark, not trained yet.

    Args:
        name: One of :func:`method_names`.
        world: Gives the LLMs, the space of teams and the encoder.
        seed: Of what the method draws.
        llm, effort: As :func:`settings_for` takes them.
        settings: In place of those that ``llm`` and ``effort`` give.

    Raises:
        ConfigError: a name is unknown, or a setting does not fit the benchmark.
    """
    settings = settings or settings_for(name, world, llm=llm, effort=effort)
    check_named(settings, world.llms)
    parts = Parts(
        settings=settings,
        llms=world.llms,
        roles=world.space.roles,
        seed=seed,
        given_space=world.space,
        given_encoder=world.encoder,
    )
    return kind_of(_row(name).kind).build(parts)


async def fit_costed(method: Method, world: Benchmark, *, seed: int) -> dict[str, Any]:
    """Train ``method`` on the benchmark's splits and return one row on what that took.

    Columns: ``method, benchmark, seed, simulated, train_tasks, calls, cost_usd, cost_reference,
    tokens, unpriced``. Costs are as if nothing were cached, from the ledger of the call store:
    nothing else may use the store meanwhile.
    """
    before = world.llms.usage
    await method.fit(world.train, world.val)
    after = world.llms.usage
    cost = after.as_if_usd - before.as_if_usd
    tokens = (after.prompt_tokens + after.completion_tokens) - (
        before.prompt_tokens + before.completion_tokens
    )
    return {
        "method": method.name,
        "benchmark": world.train[0].benchmark,
        "seed": seed,
        "simulated": is_simulated(world.llms.pool),
        "train_tasks": len(world.train),
        "calls": after.calls - before.calls,
        "cost_usd": cost,
        "cost_reference": cost / world.reference_cost,
        "tokens": tokens,
        "unpriced": after.unpriced - before.unpriced,
    }


def _row(name: str) -> _Row:
    if name not in _ROWS:
        raise ConfigError(f"methods: {name!r} is not one of {', '.join(_ROWS)}")
    return _ROWS[name]


_PROMPTS, _SHAPES, _FIXED = "prompts", "shapes", "fixed graphs"
_LEARNED, _ROUTERS, _QMIX, _OURS = "learned graphs", "search and routing", "Agent Q-Mix", "HieraMAS"

_ROWS: Final[Mapping[str, _Row]] = {
    "Base": _Row(_PROMPTS, "SingleLLM", sizes.base),
    "CoT": _Row(_PROMPTS, "SingleLLM", sizes.cot),
    "SC": _Row(_PROMPTS, "SingleLLM", sizes.sc),
    "SC + CoT": _Row(_PROMPTS, "SingleLLM", sizes.sc_cot),
    "Base, equal budget": _Row(_PROMPTS, "EqualBudget", sizes.equal_budget, learns=True),
    "LLM-Debate": _Row(_PROMPTS, "Debate", sizes.debate),
    "LLM-Debate, all rounds": _Row(_PROMPTS, "Debate", sizes.debate_all_rounds),
    "MoA": _Row(_PROMPTS, "MixtureOfAgents", sizes.mixture),
    "Shape: single call": _Row(_SHAPES, "SingleLLM", sizes.single_call),
    "Shape: chain": _Row(_SHAPES, "Turns", sizes.chain_of_turns),
    "Shape: round-robin chat": _Row(_SHAPES, "Turns", sizes.chat),
    "Full-Graph": _Row(_FIXED, "FixedGraph", sizes.full_graph),
    "Chain": _Row(_FIXED, "FixedGraph", sizes.chain),
    "Star": _Row(_FIXED, "FixedGraph", sizes.star),
    "Random-Graph": _Row(_FIXED, "RandomGraph", sizes.random_graph),
    "GDesigner": _Row(_LEARNED, "GDesigner", sizes.gdesigner, learns=True),
    "GDesigner, their code": _Row(_LEARNED, "GDesignerCode", sizes.gdesigner_code, learns=True),
    "TopoDIM": _Row(_LEARNED, "TopoDIM", sizes.topodim, learns=True),
    "GTD": _Row(_LEARNED, "GTD", sizes.gtd, learns=True),
    "AFlow": _Row(_ROUTERS, "AFlow", sizes.aflow, learns=True),
    "MASRouter": _Row(_ROUTERS, "MASRouter", sizes.masrouter, learns=True),
    "Agent Q-Mix": _Row(_QMIX, "AgentQMix", sizes.agent_qmix, learns=True),
    "Agent Q-Mix on supernodes": _Row(
        _QMIX, "AgentQMix", sizes.agent_qmix_on_supernodes, learns=True
    ),
    "HieraMAS": _Row(_OURS, "HieraMAS", sizes.hieramas, learns=True),
}
