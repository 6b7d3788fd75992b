"""``serve``: put LLMs behind endpoints that any framework speaks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hieramas_lib.experiments.cli.errors import errors

if TYPE_CHECKING:
    from hieramas_lib.experiments.serve import Offer

serve = typer.Typer(
    no_args_is_help=True,
    help="Put LLMs behind OpenAI's and Anthropic's endpoints, for any other framework; no key.",
)

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

    with errors():
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

    with errors():
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

    with errors():
        _serve(offer_teams(folders, budget), host, port, faults, fault_seed)


def _serve(offer: "Offer", host: str, port: int, faults: float, fault_seed: int) -> None:
    from hieramas_lib.experiments.serve import serve as run_server
    from hieramas_lib.llms.server_faults import FaultPlan

    plan = FaultPlan(faults, fault_seed) if faults else None
    run_server(offer, host=host, port=port, faults=plan, say=typer.echo)
