"""One rollout under way: the graph that was chosen, walked node by node (design 6)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hieramas_lib.errors import CallError
from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Position
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.halt import Halt
from hieramas_lib.teams.prompts import DECISION_ROLE, Context, Prompt, RoleMessage, prompt_set
from hieramas_lib.teams.rollout import CallRecord, NodeRecord, Rollout
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Edge
from hieramas_lib.teams.verdict import judge

TEMPERATURE = 0.2
"""Sampling temperature of all calls of a team."""

COPY_STRIDE = 1000
"""Distance in sample indices between proposers of one supernode that hold the same LLM.

They get the same prompt, and would share one call if they shared the sample index.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One rollout to make; ``sample`` tells repetitions of a team on a task apart."""

    team: Team
    task: Task
    sample: int = 0


async def ask(llms: LLMClient, request: ChatRequest, role: str, position: Position) -> CallRecord:
    """Make one call and record how it ended, be it with a completion or a failure."""
    try:
        completion = await llms.complete(request)
    except CallError as error:
        return CallRecord(role, position, request.model, error=str(error))
    return CallRecord(role, position, request.model, completion)


async def execute(job: Job, llms: LLMClient, grade_nodes: bool, halt: Halt) -> Rollout:
    """Make one rollout; what ends it early is raised, and reported to ``halt``."""
    team, task = job.team, job.task
    execution = Execution(job, llms, halt)
    await execution.run_nodes()
    decision = await execution.decide()
    nodes = execution.nodes
    if grade_nodes:
        nodes = await _graded(task, team, nodes)
    names = team.roles.names
    return Rollout(
        task_id=task.id,
        answer=decision.text,
        grade=await judge(task, decision),
        calls=(*(call for node in nodes.values() for call in node.calls), decision),
        nodes=tuple(nodes.values()),
        pruned=tuple(s.role for s in team.supernodes if s.pruned),
        topology_id=team.topology.id,
        requested_edges=tuple((names[u], names[v]) for u, v in team.edges),
        delivered_edges=tuple((names[u], names[v]) for u, v in sorted(execution.delivered)),
        latency_s=execution.latency(decision),
    )


async def _graded(task: Task, team: Team, nodes: dict[int, NodeRecord]) -> dict[int, NodeRecord]:
    answering = [node for node in nodes if team.roles.roles[node].answers]
    grades = await asyncio.gather(*(judge(task, nodes[node].synthesis) for node in answering))
    graded = dict(nodes)
    for node, grade in zip(answering, grades, strict=True):
        record = nodes[node]
        graded[node] = NodeRecord(record.role, record.proposals, record.synthesis, grade)
    return graded


class Execution:
    """One rollout under way.

    Attributes:
        messages: What finished nodes have to say; absent where the synthesizer left no text.
        delivered: Edges found in the prompts that were built.
    """

    def __init__(self, job: Job, llms: LLMClient, halt: Halt) -> None:
        self.team, self.task, self.sample = job.team, job.task, job.sample
        self.llms, self.halt = llms, halt
        self.prompts = prompt_set(job.team.roles)
        self.parents: dict[int, list[int]] = {node: [] for node in job.team.kept}
        self.children: dict[int, list[int]] = {node: [] for node in job.team.kept}
        for u, v in job.team.edges:
            self.children[u].append(v)
            self.parents[v].append(u)
        self.waiting = {node: len(parents) for node, parents in self.parents.items()}
        self.records: dict[int, NodeRecord] = {}
        self.messages: dict[int, RoleMessage] = {}
        self.delivered: list[Edge] = []

    @property
    def nodes(self) -> dict[int, NodeRecord]:
        """Records of the kept nodes, in role order."""
        return {node: self.records[node] for node in self.team.kept}

    async def run_nodes(self) -> None:
        """Run all kept supernodes, each as soon as its predecessors are done."""
        sources = [node for node, missing in self.waiting.items() if missing == 0]
        async with asyncio.TaskGroup() as group:
            for node in sources:
                group.create_task(self._walk(node, group))
        self.halt.check()

    async def decide(self) -> CallRecord:
        """Have the decision LLM read the messages meant for it and answer."""
        return await self.conclude(self._context(self.team.informants))

    async def conclude(self, context: Context) -> CallRecord:
        """Have the decision LLM read ``context`` and answer."""
        prompt = self.prompts.for_decision(context)
        return await self._call(self.team.decision, prompt, DECISION_ROLE, "decision")

    def latency(self, decision: CallRecord) -> float:
        """Seconds from start to answer if nothing but the calls themselves took time."""
        end: dict[int, float] = {}
        for node in self.team.topology.order():
            if node in self.records:
                start = max((end[parent] for parent in self.parents[node]), default=0.0)
                end[node] = start + seconds_of(self.records[node])
        return max(end.values(), default=0.0) + seconds(decision)

    async def _walk(self, node: int, group: asyncio.TaskGroup) -> None:
        """Run ``node`` and what it sets free: one successor here, the others as new tasks."""
        try:
            following: int | None = node
            while following is not None:
                await self._run_node(following)
                freed = self._set_free(following)
                for other in freed[1:]:
                    group.create_task(self._walk(other, group))
                following = freed[0] if freed else None
        except Exception as error:
            self.halt.report(error, self.task)

    def _set_free(self, node: int) -> list[int]:
        freed = []
        for child in self.children[node]:
            self.waiting[child] -= 1
            if self.waiting[child] == 0:
                freed.append(child)
        return freed

    async def _run_node(self, node: int) -> None:
        context = self._context(self.parents[node])
        self.delivered.extend((source, node) for source in context.sources)
        record = await self.speak(node, context)
        self.records[node] = record
        if record.synthesis.readable:
            self.messages[node] = RoleMessage.write(node, record.role, record.synthesis.text)

    async def speak(self, node: int, context: Context) -> NodeRecord:
        """Have the supernode of ``node`` read ``context`` and write its message."""
        supernode = self.team.supernodes[node]
        proposals = await self._propose(node, context)
        texts = [call.text for call in proposals if call.readable]
        prompt = self.prompts.for_synthesizer(node, context, texts)
        synthesis = await self._call(supernode.synthesizer, prompt, supernode.role, "synthesizer")
        return NodeRecord(supernode.role, proposals, synthesis)

    def _context(self, sources: Sequence[int]) -> Context:
        messages = [self.messages[source] for source in sources if source in self.messages]
        return Context.write(self.task, messages)

    async def _propose(self, node: int, context: Context) -> tuple[CallRecord, ...]:
        supernode = self.team.supernodes[node]
        llms = supernode.active_proposers
        if not llms:
            return ()
        prompt = self.prompts.for_proposer(node, context)
        copies = [llms[:position].count(llm) for position, llm in enumerate(llms)]
        calls = [
            self._call(llm, prompt, supernode.role, "proposer", copy)
            for llm, copy in zip(llms, copies, strict=True)
        ]
        if len(calls) == 1:
            return (await calls[0],)
        # Errors are collected, not raised at once: paid calls in flight are to come back first.
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return tuple(outcome for outcome in outcomes if isinstance(outcome, CallRecord))

    async def _call(
        self, llm: str, prompt: Prompt, role: str, position: Position, copy: int = 0
    ) -> CallRecord:
        request = ChatRequest(
            model=llm,
            messages=prompt,
            temperature=TEMPERATURE,
            sample=self.sample + COPY_STRIDE * copy,
            options=self.team.roles.options(self.task, role),
        )
        try:
            with self.halt.calling():
                return await ask(self.llms, request, role, position)
        except Exception as error:
            # At once, not when the call's siblings are back: no one may start a call from now on.
            self.halt.report(error, self.task)
            raise


def seconds(call: CallRecord) -> float:
    """Return how long a call took; 0 if it failed."""
    return call.completion.latency_s if call.completion else 0.0


def seconds_of(record: NodeRecord) -> float:
    """Return how long a supernode took: its slowest proposer, then its synthesizer."""
    propose = max((seconds(call) for call in record.proposals), default=0.0)
    return propose + seconds(record.synthesis)
