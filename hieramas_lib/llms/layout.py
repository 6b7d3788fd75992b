"""The textual layout of a prompt, written by teams and read back by the simulated pool.

A prompt has a header (system message) of ``Name: value`` lines followed by free text, and a
body (user message) of tagged sections. Real LLMs read the same text.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hieramas_lib.llms.chat import ChatRequest

Position = Literal["proposer", "synthesizer", "decision", "alone"]
Style = Literal["answer only", "step by step"]
Duty = Literal["solver", "expert", "checker", "planner"]
"""What a role is there for; see ``teams.roles.Role``."""

_HEADER = re.compile(r"^(Role|Position|Style): (.+)$", re.MULTILINE)
_SECTION = re.compile(r'<(task|message|proposal)(?: from="([^\n]*)")?>\n(.*?)\n</\1>', re.DOTALL)
_CLOSING = re.compile(r"</(?=(?:task|message|proposal)>)")


@dataclass(frozen=True, slots=True)
class Header:
    """Who is asked: role name, position in the team, and how to answer."""

    role: str
    position: Position
    style: Style = "step by step"

    def render(self) -> str:
        """Write the header's three lines."""
        return f"Role: {self.role}\nPosition: {self.position}\nStyle: {self.style}"

    @classmethod
    def parse(cls, system: str) -> "Header":
        """Read a header back; raises KeyError naming the missing line.

        The first line of a name counts: instructions below may hold lines that look alike.
        """
        fields = dict(reversed(_HEADER.findall(system)))
        return cls(fields["Role"], fields["Position"], fields["Style"])


@dataclass(frozen=True, slots=True)
class Section:
    """One tagged part of a prompt; ``source``, one line, is a role name or a proposal's number."""

    tag: Literal["task", "message", "proposal"]
    text: str
    source: str = ""

    def render(self) -> str:
        """Write the section; a closing tag inside the text is defused with a space."""
        attribute = f' from="{self.source}"' if self.source else ""
        body = _CLOSING.sub("</ ", self.text)
        return f"<{self.tag}{attribute}>\n{body}\n</{self.tag}>"


def role_of(request: ChatRequest) -> str:
    """Return the role that a request's header names; empty if its prompt has no header."""
    first = request.messages[0] if request.messages else None
    return _role_in(first.content) if first and first.role == "system" else ""


@lru_cache(maxsize=1024)  # A role's system message is the same in all its calls.
def _role_in(system: str) -> str:
    try:
        return Header.parse(system).role
    except KeyError:
        return ""


def parse_sections(text: str) -> tuple[Section, ...]:
    """Read the sections of a prompt, in order."""
    return tuple(Section(tag, body, source) for tag, source, body in _SECTION.findall(text))


def answer_option(text: str, letter: str) -> str:
    """Write the answer that chooses the option ``text``, for models that are held to options.

    The text comes first: small models know texts, not letters. The letter is what is extracted.
    """
    return f"{text}\nAnswer: {letter}"
