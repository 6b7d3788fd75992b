"""The command line ``hieramas``: a thin door to the library.

Exit codes: 0 done, 1 a notebook failed, 2 bad input (one line says what to change).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hieramas_lib.errors import ConfigError

if TYPE_CHECKING:
    from hieramas_lib.experiments.serve import Offer
    from hieramas_lib.llms.call_store import CallStore

app = typer.Typer(
    help="Run the notebook collection and print its results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

calls = typer.Typer(invoke_without_command=True)
app.add_typer(calls, name="calls")
serve = typer.Typer(
    no_args_is_help=True,
    help="Put LLMs behind OpenAI's and Anthropic's endpoints, for any other framework; no key.",
)
app.add_typer(serve, name="serve")

Store = Annotated[
    Path | None, typer.Option("--store", help="Call store; results/calls.sqlite if not given.")
]
Force = Annotated[bool, typer.Option("--force", help="Run again what is complete.")]


@app.command("run-all")
def run_all(
    force: Force = False,
    workers: Annotated[int, typer.Option(help="Notebooks at a time.", min=1)] = 2,
) -> None:
    """Run every notebook at its defaults, then write the report."""
    from hieramas_lib.experiments import notebook_run, report

    with _errors():
        notebook_run.run_all(force=force, workers=workers, on_progress=typer.echo)
        typer.echo(f"report: {report.write_report()}")


@app.command()
def run(
    notebook: Annotated[str, typer.Argument(help="Name, number or path, e.g. 05.")],
    parameter: Annotated[
        list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="May be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", metavar="FILE.yaml", help="Parameters; -p wins over it.")
    ] = None,
    force: Force = False,
) -> None:
    """Run one notebook with other parameters."""
    from hieramas_lib.experiments import notebook_run
    from hieramas_lib.experiments.config import read_values

    with _errors():
        path = notebook_run.find_notebook(notebook)
        values = (read_values(file) if file else {}) | _assignments(parameter or [], path)
        outcome = notebook_run.run_notebook(path, values, force=force)
        done = "skipped (complete)" if outcome.skipped else f"done in {outcome.seconds:.0f} s"
        typer.echo(f"{outcome.experiment}  {done}: {outcome.folder}")


@app.command("run-local")
def run_local(
    pool: Annotated[
        Path | None, typer.Option(help="Pool file; data/pools/local.yaml if not given.")
    ] = None,
    budget_usd: Annotated[
        float, typer.Option(help="Spending limit of each notebook, for a pool that costs money.")
    ] = 0.0,
    force: Force = False,
) -> None:
    """Train both stages on real models, with a report of its own under results/local."""
    from hieramas_lib.experiments import local_run

    with _errors():
        path = local_run.run_local(pool, budget_usd=budget_usd, force=force, on_progress=typer.echo)
        typer.echo(f"report: {path}")


@app.command()
def report() -> None:
    """Write one offline HTML page from the results that are there."""
    from hieramas_lib.experiments.report import write_report

    with _errors():
        typer.echo(f"report: {write_report()}")


@app.command()
def pair() -> None:
    """Make each notebooks/NN_slug.ipynb from its .py (for authors of notebooks)."""
    from hieramas_lib.experiments import pairing

    with _errors():
        for source in pairing.sources():
            typer.echo(f"{source.stem}  {'written' if pairing.pair(source) else 'unchanged'}")


@app.command()
def calibrate(
    tables: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the tables of real outcomes are.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write; data/simulation.")
    ] = None,
) -> None:
    """Lay the simulated pool against real LLMs, and write down how near it comes."""
    from hieramas_lib.experiments.calibration.real_outcomes import FOLDER
    from hieramas_lib.experiments.calibration.report import calibrate as compare
    from hieramas_lib.experiments.calibration.report import write_calibration
    from hieramas_lib.paths import data_path

    with _errors():
        calibration = compare(tables or FOLDER)
        folder = to or data_path("simulation")
        for path in write_calibration(calibration, folder):
            typer.echo(path)
        for miss in calibration.misses():
            typer.echo(f"outside its goal: {miss}")


@app.command()
def doctor(
    call: Annotated[
        bool, typer.Option("--call", help="Make one call to each LLM, well below a cent each.")
    ] = False,
    pool: Annotated[
        list[Path] | None, typer.Option(help="Pool file to call; all that ship if not given.")
    ] = None,
) -> None:
    """Say what is installed, and which models and keys can be used."""
    from hieramas_lib.experiments.doctor import findings
    from hieramas_lib.experiments.first_call import first_calls
    from hieramas_lib.llms.pool import shipped_pools

    with _errors():
        for line in first_calls(pool or shipped_pools()) if call else findings(os.environ):
            typer.echo(line)


@app.command()
def prepare(
    file: Annotated[Path, typer.Argument(help="Such as examples/own_benchmark/benchmark.yaml.")],
    train: Annotated[int, typer.Option(help="Questions to train on.", min=0)] = 0,
    val: Annotated[int, typer.Option(help="Questions to choose settings on.", min=0)] = 0,
    test: Annotated[int, typer.Option(help="Questions to report on.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="What the splits are drawn with.")] = 0,
) -> None:
    """Make the splits and text vectors that a benchmark of your own names."""
    from hieramas_lib.experiments import benchmark_source

    with _errors():
        sizes = {"train": train, "val": val, "test": test}
        for line in benchmark_source.prepare(file, sizes, seed):
            typer.echo(line)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Such as teams; without one, lists them.")] = "",
) -> None:
    """Measure speed and print it beside the goals and other systems' figures."""
    from hieramas_lib.experiments.bench import run_bench

    with _errors():
        raise typer.Exit(run_bench(name))


