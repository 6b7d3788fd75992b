"""An answer read by a reviewer, and written anew: Reflection, and two operators of AFlow."""

from collections.abc import Sequence
from typing import Final

from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.methods.agents import system_message, user_message
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import TEMPERATURE
from hieramas_lib.teams.prompts import truncate
from hieramas_lib.teams.roles import RoleSet

REVIEWER: Final = "Reviewer"
REVISER: Final = "Reviser"

_REVIEW = (
    "Below the task you find an answer to it. Look for the mistake that would change the result: "
    "check every step and every condition of the task. Say what is wrong and why, or that nothing "
    "is, and then give the answer that you hold to be right."
)
_REVISE = (
    "Below the task you find an answer to it, and what reviewers say about it. Keep what is right, "
    "mend what is wrong; a reviewer may be mistaken too. Write the whole answer anew, so that it "
    "stands alone."
)


def request_alone(
    llm: str,
    header: Header,
    instruction: str,
    task: Task,
    roles: RoleSet,
    read: Sequence[Section] = (),
    *,
    sample: int = 0,
) -> ChatRequest:
    """Ask ``llm`` to answer ``task`` by ``instruction``, after it read some texts."""
    messages = (
        system_message(header, instruction, roles),
        user_message(task, read, "Give your answer."),
    )
    options = roles.options(task, header.role)
    return ChatRequest(llm, messages, TEMPERATURE, sample=sample, options=options)


def review_request(
    llm: str, task: Task, roles: RoleSet, answer: str, *, sample: int = 0
) -> ChatRequest:
    """Ask ``llm`` what is wrong with ``answer``."""
    header = Header(REVIEWER, "alone")
    return request_alone(llm, header, _REVIEW, task, roles, [proposal(answer)], sample=sample)


def revise_request(
    llm: str,
    task: Task,
    roles: RoleSet,
    answer: str,
    reviews: Sequence[Section],
    *,
    sample: int = 0,
) -> ChatRequest:
    """Ask ``llm`` for a better answer than ``answer`` in the light of ``reviews``."""
    header, read = Header(REVISER, "alone"), [proposal(answer), *reviews]
    return request_alone(llm, header, _REVISE, task, roles, read, sample=sample)


def proposal(answer: str, number: int = 1) -> Section:
    """Write an answer as a numbered proposal, cut to the context budget of an edge."""
    return Section("proposal", truncate(answer), source=str(number))
