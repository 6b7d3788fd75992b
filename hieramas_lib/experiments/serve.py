"""What `hieramas serve` puts behind the OpenAI and Anthropic endpoints, and its running."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.server import Served, make_app
from hieramas_lib.llms.server_faults import FaultPlan
from hieramas_lib.llms.server_uvicorn import LOOPBACK, bind, make_server
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import BENCHMARKS, load_tasks


@dataclass(frozen=True, slots=True)
class Offer:
    """What is served.

    Attributes:
        title: One line on it.
        clients: By the name that a request gives as its model.
    """

    title: str
    clients: Mapping[str, LLMClient]


@dataclass
class Ledger:
    """Sums of what was served; prices are the pool's, and nobody was paid them here."""

    requests: int = 0
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    unpriced: int = 0
    costs: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, served: Served) -> None:
        """Count one request."""
        self.requests += 1
        if served.completion is None:
            return
        self.answers += 1
        self.tokens_in += served.completion.prompt_tokens
        self.tokens_out += served.completion.completion_tokens
        if served.completion.cost_usd is None:
            self.unpriced += 1
        else:
            self.costs.append(served.completion.cost_usd)

    def line(self) -> str:
        """Say the sums."""
        unpriced = f", {self.unpriced:,} answers unpriced" if self.unpriced else ""
        return (
            f"{self.requests:,} requests, {self.answers:,} answers; {self.tokens_in:,} tokens in, "
            f"{self.tokens_out:,} out; ${fsum(self.costs):.6f} as if paid{unpriced}"
        )


def offer_world(
    difficulty: str = "hard",
    benchmarks: Sequence[str] | None = None,
    seed: int = 0,
    pool_file: Path | None = None,
) -> Offer:
    """Offer the simulated LLMs of a pool, by their names and by their providers' ids.

    A prompt need not be in the layout of this project's own, see
    :class:`~hieramas_lib.llms.server_questions.BareQuestions`.

    Args:
        difficulty: Settings of the world, see ``data/simulation``.
        benchmarks: What may be asked, as :func:`~hieramas_lib.tasks.load.load_tasks` takes it;
            None for all that ship.
        seed: Of the world.
        pool_file: Whose simulated twin is meant; None for ``data/llm_pool.yaml``.

    Raises:
        ConfigError: an unknown difficulty or benchmark, a bad pool file, or an LLM in it that
            the world's settings have no accuracy for.
    """
    from hieramas_lib.llms.server_questions import BareQuestions, KnownQuestions
    from hieramas_lib.llms.simulated import SimulatedClient

    names = benchmarks or BENCHMARKS
    tasks = [task for name in names for task in load_tasks(name)]
    pool = load_pool(pool_file or data_path("llm_pool.yaml")).simulated()
    world = World(tasks, load_settings(difficulty), pool, seed)
    questions = KnownQuestions(world.tasks)
    clients: dict[str, LLMClient] = {}
    for spec in pool.llms:
        clients[spec.name] = BareQuestions(SimulatedClient(spec, world), questions)
    for spec in pool.llms:
        clients.setdefault(spec.model, clients[spec.name])
    title = (
        f"{difficulty} simulated world, seed {seed}: {len(pool.llms)} LLMs of pool {pool.name!r}, "
        f"{len(world.tasks)} questions of {', '.join(names)}"
    )
    return Offer(title, clients)


def offer_tape(
    tape: Path, pool_file: Path | None = None, *, difficulty: str = "hard", seed: int = 0
) -> Offer:
    """Offer the answers of a call store, or of a tape made by ``hieramas calls export``.

    A request is answered if the same one is on the tape: LLM, messages, temperature, token limit
    and seed (which is the sample index); any other is refused with what differs. Nothing is
    called, and no key needed.

    Args:
        tape: The file.
        pool_file: The pool that the calls were made with; None for ``data/llm_pool.yaml``.
        difficulty, seed: Of the simulated world, for a pool with simulated LLMs in it.

    Raises:
        ConfigError: the tape or the pool file is missing or malformed.
    """
    from hieramas_lib.llms.call_store import CallStore
    from hieramas_lib.llms.connect import connect
    from hieramas_lib.llms.tape import import_tape

    pool = load_pool(pool_file or data_path("llm_pool.yaml"))
    simulated = any(spec.client == "simulated" for spec in pool.llms)
    world = World((), load_settings(difficulty), pool, seed) if simulated else None
    if tape.suffix == ".gz":
        store = CallStore(None, "replay")
        import_tape(store, tape)
    else:
        store = CallStore(tape, "replay")
    llms = connect(pool, store=store, world=world)
    title = f"replay of {tape}: {store.count():,} calls of pool {pool.name!r}"
    return Offer(title, {name: llms for name in pool.names})


def offer_teams(folders: Sequence[Path], budget_usd: float | None = None) -> Offer:
    """Offer saved methods, such as trained teams, each by the name of its folder.

    Args:
        folders: Where they were saved.
        budget_usd: Limit on what they spend together; needed where their LLMs cost money.

    Raises:
        ConfigError: a folder holds no method, two have one name, or paid LLMs have no limit.
    """
    from hieramas_lib.llms.budget import Budget
    from hieramas_lib.methods.team_client import open_team

    budget = None if budget_usd is None else Budget(usd=budget_usd)
    clients: dict[str, LLMClient] = {}
    for folder in folders:
        team = open_team(folder, budget=budget)
        if team.name in clients:
            raise ConfigError(f"{folder}: two teams are called {team.name!r}; rename a folder")
        clients[team.name] = team
    return Offer(f"saved methods: {', '.join(clients)}", clients)


def serve(
    offer: Offer,
    *,
    host: str = LOOPBACK,
    port: int = 8000,
    faults: FaultPlan | None = None,
    say: Callable[[str], None],
) -> None:
    """Serve until interrupted.

    Args:
        offer: What to serve.
        host: Address to listen on. No key is asked for: on another than the loopback address,
            everybody who reaches it can use it.
        port: Port; 0 for any free one.
        faults: What goes wrong on purpose.
        say: Where lines for the user go.

    Raises:
        ConfigError: the port is taken.
    """
    ledger = Ledger()
    server = make_server(make_app(offer.clients, faults=faults, log=ledger.add))
    with bind(host, port) as listening:
        if faults:
            say(f"On purpose, {faults.rate:.0%} of requests meet a fault (seed {faults.seed}).")
        for line in usage_lines(offer, host, listening.getsockname()[1]):
            say(line)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    say(ledger.line())


def usage_lines(offer: Offer, host: str, port: int) -> list[str]:
    """Say what is served, where, and how both SDKs reach it."""
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    first = next(iter(offer.clients))
    return [
        f"Serving {offer.title}.",
        f"Models: {', '.join(offer.clients)}",
        f"OpenAI base URL {url}/v1, Anthropic base URL {url}; any key. Ctrl-C ends it.",
        f'  openai.OpenAI(base_url="{url}/v1", api_key="none").chat.completions.create('
        f'model="{first}", messages=[...])',
        f'  anthropic.Anthropic(base_url="{url}", api_key="none").messages.create('
        f'model="{first}", max_tokens=1000, messages=[...])',
    ]
