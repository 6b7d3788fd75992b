"""Stub LLMs that log what they were asked, and small teams to run them with."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from hieramas_lib.errors import CallError
from hieramas_lib.llms.cancellation import run_to_end
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.layout import Header, Section, parse_sections
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Topology

TASK = Task(
    id="stub/1",
    benchmark="stub",
    kind="choice",
    subject="astronomy",
    prompt="Which planet is nearest to the Sun?",
    gold="B",
    choices=("Venus", "Mercury", "Earth", "Mars"),
)

CHOICE = load_roles("choice")


def some_roles(count: int) -> RoleSet:
    """The choice role set, cut to its first ``count`` roles."""
    return CHOICE.model_copy(update={"roles": CHOICE.roles[:count]})


def make_team(
    topology: Topology, *, skip_roles: tuple[int, ...] = (), width: int = 2, reads: str = "all"
) -> Team:
    """A team whose role i has proposers ``p<i>.<w>`` and the synthesizer ``s<i>``."""
    roles = some_roles(topology.size)
    supernodes = tuple(
        Supernode(
            name,
            tuple(f"p{i}.{w}" for w in range(width)),
            SKIP if i in skip_roles else f"s{i}",
        )
        for i, name in enumerate(roles.names)
    )
    return Team(roles, supernodes, topology, "decider", reads)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Asked:
    """One request as an LLM would read it, and the answer it was given."""

    request: ChatRequest
    header: Header
    sections: tuple[Section, ...]
    reply: str

    def read(self) -> dict[str, str]:
        """Messages in the prompt, by the role they are said to come from."""
        return {s.source: s.text for s in self.sections if s.tag == "message"}

    def proposals(self) -> list[str]:
        return [s.text for s in self.sections if s.tag == "proposal"]


@dataclass
class StubLLM:
    """Answers at once, or after ``pause``; every reply is unique to its request.

    ``blank`` gives text and finish reason of a reply that is no proper answer; ``asked`` and
    ``events`` are the test's own account of what happened, taken from the
    requests alone.
    """

    pause: Callable[[Header, ChatRequest], "asyncio.Future[None] | None"] | None = None
    fails: Callable[[Header, ChatRequest], bool] = lambda header, request: False
    answer: Callable[[Header], str] = lambda header: "B"
    blank: Callable[[ChatRequest], tuple[str, FinishReason] | None] = lambda request: None
    asked: list[Asked] = field(default_factory=list)
    events: list[tuple[str, str, str, str]] = field(default_factory=list)
    total_cost: float = 0.0
    total_tokens: int = 0

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer, to the end even if nobody waits: as an ``LLMService`` does with a call sent."""
        return await run_to_end(self._answer(request))

    async def _answer(self, request: ChatRequest) -> Completion:
        system, user = request.messages
        header = Header.parse(system.content)
        who = (header.role, header.position, request.model)
        self.events.append(("start", *who))
        if self.pause is not None:
            waiting = self.pause(header, request)
            if waiting is not None:
                await waiting
        if self.fails(header, request):
            self.events.append(("fail", *who))
            raise CallError("timeout", "stub")
        key = request.key("stub", request.model)
        reply = f"reply {key} of {request.model}\nAnswer: {self.answer(header)}"
        finish: FinishReason = "stop"
        if (blank := self.blank(request)) is not None:
            reply, finish = blank
        self.asked.append(Asked(request, header, parse_sections(user.content), reply))
        self.events.append(("end", *who))
        digit = int(key[:2], 16)
        cost, tokens = (digit + 1) / 1024, 10 + digit
        self.total_cost += cost
        self.total_tokens += tokens
        return Completion(reply, finish, tokens, 5, cost, digit / 64, False, key)

    def of(self, role: str, position: str | None = None) -> list[Asked]:
        """What a role was asked, optionally in one position only."""
        return [
            a for a in self.asked if a.header.role == role and position in (None, a.header.position)
        ]


@st.composite
def topologies(draw: st.DrawFn, smallest: int = 1, largest: int = 6) -> Topology:
    """Any DAG: a random order of the nodes and any subset of its forward pairs."""
    size = draw(st.integers(smallest, largest))
    order = draw(st.permutations(range(size)))
    pairs = [(order[i], order[j]) for j in range(size) for i in range(j)]
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return Topology(size, tuple(p for p, keep in zip(pairs, chosen, strict=True) if keep))


@st.composite
def teams(draw: st.DrawFn) -> Team:
    """Any graph with any assignment, skips and repeated LLMs included."""
    topology = draw(topologies())
    actions = st.sampled_from(["a", "b", "c", SKIP])
    width = draw(st.integers(0, 3))
    roles = some_roles(topology.size)
    supernodes = tuple(
        Supernode(name, tuple(draw(actions) for _ in range(width)), draw(actions))
        for name in roles.names
    )
    reads = draw(st.sampled_from(["all", "sinks"]))
    return Team(roles, supernodes, topology, "decider", reads)
