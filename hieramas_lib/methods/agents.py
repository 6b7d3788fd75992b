"""Plain agents without a graph, as debates, mixtures and chats have them: told, and asked at once.

Prompts are in the layout of :mod:`hieramas_lib.teams.prompts`: a header that names the agent, then
the task and what others said as tagged sections. Nothing in them is random.
"""

import asyncio
from collections.abc import Sequence

from hieramas_lib.llms.chat import ChatRequest, LLMClient, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import ask
from hieramas_lib.teams.prompts import truncate
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord


def system_message(header: Header, instruction: str, roles: RoleSet) -> Message:
    """Tell an agent who it is, what to do, and in which format ``roles`` want an answer."""
    texts = (header.render(), instruction.strip(), roles.answer_format.strip())
    return Message("system", "\n\n".join(texts))


def user_message(task: Task | None, read: Sequence[Section], closing: str) -> Message:
    """Show an agent the task, unless its chat has it, and what it is to read, then ``closing``."""
    sections = [*([Section("task", task.statement)] if task else []), *read]
    return Message("user", "\n\n".join([*(section.render() for section in sections), closing]))


def said(call: CallRecord, source: str) -> Section:
    """Write what a call answered as a message to others, cut to the context budget of an edge."""
    return Section("message", truncate(call.text), source=source)


async def ask_all(llms: LLMClient, requests: Sequence[ChatRequest]) -> tuple[CallRecord, ...]:
    """Make all calls at once; records come in the order of ``requests``, which have headers.

    A failed call is recorded. An error that ends the run is raised when all have come back.
    """
    headers = [Header.parse(request.messages[0].content) for request in requests]
    asked = (
        ask(llms, request, header.role, header.position)
        for request, header in zip(requests, headers, strict=True)
    )
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return tuple(outcome for outcome in outcomes if isinstance(outcome, CallRecord))


def longest_s(calls: Sequence[CallRecord]) -> float:
    """Return the seconds until the last of ``calls``, made at once, is back."""
    return max((call.completion.latency_s for call in calls if call.completion), default=0.0)
