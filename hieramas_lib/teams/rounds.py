"""Teams that talk in rounds: every agent speaks in each of T rounds, then the decision (design 9).

Before a round a *chooser* says who reads whom in it, from what has been said so far. Then every
agent makes its call (a supernode: its calls), and after the last round the decision LLM reads what
all agents said in that round. N plain agents make N · T + 1 calls, whatever is chosen.

An agent reads the task, its own text of the round before, and what its in-neighbours wrote:

- in *synchronous* rounds, in the round before: any graph will do, mutual edges and cycles
  included, and all agents of a round work at once. Nobody has said anything before the first
  round, so there is nothing to choose in it;
- in *ordered* rounds, in the same round, as the published code means to: the graph must have no
  cycle, an agent starts the moment its last in-neighbour is done, and the first round has a choice.

Failures are those of :mod:`hieramas_lib.teams.executor`: a call that fails, or comes back empty or
refused, leaves its agent without a text in that round, and the edges that were to carry it are
requested and not delivered.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.cancellation import run_to_end
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import Execution, Job, seconds, seconds_of
from hieramas_lib.teams.executor import check_job, run_jobs
from hieramas_lib.teams.halt import Halt
from hieramas_lib.teams.prompts import Context, RoleMessage
from hieramas_lib.teams.rollout import NodeRecord, Rollout, RoundRecord
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Edge, Topology
from hieramas_lib.teams.verdict import judge


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is to read whom in a round.

    Attributes:
        edges: Pairs ``(u, v)`` of agents: ``v`` reads ``u``.
        dropped: Edges that were asked for and are not to be delivered; for the record.
        actions: Names of what the agents chose, in their order; for the record.
    """

    edges: tuple[Edge, ...]
    dropped: tuple[Edge, ...] = ()
    actions: tuple[str, ...] = ()


SILENCE = Choice(())
"""Nobody reads anybody."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What has happened when a choice is due.

    Attributes:
        round: Index of the round that is about to begin, from 0.
        records: What the agents did in each round so far, by agent; pruned ones are missing.
        edges: Edges that were delivered in the round before.
    """

    round: int
    records: tuple[dict[int, NodeRecord], ...]
    edges: tuple[Edge, ...]


Chooser = Callable[[Progress], Choice]
"""Chooses the edges of each round of one rollout; it may remember earlier rounds."""


@dataclass(frozen=True, slots=True)
class RoundsJob:
    """One rollout to make.

    Attributes:
        team: Agents and decision; its topology has no edges, as these are chosen round by round.
        task: The question.
        rounds: Number of rounds, T.
        choose: Asked before each round, but before the first one only if ``ordered``.
        ordered: Whether a round reads texts of the same round.
        sample: Index of the repetition, 0 to 999.
    """

    team: Team
    task: Task
    rounds: int
    choose: Chooser
    ordered: bool = False
    sample: int = 0


async def run_rounds(job: RoundsJob, llms: LLMClient) -> Rollout:
    """Answer a task in rounds and grade the answer.

    Raises:
        ConfigError: the job can't be run, or a choice is none; as in :func:`.run_team`.
        BudgetExceeded: a call could have passed the spending limit.
        ReplayMiss: a call is not on the tape.
    """
    check_rounds(job)
    halt = Halt()
    return await run_to_end(execute_rounds(job, llms, halt), halt.cancel)


async def run_rounds_batch(
    jobs: Sequence[RoundsJob], llms: LLMClient, *, slots: int = 64
) -> list[Rollout]:
    """Run ``jobs`` as :func:`.run_batch` does; each needs a chooser of its own.

    Raises:
        ConfigError: a job can't be run, before any call; or a choice is none.
    """

    async def make(job: RoundsJob, halt: Halt) -> Rollout:
        return await execute_rounds(job, llms, halt)

    return await run_jobs(jobs, make, check_rounds, slots=slots)


def check_rounds(job: RoundsJob) -> None:
    """Raise ConfigError if ``job`` can't be run."""
    check_job(Job(job.team, job.task, job.sample))
    if job.rounds < 1:
        raise ConfigError(f"rounds: at least 1, got {job.rounds}")
    if job.team.topology.edges:
        raise ConfigError("topology: it must have no edges; they are chosen for each round")


async def execute_rounds(job: RoundsJob, llms: LLMClient, halt: Halt) -> Rollout:
    """Make one rollout; what ends it early is raised, and reported to ``halt``."""
    talk = _Talk(job, llms, halt)
    for number in range(job.rounds):
        await talk.hold(number)
    messages = [talk.messages[agent] for agent in job.team.kept if agent in talk.messages]
    decision = await talk.execution.conclude(Context.write(job.task, messages))
    spoken = [record for round_ in talk.records for record in round_.values()]
    return Rollout(
        task_id=job.task.id,
        answer=decision.text,
        grade=await judge(job.task, decision),
        calls=(*(call for record in spoken for call in record.calls), decision),
        nodes=tuple(talk.records[-1].values()),
        pruned=tuple(s.role for s in job.team.supernodes if s.pruned),
        requested_edges=tuple(edge for r in talk.rounds for edge in r.requested_edges),
        delivered_edges=tuple(edge for r in talk.rounds for edge in r.delivered_edges),
        latency_s=talk.latency + seconds(decision),
        rounds=tuple(talk.rounds),
    )


