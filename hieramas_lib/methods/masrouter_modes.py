"""MASRouter's six modes of collaboration, run on one question."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hieramas_lib.learning.masrouter_cascade import Mode
from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Header, Style
from hieramas_lib.methods.agents import ask_all, longest_s, said
from hieramas_lib.methods.reviewing import (
    REVIEWER,
    request_alone,
    review_request,
    revise_request,
)
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import TEMPERATURE, run_team
from hieramas_lib.teams.prompts import (
    DECISION_ROLE,
    Context,
    Prompt,
    RoleMessage,
    prompt_set,
)
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, NodeRecord, Rollout, RoundRecord
from hieramas_lib.teams.supernode import SKIP, Supernode
from hieramas_lib.teams.team import Team
from hieramas_lib.teams.topology import Edge, Topology
from hieramas_lib.teams.verdict import judge

_STYLES: dict[Mode, tuple[Style, str]] = {
    "IO": ("answer only", "Give the answer at once and nothing else."),
    "CoT": ("step by step", "Think step by step, check the result, then answer."),
    "Reflection": ("step by step", "Think step by step, check the result, then answer."),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its role, as a position in the role set, and its LLM."""

    role: int
    llm: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What MASRouter chose for a question: who works, and how they work together.

    Attributes:
        mode: See :data:`~hieramas_lib.learning.masrouter_cascade.MODES`.
        agents: Those that act, in their order, each with a role of its own; one in the modes of
            :data:`~hieramas_lib.learning.masrouter_cascade.ALONE`.
    """

    mode: Mode
    agents: tuple[Agent, ...]

    @property
    def decision(self) -> str:
        """The LLM that most agents have, of several the first: it gives the final answer."""
        return Counter(agent.llm for agent in self.agents).most_common(1)[0][0]


@dataclass(frozen=True, slots=True)
class PlanJob:
    """One rollout to make; ``sample`` tells repetitions of a plan on a task apart."""

    plan: Plan
    task: Task
    sample: int


async def run_plan(
    plan: Plan, task: Task, roles: RoleSet, llms: LLMClient, *, sample: int = 0
) -> Rollout:
    """Answer ``task`` as ``plan`` says and grade the answer."""
    if plan.mode in ("Chain", "FullConnected"):
        return await run_team(_team(plan, roles), task, llms, sample=sample)
    if plan.mode == "Debate":
        return await _debate(plan, task, roles, llms, sample)
    calls = await ask_all(llms, [_alone(plan.agents[0], plan.mode, task, roles, sample)])
    if plan.mode == "Reflection":
        calls = await _reflect(calls[0], task, roles, llms, sample)
    return Rollout(
        task_id=task.id,
        answer=calls[-1].text,
        grade=await judge(task, calls[-1]),
        calls=calls,
        latency_s=sum(longest_s([call]) for call in calls),
    )


def _team(plan: Plan, roles: RoleSet) -> Team:
    """Return a team of plain agents, each reading the one before it or all before it."""
    order = [agent.role for agent in plan.agents]
    edges: list[Edge] = list(pairwise(order))
    if plan.mode == "FullConnected":
        edges = [(u, v) for k, v in enumerate(order) for u in order[:k]]
    llm_of = {agent.role: agent.llm for agent in plan.agents}
    supernodes = tuple(
        Supernode(name, (), llm_of.get(node, SKIP)) for node, name in enumerate(roles.names)
    )
    return Team(roles, supernodes, Topology(len(supernodes), tuple(edges)), plan.decision)


def _alone(agent: Agent, mode: Mode, task: Task, roles: RoleSet, sample: int) -> ChatRequest:
    """Ask one agent in its role; a planner's instruction, which is not to answer, is left out."""
    role, (style, manner) = roles.roles[agent.role], _STYLES[mode]
    instruction = f"{role.instruction.strip()}\n\n{manner}" if role.answers else manner
    header = Header(role.name, "alone", style)
    return request_alone(agent.llm, header, instruction, task, roles, sample=sample)


async def _reflect(
    first: CallRecord, task: Task, roles: RoleSet, llms: LLMClient, sample: int
) -> tuple[CallRecord, ...]:
    """Criticise the first answer and answer again, with its LLM, if there is one to be read."""
    if not first.readable:
        return (first,)
    review = review_request(first.llm, task, roles, first.text, sample=sample)
    (criticism,) = await ask_all(llms, [review])
    reviews = [said(criticism, REVIEWER)] if criticism.readable else []
    revise = revise_request(first.llm, task, roles, first.text, reviews, sample=sample)
    return first, criticism, *await ask_all(llms, [revise])


async def _debate(plan: Plan, task: Task, roles: RoleSet, llms: LLMClient, sample: int) -> Rollout:
    """Two rounds: all answer alone, all read all answers and answer again; then the decision.

    The decision reads the second round. An edge is delivered if a first answer was read.
    """
    agents = sorted(plan.agents, key=lambda agent: agent.role)
    alone = Context.write(task, ())
    first = await ask_all(llms, _round(agents, alone, task, roles, sample))
    heard = Context.write(task, _messages(agents, first, roles))
    second = await ask_all(llms, _round(agents, heard, task, roles, sample))
    end = Context.write(task, _messages(agents, second, roles))
    prompt = prompt_set(roles).for_decision(end)
    (decision,) = await ask_all(
        llms, [_seated(plan.decision, prompt, DECISION_ROLE, task, roles, sample)]
    )
    names = {agent.role: roles.names[agent.role] for agent in agents}
    pairs = [(u, v) for u in names for v in names if u != v]
    requested = tuple((names[u], names[v]) for u, v in pairs)
    delivered = tuple((names[u], names[v]) for u, v in pairs if u in heard.sources)
    return Rollout(
        task_id=task.id,
        answer=decision.text,
        grade=await judge(task, decision),
        calls=(*first, *second, decision),
        nodes=tuple(
            NodeRecord(name, (before,), after)
            for name, before, after in zip(names.values(), first, second, strict=True)
        ),
        pruned=tuple(name for node, name in enumerate(roles.names) if node not in names),
        requested_edges=requested,
        delivered_edges=delivered,
        rounds=(RoundRecord((), (), ()), RoundRecord((), requested, delivered)),
        latency_s=longest_s(first) + longest_s(second) + longest_s([decision]),
    )


def _round(
    agents: Sequence[Agent], context: Context, task: Task, roles: RoleSet, sample: int
) -> list[ChatRequest]:
    prompts = prompt_set(roles)
    return [
        _seated(
            agent.llm,
            prompts.for_synthesizer(agent.role, context, ()),
            roles.names[agent.role],
            task,
            roles,
            sample,
        )
        for agent in agents
    ]


def _seated(
    llm: str, prompt: Prompt, role: str, task: Task, roles: RoleSet, sample: int
) -> ChatRequest:
    options = roles.options(task, role)
    return ChatRequest(llm, prompt, TEMPERATURE, sample=sample, options=options)


def _messages(
    agents: Sequence[Agent], calls: Sequence[CallRecord], roles: RoleSet
) -> list[RoleMessage]:
    return [
        RoleMessage.write(agent.role, roles.names[agent.role], call.text)
        for agent, call in zip(agents, calls, strict=True)
        if call.readable
    ]
