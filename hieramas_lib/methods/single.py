"""One LLM and no team: Base, chain of thought (CoT) and self-consistency (SC)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Style
from hieramas_lib.methods.agents import ask_all, longest_s
from hieramas_lib.methods.voting import vote
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import TEMPERATURE
from hieramas_lib.teams.prompts import ALONE_ROLE, alone_messages
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.verdict import judge

VOTE_TEMPERATURE = 1.0
"""Sampling temperature where several samples vote."""


@dataclass(frozen=True, slots=True)
class SingleSettings:
    """How one LLM is asked.

    Attributes:
        name: Shown in tables.
        llm: Who is asked.
        style: Answer only, or step by step.
        samples: How often, for a vote; at least 1.
        temperature: Sampling temperature.

    Raises:
        ConfigError: names the field.
    """

    name: str
    llm: str
    style: Style
    samples: int = 1
    temperature: float = TEMPERATURE

    def __post_init__(self) -> None:
        if self.style not in get_args(Style):
            raise ConfigError(f"style: one of {', '.join(get_args(Style))}, got {self.style!r}")
        if self.samples < 1:
            raise ConfigError(f"samples: at least 1, got {self.samples}")


class SingleLLM:
    """Ask one LLM ``samples`` times and take the most frequent answer.

    Base: one sample, answer only. CoT: one sample, step by step. SC: several samples at
    temperature 1 (Wang et al. 2022), see :func:`hieramas_lib.methods.voting.vote`.
    """

    def __init__(self, roles: RoleSet, llms: LLMClient, settings: SingleSettings) -> None:
        """Fix how the LLM is asked; see :func:`base` and its neighbours."""
        self.roles, self.llms, self.settings = roles, llms, settings

    @property
    def name(self) -> str:
        """Name shown in tables and figures."""
        return self.settings.name

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if every call failed."""
        calls = await ask_all(self.llms, self.requests(task))
        result = await vote(task, calls)
        return Rollout(
            task_id=task.id,
            answer=result.winner.text,
            grade=await judge(task, result.winner),
            calls=calls,
            latency_s=longest_s(calls),
            tied=result.tied,
        )

    def requests(self, task: Task) -> list[ChatRequest]:
        """Return what the LLM is asked about ``task``, a request a sample."""
        settings = self.settings
        messages = alone_messages(task, self.roles, settings.style)
        options = self.roles.options(task, ALONE_ROLE)
        return [
            ChatRequest(
                settings.llm, messages, settings.temperature, sample=sample, options=options
            )
            for sample in range(settings.samples)
        ]


def base(llm: str, llms: LLMClient, roles: RoleSet, *, name: str = "Base") -> SingleLLM:
    """Return the Base method: one call, answer only."""
    return SingleLLM(roles, llms, SingleSettings(name, llm, "answer only"))


def cot(llm: str, llms: LLMClient, roles: RoleSet, *, name: str = "CoT") -> SingleLLM:
    """Return chain of thought: one call, step by step."""
    return SingleLLM(roles, llms, SingleSettings(name, llm, "step by step"))


def self_consistency(
    llm: str, llms: LLMClient, roles: RoleSet, *, style: Style = "answer only", samples: int = 5
) -> SingleLLM:
    """Return self-consistency: several samples and a vote."""
    name = "SC" if style == "answer only" else "SC + CoT"
    settings = SingleSettings(name, llm, style, samples, VOTE_TEMPERATURE)
    return SingleLLM(roles, llms, settings)
