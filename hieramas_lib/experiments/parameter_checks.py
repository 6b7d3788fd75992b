"""Parameters with a name that means the same in every notebook, checked before a kernel starts.

Names and types are checked against the notebook's parameters cell (:mod:`.config`). What is
checked here is what values stand for: a benchmark or pool that is there, LLMs that are in the pool,
keys that are set, a spending limit. A notebook checks the same for those who run it by hand.

The names: ``benchmark``, ``benchmarks``, ``pool``, ``budget_usd``, ``difficulty``,
``difficulties``, ``seeds``, ``decision``, ``strongest`` and ``alone``. A notebook without ``pool``
works on the simulated one.
"""

from collections.abc import Mapping
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.pool_choice import SIMULATED, check_access, check_llms
from hieramas_lib.llms.world import load_settings

KNOWN = (
    "benchmark", "benchmarks", "pool", "budget_usd", "difficulty", "difficulties", "seeds",
    "decision", "strongest", "alone",
)  # fmt: skip


def check_parameters(where: str, values: Mapping[str, Any]) -> None:
    """Check the values of well-known parameters against what they stand for.

    Args:
        where: Names the run in messages.
        values: All parameters of the run, defaults included; others than the known are let pass.

    Raises:
        ConfigError: names the run, the parameter and what it may be.
    """
    try:
        _check(values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _check(values: Mapping[str, Any]) -> None:
    for name in ("seeds", "benchmarks", "difficulties"):
        if name in values and not values[name]:
            raise ConfigError(f"{name}: give at least one")
    for benchmark in _all(values, "benchmark", "benchmarks"):
        benchmark_source(benchmark).encoder()
    for difficulty in _all(values, "difficulty", "difficulties"):
        load_settings(difficulty)
    llms = {name: values[name] for name in ("decision", "strongest") if name in values}
    llms |= {f"alone, place {n}": llm for n, llm in enumerate(values.get("alone", ()), start=1)}
    pool = values.get("pool", SIMULATED)
    if llms or "pool" in values:
        check_llms(pool, llms)
        check_access(pool, values.get("budget_usd", 0.0))


def _all(values: Mapping[str, Any], one: str, several: str) -> list[str]:
    """Return what a parameter in the singular and one in the plural name together."""
    return [*([values[one]] if one in values else []), *values.get(several, ())]
