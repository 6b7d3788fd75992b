"""A small scripted world in which agents must choose when to talk, and who should.

Three agents, One, Two and Three. *Easy* questions: everybody is right, but whoever reads another is
confused and wrong. *Hard* ones: One is right, and so is whoever reads One. The decision is right if
at least 1, 2 or 3 of the three are, by the question's number. So on easy questions silence is best,
on hard ones One's word to all, and that is always right. Of the 216 joint actions none, taken
always, is right in more than 2 of 3 cases. Nothing is random and every LLM is scripted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from hieramas_lib.learning.encoder import Vectors
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.llms.layout import Header, parse_sections
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.service import LLMService
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.prompts import DECISION_ROLE
from hieramas_lib.teams.roles import Role, RoleSet
from hieramas_lib.teams.topology import Topology

KNOWS, OTHERS = "One", ("Two", "Three")
_LLM = "scripted"


class ScriptedTalkers:
    """Answers for all agents and the decision, by the rules above."""

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a request at once; a prompt has 50 tokens and 20 for each message read."""
        system, user = request.messages
        role = Header.parse(system.content).role
        task, *others = parse_sections(user.content)
        said = {section.source: section.text for section in others}
        right = _right(role, task.text, said)
        text = f"Answer: {'A' if right else 'B'}"
        return Completion(text, "stop", 50 + 20 * len(said), 10, None, 1.0, False, "")


def _right(role: str, question: str, said: dict[str, str]) -> bool:
    if role == DECISION_ROLE:
        (number,) = re.findall(r"question (\d+)", question)
        needed = 1 + int(number) // 2 % 3
        return sum("Answer: A" in text for text in said.values()) >= needed
    if question.startswith("hard"):
        return role == KNOWS or KNOWS in said
    return not said.keys() - {role}


class LetterCounts:
    """Text vectors: how often each letter occurs, at length 1."""

    model = "letter counts"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, ``[texts, 26]``."""
        rows = [[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]
        vectors = np.array(rows, dtype=np.float32) + np.float32(0.01)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def talking_questions(count: int, first: int = 0) -> list[Task]:
    """Return easy and hard questions in turn, numbered from ``first``, which must be even."""
    kinds = ("easy", "hard")
    return [
        Task(
            id=f"talking/{i}", benchmark="talking", kind="choice", subject=kinds[i % 2],
            prompt=f"{kinds[i % 2]} question {i}", gold="A", choices=("a", "b", "c", "d"),
        )
        for i in range(first, first + count)
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class TalkingWorld:
    """What :class:`~hieramas_lib.methods.agent_qmix.AgentQMix` takes."""

    space: TeamSpace
    llms: LLMService
    encoder: LetterCounts


def talking_world(client: LLMClient | None = None) -> TalkingWorld:
    """Open the world; ``client`` answers in place of :class:`ScriptedTalkers`."""
    price = Price(input=1, output=1, date=date(2026, 11, 1), source="made up")
    spec = LLMSpec(
        name=_LLM, client="simulated", model=_LLM, family=_LLM, profile="scripted", price=price
    )
    pool = LLMPool(name="talking", skip_profile="nobody", reference=_LLM, llms=(spec,))
    roles = RoleSet(
        name="talking", kind="choice", proposer="Propose.", synthesizer="Synthesize.",
        decision="Decide.", answer_format="Answer: X",
        roles=tuple(
            Role(name=name, duty="solver", profile=f"agent {name}", instruction="Solve.")
            for name in (KNOWS, *OTHERS)
        ),
    )  # fmt: skip
    space = TeamSpace(roles, ActionSpace((_LLM,), 0), GraphPool(3, (Topology(3),)), _LLM)
    llms = LLMService(pool, {_LLM: client or ScriptedTalkers()}, CallStore(None))
    return TalkingWorld(space, llms, LetterCounts())
