"""Benchmarks opened as a notebook's parameters say, their calls booked to its run."""

from typing import Any

from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.runs import Run


def open_for(run: Run, benchmark: str, seed: int, **changes: Any) -> Benchmark:
    """Open ``benchmark`` for a run and let the run watch its LLMs.

    The run declares ``pool, budget_usd, difficulty, graphs, width`` and ``decision``, but for those
    given here.

    Args:
        run: Whose parameters hold.
        benchmark: As :func:`~.benchmark.open_benchmark` takes it.
        seed: Of the simulated world and of the graph pool.
        changes: Further arguments of :func:`~.benchmark.open_benchmark`, or other values for some.

    Raises:
        ConfigError: as :func:`~.benchmark.open_benchmark` says.
    """
    values = run.config.plain()
    names = ("pool", "budget_usd", "difficulty", "graphs", "width", "decision")
    arguments = {name: values[name] for name in names if name not in changes} | changes
    world = open_benchmark(benchmark, seed=seed, **arguments)
    run.watch(world.llms)
    return world