@calls.callback()
def list_calls(
    context: typer.Context,
    by: Annotated[Literal["model", "role", "experiment"], typer.Option("--by")] = "model",
    store: Store = None,
) -> None:
    """Say what the calls so far cost, paid and as if uncached; hand them on as a tape."""
    from hieramas_lib.llms.call_summary import listing

    context.obj = store
    if context.invoked_subcommand:
        return
    with _errors():
        for line in listing(_call_store(store), by):
            typer.echo(line)


@calls.command("export")
def export_calls(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="For example calls.jsonl.gz.")],
    experiment: Annotated[
        str | None, typer.Option(help="Only the calls that this experiment used.")
    ] = None,
    store: Store = None,
) -> None:
    """Write the calls as one file, which replays them elsewhere; no key is in it."""
    from hieramas_lib.llms.tape import export_tape

    with _errors():
        count = export_tape(_call_store(store or context.obj), file, experiment)
        typer.echo(f"{count:,} calls in {file}")


@calls.command("import")
def import_calls(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `hieramas calls export` wrote.")],
    store: Store = None,
) -> None:
    """Add the calls of a file to the call store; answers that are there stay as they are."""
    from hieramas_lib.llms.tape import import_tape

    with _errors():
        done = import_tape(_call_store(store or context.obj, must_exist=False), file)
        typer.echo(f"{done.new:,} calls are new, {done.known:,} were there already")


def _call_store(path: Path | None, *, must_exist: bool = True) -> "CallStore":
    from hieramas_lib.llms.call_store import CallStore
    from hieramas_lib.paths import results_path

    path = path or results_path("calls.sqlite")
    if must_exist and not path.exists():
        raise ConfigError(f"{path}: no calls yet; runs on real LLMs and `calls import` make it")
    return CallStore(path)


Port = Annotated[int, typer.Option(help="Port; 0 for any free one.", min=0, max=65535)]
Host = Annotated[str, typer.Option(help="Address; beyond the loopback one, anybody may ask.")]
FaultRate = Annotated[float, typer.Option("--faults", help="Share of requests that fail.")]
FaultSeed = Annotated[int, typer.Option(help="Of the schedule of faults.")]
Difficulty = Annotated[str, typer.Option(help="Simulated world: hard or mmlu-like.")]
WorldSeed = Annotated[int, typer.Option("--seed", help="Of the simulated world.")]
PoolFile = Annotated[Path | None, typer.Option("--pool", help="data/llm_pool.yaml if not given.")]


@serve.command("world")
def serve_world(
    difficulty: Difficulty = "hard",
    benchmark: Annotated[
        list[str] | None, typer.Option(help="May be repeated; all that ship if not given.")
    ] = None,
    seed: WorldSeed = 0,
    pool: PoolFile = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    faults: FaultRate = 0.0,
    fault_seed: FaultSeed = 0,
) -> None:
    """Serve simulated LLMs, which know the questions of the benchmarks."""
    from hieramas_lib.experiments.serve import offer_world

    with _errors():
        offer = offer_world(difficulty, benchmark, seed, pool)
        _serve(offer, host, port, faults, fault_seed)


@serve.command("tape")
def serve_tape(
    tape: Annotated[Path, typer.Argument(help="A call store, or what `calls export` wrote.")],
    pool: PoolFile = None,
    difficulty: Difficulty = "hard",
    seed: WorldSeed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    faults: FaultRate = 0.0,
    fault_seed: FaultSeed = 0,
) -> None:
    """Serve the answers on a tape."""
    from hieramas_lib.experiments.serve import offer_tape

    with _errors():
        offer = offer_tape(tape, pool, difficulty=difficulty, seed=seed)
        _serve(offer, host, port, faults, fault_seed)


@serve.command("team")
def serve_team(
    folders: Annotated[list[Path], typer.Argument(help="Where teams were saved.")],
    budget: Annotated[
        float | None, typer.Option(help="US dollars; needed for LLMs that cost money.")
    ] = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    faults: FaultRate = 0.0,
    fault_seed: FaultSeed = 0,
) -> None:
    """Serve trained teams: a question in, the team's answer out."""
    from hieramas_lib.experiments.serve import offer_teams

    with _errors():
        _serve(offer_teams(folders, budget), host, port, faults, fault_seed)


def _serve(offer: "Offer", host: str, port: int, faults: float, fault_seed: int) -> None:
    from hieramas_lib.experiments.serve import serve as run_server
    from hieramas_lib.llms.server_faults import FaultPlan

    plan = FaultPlan(faults, fault_seed) if faults else None
    run_server(offer, host=host, port=port, faults=plan, say=typer.echo)


def _assignments(texts: list[str], notebook: Path) -> dict[str, Any]:
    """Read ``name=value`` texts; the value is read as what the notebook declares."""
    from hieramas_lib.experiments.config import parse_value, read_parameters

    defaults = {p.name: p.default for p in read_parameters(notebook)}
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"-p {text}: write NAME=VALUE")
        values[name] = parse_value(value, defaults.get(name))
    return values


@contextmanager
def _errors() -> Iterator[None]:
    """Turn errors that a user can act on into a line and an exit code."""
    from hieramas_lib.experiments.notebook_run import NotebookFailed

    try:
        yield
    except ConfigError as error:
        typer.echo(f"hieramas: {error}", err=True)
        raise typer.Exit(2) from None
    except NotebookFailed as error:
        typer.echo(f"hieramas: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app()
