"""Parameters with a name that means the same in every notebook, checked before a kernel starts.

Names and types are checked against the notebook's parameters cell (:mod:`.config`). What is
checked here is what values stand for: a benchmark or pool that is there, LLMs that are in the pool,
keys that are set, a spending limit. A notebook checks the same for those who run it by hand.

A notebook without ``pool`` works on the simulated one. Names that are not in :data:`KNOWN` are let
pass: what they may be, their notebook checks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.pool_choice import SIMULATED, check_access, check_llms, pool_of
from hieramas_lib.llms.world import load_settings

LEAST: Final[Mapping[str, int]] = {
    "passes": 1, "graphs": 1, "graphs_per_task": 1, "width": 1, "group": 2, "tests": 0, "rounds": 1,
    "agents": 1, "epochs": 1, "batch": 1, "episodes": 1, "questions": 1, "draws": 1,
}  # fmt: skip
"""Numbers, and the least that each may be."""

CHOICES: Final = ("credit", "effort", "mode", "engine", "rule", "reads", "faults", "trained_with")
"""Words, or lists of words, of which only some are known: see :func:`_words`."""

KNOWN: Final = (
    "benchmark", "benchmarks", "pool", "budget_usd", "difficulty", "difficulties", "seeds",
    "decision", "strongest", "alone", "llms", "agent_llms", "methods", "variants", "alpha",
    *LEAST, *CHOICES,
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
    for name in ("alone", "llms", "agent_llms"):
        llms |= {f"{name}, place {n}": llm for n, llm in enumerate(values.get(name, ()), start=1)}
    pool = values.get("pool", SIMULATED)
    if llms or "pool" in values:
        check_llms(pool, llms)
        check_access(pool, values.get("budget_usd", 0.0))
    _check_numbers(values)
    for name in CHOICES:
        if name in values:
            _check_words(name, values[name])
    if "methods" in values:
        from hieramas_lib.experiments.comparison import chosen_methods

        chosen_methods(values["methods"], pool_of(pool))
    if isinstance(values.get("variants"), list | tuple):
        from hieramas_lib.experiments.ablations.variants import System, named_variants, variant

        for name in named_variants(values["variants"]):
            variant(System(), name)


def _check_numbers(values: Mapping[str, Any]) -> None:
    for name, least in LEAST.items():
        if values.get(name, least) < least:
            raise ConfigError(f"{name}: at least {least}, got {values[name]}")
    if not 0 <= values.get("alpha", 0) <= 1:
        raise ConfigError(f"alpha: from 0 to 1, got {values['alpha']}")


def _check_words(name: str, given: str | Sequence[str]) -> None:
    known = _words(name)
    for word in (given,) if isinstance(given, str) else given:
        if word not in known:
            raise ConfigError(f"{name}: {word!r} is not one of {', '.join(known)}")


def _words(name: str) -> tuple[str, ...]:
    """Return what a parameter of :data:`CHOICES` may be; modules are imported when asked for."""
    match name:
        case "credit":
            from hieramas_lib.learning.credit import CreditMode as Words
        case "effort":
            from hieramas_lib.experiments.method_settings import Effort as Words
        case "mode":
            from hieramas_lib.learning.qmix.actions import Mode as Words
        case "engine":
            from hieramas_lib.experiments.ablations.systems_in_world import Engine as Words
        case "rule":
            from hieramas_lib.learning.labels import LabelRule as Words
        case "reads":
            from hieramas_lib.teams.team import Reads as Words
        case _:
            from hieramas_lib.llms.faulty_service import FaultKind as Words
    return get_args(Words)


def _all(values: Mapping[str, Any], one: str, several: str) -> list[str]:
    """Return what a parameter in the singular and one in the plural name together."""
    return [*([values[one]] if one in values else []), *values.get(several, ())]
