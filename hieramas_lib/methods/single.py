"""One LLM and no team: Base, chain of thought (CoT) and self-consistency (SC)."""

import asyncio
from collections.abc import Sequence

from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Style
from hieramas_lib.methods.voting import vote
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import ask
from hieramas_lib.teams.prompts import ALONE_ROLE, alone_messages
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.verdict import judge


class SingleLLM:
    """Ask one LLM ``samples`` times and take the most frequent answer.

    Base: one sample, answer only. CoT: one sample, step by step. SC: several samples at
    temperature 1 (Wang et al. 2022), see :func:`hieramas_lib.methods.voting.vote`.
    """

    def __init__(
        self,
        name: str,
        llm: str,
        llms: LLMClient,
        roles: RoleSet,
        *,
        style: Style,
        samples: int = 1,
        temperature: float = 0.2,
    ) -> None:
        """Name the method and fix how ``llm`` is asked; see :func:`base` and its neighbours."""
        self.name = name
        self._llm, self._llms, self._roles = llm, llms, roles
        self._style, self._samples, self._temperature = style, samples, temperature

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if every call failed."""
        messages = alone_messages(task, self._roles, self._style)
        options = self._roles.options(task, ALONE_ROLE)
        requests = [
            ChatRequest(self._llm, messages, self._temperature, sample=sample, options=options)
            for sample in range(self._samples)
        ]
        calls = await self._ask_all(requests)
        winner = vote(task, calls)
        return Rollout(
            task_id=task.id,
            answer=winner.text,
            grade=await judge(task, winner),
            calls=calls,
            latency_s=max((c.completion.latency_s for c in calls if c.completion), default=0.0),
        )

    async def _ask_all(self, requests: Sequence[ChatRequest]) -> tuple[CallRecord, ...]:
        """Make all calls at once; an error that ends the run is raised when all have come back."""
        asked = (ask(self._llms, request, ALONE_ROLE, "alone") for request in requests)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return tuple(outcome for outcome in outcomes if isinstance(outcome, CallRecord))


def base(llm: str, llms: LLMClient, roles: RoleSet, *, name: str = "Base") -> SingleLLM:
    """Return the Base method: one call, answer only."""
    return SingleLLM(name, llm, llms, roles, style="answer only")


def cot(llm: str, llms: LLMClient, roles: RoleSet, *, name: str = "CoT") -> SingleLLM:
    """Return chain of thought: one call, step by step."""
    return SingleLLM(name, llm, llms, roles, style="step by step")


def self_consistency(
    llm: str, llms: LLMClient, roles: RoleSet, *, style: Style = "answer only", samples: int = 5
) -> SingleLLM:
    """Return self-consistency: several samples and a vote."""
    name = "SC" if style == "answer only" else "SC + CoT"
    return SingleLLM(name, llm, llms, roles, style=style, samples=samples, temperature=1.0)
