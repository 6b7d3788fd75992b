"""What each position of a team is told.

A prompt is a system message (header, then instructions) and a user message: the task, one
section a message in role order, one section a proposal, a closing line. Nothing in it is
random, so equal situations make equal requests, which the call store then answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import Message
from hieramas_lib.llms.layout import Header, Position, Section, Style
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import Role, RoleSet, name_fault

DECISION_ROLE = "Decision Maker"
ALONE_ROLE = "Assistant"

EDGE_TOKENS = 1000
"""Context budget of one edge."""

CHARACTERS_PER_TOKEN = 4

_CUT = "\n[...]\n"

_STYLES: dict[Style, str] = {
    "answer only": "Answer at once: give the answer only, without any explanation.",
    "step by step": "Work through the task step by step, check the result, then answer.",
}
_CLOSING: dict[Position, str] = {
    "proposer": "Write your contribution in your role.",
    "synthesizer": "Write the one message of your role that the team will read.",
    "decision": "Give the final answer.",
    "alone": "Give your answer.",
}

Prompt = tuple[Message, Message]


@dataclass(frozen=True, slots=True)
class RoleMessage:
    """The message of a node, cut to the context budget and rendered once for all readers."""

    node: int
    section: str

    @classmethod
    def write(cls, node: int, role: str, text: str) -> "RoleMessage":
        """Cut ``text`` to the budget of an edge and render it as ``role``'s message."""
        return cls(node, Section("message", truncate(text), source=role).render())


@dataclass(frozen=True, slots=True)
class Context:
    """Task and messages as they stand in a reader's prompt.

    Attributes:
        text: Rendered sections.
        sources: Nodes whose messages are in ``text``: the edges that were in fact delivered.
    """

    text: str
    sources: tuple[int, ...]

    @classmethod
    def write(cls, task: Task, messages: Sequence[RoleMessage]) -> "Context":
        """Render the task and ``messages``, which come in role order."""
        parts = [Section("task", task.statement).render()]
        sources = []
        for message in messages:
            parts.append(message.section)
            sources.append(message.node)
        return cls("\n\n".join(parts), tuple(sources))


@dataclass(frozen=True)
class PromptSet:
    """The prompts of a role set, with the system messages rendered beforehand.

    Lists are indexed by role. ``solo`` is for a synthesizer that got no proposals, and
    ``decision_alone`` for a decision that got no messages: both solve the task themselves.
    """

    proposers: tuple[Message, ...]
    synthesizers: tuple[Message, ...]
    solo: tuple[Message, ...]
    decision: Message
    decision_alone: Message

    def for_proposer(self, role: int, context: Context) -> Prompt:
        """Messages for a proposer of ``role``; all of them read the same."""
        return self.proposers[role], _user(context.text, "proposer")

    def for_synthesizer(self, role: int, context: Context, proposals: Sequence[str]) -> Prompt:
        """Messages for the synthesizer of ``role``; ``proposals`` are numbered from 1."""
        system = self.synthesizers[role] if proposals else self.solo[role]
        sections = [
            Section("proposal", text, source=str(number)).render()
            for number, text in enumerate(proposals, start=1)
        ]
        return system, _user("\n\n".join([context.text, *sections]), "synthesizer")

    def for_decision(self, context: Context) -> Prompt:
        """Messages for the decision."""
        system = self.decision if context.sources else self.decision_alone
        return system, _user(context.text, "decision")


@lru_cache(maxsize=64)
def prompt_set(roles: RoleSet) -> PromptSet:
    """Render the system messages of ``roles``.

    Raises:
        ConfigError: role names are not distinct, or hold characters that the layout needs.
    """
    if fault := name_fault(roles.names):
        raise ConfigError(f"role set {roles.name!r}: {fault}")
    decision = Header(DECISION_ROLE, "decision")
    return PromptSet(
        proposers=tuple(_member(roles, role, "proposer", roles.proposer) for role in roles.roles),
        synthesizers=tuple(
            _member(roles, role, "synthesizer", roles.synthesizer) for role in roles.roles
        ),
        solo=tuple(_member(roles, role, "synthesizer", roles.proposer) for role in roles.roles),
        decision=_system(decision, roles.decision, roles.answer_format),
        decision_alone=_system(decision, _STYLES["step by step"], roles.answer_format),
    )


def alone_messages(task: Task, roles: RoleSet, style: Style) -> Prompt:
    """Messages for one LLM without a team, in the answer format of ``roles``."""
    system = _system(Header(ALONE_ROLE, "alone", style), _STYLES[style], roles.answer_format)
    return system, _user(Context.write(task, ()).text, "alone")


def truncate(text: str, tokens: int = EDGE_TOKENS) -> str:
    """Cut ``text`` to a budget of ``tokens``, taken as four characters each.

    A longer text keeps its beginning (half of the budget) and its end, with ``[...]`` on a
    line of its own between them. The end always holds the whole last line, where the answer
    stands, as long as that line fits into the budget.
    """
    limit = tokens * CHARACTERS_PER_TOKEN
    if len(text) <= limit:
        return text
    text = text.rstrip()
    if len(text) <= limit:
        return text
    room = limit - len(_CUT)
    last_line = len(text) - (text.rfind("\n") + 1)
    tail = min(room, max(room - room // 2, last_line))
    return text[: room - tail] + _CUT + text[len(text) - tail :]


def _member(roles: RoleSet, role: Role, position: Position, task_of_position: str) -> Message:
    texts = [role.instruction, task_of_position]
    if role.answers:
        texts.append(roles.answer_format)
    return _system(Header(role.name, position), *texts)


def _system(header: Header, *texts: str) -> Message:
    return Message("system", "\n\n".join([header.render(), *(text.strip() for text in texts)]))


def _user(context: str, position: Position) -> Message:
    return Message("user", f"{context}\n\n{_CLOSING[position]}")
