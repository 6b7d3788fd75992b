"""Lets a simulated LLM be asked by prompts that were not written for it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hieramas_lib.errors import CallError
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient, Message
from hieramas_lib.llms.layout import Header, Section, parse_sections
from hieramas_lib.tasks.task import Task

ALONE = Header("Assistant", "alone", "step by step")
"""Who answers a prompt that does not say: one LLM without a team."""


@dataclass(frozen=True, slots=True)
class Found:
    """A known question in a text, and where it stands there."""

    task: Task
    start: int
    end: int


class KnownQuestions:
    """Finds the question that a text asks, however its white space was changed."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        # The longest first: a question may quote another one. A statement with its options
        # comes before every prompt without them.
        tasks = sorted(tasks, key=lambda task: (-len(task.statement), task.id))
        self._texts = [(_flat(task.statement), task) for task in tasks]
        self._texts += [(_flat(task.prompt), task) for task in tasks]

    def find(self, text: str) -> Found | None:
        """Return the question in ``text``, the longest if there are several; None if none is."""
        flat = _flat(text)
        for question, task in self._texts:
            if question in flat:
                words = r"\s+".join(re.escape(word) for word in question.split(" "))
                place = re.search(words, text)
                if place:
                    return Found(task, *place.span())
        return None


class BareQuestions:
    """An ``LLMClient`` that puts any chat into the layout which simulated LLMs read.

    What ``llms.layout`` asks for and the prompt has, stays as it is. What is missing is supplied
    by this rule:

    - Without a header, the LLM answers as one alone, step by step: ``Role: Assistant``. The system
      message follows it; its wording changes the draws and no ability.
    - Without a ``<task>`` section, the first user message that holds a known question is the task:
      with its options or without, white space aside. What else stands in that message is kept and
      not read as an answer, unless it is tagged ``<message from="...">`` or ``<proposal>``.
    - Every other user or assistant message, whoever wrote it, is read as the message of a
      colleague: an answer in it is a vote.

    ``prompt_tokens`` counts the prompt with the header and the tags.

    Args:
        client: The simulated LLM.
        questions: Those that it knows.
    """

    def __init__(self, client: LLMClient, questions: KnownQuestions) -> None:
        self._client, self._questions = client, questions

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``.

        Raises:
            CallError: no user message holds a question that this world knows.
        """
        return await self._client.complete(replace(request, messages=self._laid_out(request)))

    def _laid_out(self, request: ChatRequest) -> tuple[Message, ...]:
        """Return the messages of ``request`` in the layout."""
        system = "\n".join(m.content for m in request.messages if m.role == "system")
        others = [m for m in request.messages if m.role != "system"]
        if not _has_header(system):
            system = f"{ALONE.render()}\n\n{system}".rstrip()
        body = "\n".join(m.content for m in others)
        if not any(section.tag == "task" for section in parse_sections(body)):
            body = self._with_task(others)
        return Message("system", system), Message("user", body)

    def _with_task(self, messages: list[Message]) -> str:
        """Write the question as a task section, and the other messages as those of colleagues."""
        for message in messages:
            found = self._questions.find(message.content) if message.role == "user" else None
            if found is not None:
                break
        else:
            raise CallError(
                "rejected",
                "no user message holds a question that this simulated world knows; put the "
                "`statement` of one of its tasks into one, word for word",
            )
        text = message.content
        parts = [text[: found.start], Section("task", found.task.statement).render()]
        parts.append(text[found.end :])
        for other in (each for each in messages if each is not message):
            parts.append(Section("message", other.content, source=other.role).render())
        return "\n\n".join(part.strip() for part in parts if part.strip())


def _has_header(system: str) -> bool:
    try:
        Header.parse(system)
    except KeyError:
        return False
    return True


def _flat(text: str) -> str:
    return " ".join(text.split())