class _Talk:
    """One rollout under way.

    Attributes:
        messages: What the agents said in the last round; absent where that can't be read.
        records: What they did in each round, in their order.
        rounds: Who read whom.
        latency: Seconds on the critical path so far.
    """

    def __init__(self, job: RoundsJob, llms: LLMClient, halt: Halt) -> None:
        self.job, self.team, self.halt = job, job.team, halt
        self.execution = Execution(Job(job.team, job.task, job.sample), llms, halt)
        self.messages: dict[int, RoleMessage] = {}
        self.records: list[dict[int, NodeRecord]] = []
        self.rounds: list[RoundRecord] = []
        self.delivered: tuple[Edge, ...] = ()
        self.latency = 0.0

    async def hold(self, number: int) -> None:
        """Hold one round: choose, have every agent speak, and record what was delivered."""
        choice = self._choice(number)
        round_ = _Round(self, choice)
        async with asyncio.TaskGroup() as group:
            for agent in self.team.kept:
                group.create_task(round_.speak(agent))
        self.halt.check()
        self.records.append({agent: round_.records[agent] for agent in self.team.kept})
        self.messages = round_.messages
        self.delivered = tuple(sorted(round_.delivered))
        self.latency += round_.latency()
        asked = tuple(sorted({*choice.edges, *choice.dropped}))
        self.rounds.append(
            RoundRecord(choice.actions, self._named(asked), self._named(self.delivered))
        )

    def _choice(self, number: int) -> Choice:
        """Ask the chooser; pruned agents take their edges with them."""
        if number == 0 and not self.job.ordered:
            return SILENCE
        choice = self.job.choose(Progress(number, tuple(self.records), self.delivered))
        size, kept = self.team.topology.size, set(self.team.kept)
        for u, v in choice.edges:
            if u == v or not (0 <= u < size and 0 <= v < size):
                raise ConfigError(f"edge {u} -> {v}: two different agents of 0 to {size - 1}")
        if self.job.ordered:
            Topology(size, choice.edges)  # raises where there is a cycle
        edges, dropped = (
            tuple(e for e in part if kept.issuperset(e)) for part in (choice.edges, choice.dropped)
        )
        return Choice(edges, dropped, choice.actions)

    def _named(self, edges: Sequence[Edge]) -> tuple[tuple[str, str], ...]:
        names = self.team.roles.names
        return tuple((names[u], names[v]) for u, v in edges)


class _Round:
    """One round under way."""

    def __init__(self, talk: _Talk, choice: Choice) -> None:
        self.talk, self.ordered = talk, talk.job.ordered
        self.before = talk.messages
        self.messages: dict[int, RoleMessage] = {}
        self.records: dict[int, NodeRecord] = {}
        self.delivered: list[Edge] = []
        self.sources: dict[int, list[int]] = {agent: [] for agent in talk.team.kept}
        for u, v in sorted(set(choice.edges)):
            self.sources[v].append(u)
        self._done = {agent: asyncio.Event() for agent in talk.team.kept}

    async def speak(self, agent: int) -> None:
        """Have one agent read and write; in ordered rounds, once its in-neighbours are done."""
        try:
            if self.ordered:
                for source in self.sources[agent]:
                    await self._done[source].wait()
            context = self._context(agent)
            self.records[agent] = record = await self.talk.execution.speak(agent, context)
            if record.synthesis.readable:
                text = record.synthesis.text
                self.messages[agent] = RoleMessage.write(agent, record.role, text)
        except Exception as error:
            self.talk.halt.report(error, self.talk.job.task)
        finally:
            self._done[agent].set()

    def latency(self) -> float:
        """Seconds on the round's critical path."""
        end: dict[int, float] = {}
        size = self.talk.team.topology.size
        edges = [(u, v) for v, sources in self.sources.items() for u in sources]
        order = Topology(size, tuple(edges)).order() if self.ordered else tuple(self.sources)
        for agent in (agent for agent in order if agent in self.sources):
            waits = self.sources[agent] if self.ordered else ()
            start = max((end[source] for source in waits), default=0.0)
            end[agent] = start + seconds_of(self.records[agent])
        return max(end.values(), default=0.0)

    def _context(self, agent: int) -> Context:
        heard = self.messages if self.ordered else self.before
        messages = {u: heard[u] for u in self.sources[agent] if u in heard}
        self.delivered.extend((source, agent) for source in messages)
        if agent in self.before:
            messages[agent] = self.before[agent]
        return Context.write(self.talk.job.task, [messages[u] for u in sorted(messages)])
