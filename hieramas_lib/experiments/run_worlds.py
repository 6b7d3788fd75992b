"""Benchmarks opened as a notebook's parameters say, their calls booked to its run."""

from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.runs import Run


def open_for(run: Run, benchmark: str, seed: int) -> Benchmark:
    """Open ``benchmark`` for a run and let the run watch its LLMs.

    The run declares ``pool, budget_usd, difficulty, graphs, width`` and ``decision``.

    Args:
        run: Whose parameters hold.
        benchmark: As :func:`~.benchmark.open_benchmark` takes it.
        seed: Of the simulated world and of the graph pool.

    Raises:
        ConfigError: as :func:`~.benchmark.open_benchmark` says.
    """
    values = run.config.plain()
    names = ("pool", "budget_usd", "difficulty", "graphs", "width", "decision")
    world = open_benchmark(benchmark, seed=seed, **{name: values[name] for name in names})
    run.watch(world.llms)
    return world
