"""The shapes in which general agent frameworks are mostly used: one call, a chain, a group chat.

Rebuilt here without any framework, and named after the shape, never after a product; for products
themselves see :mod:`hieramas_lib.methods.frameworks`. With agents that speak one after another,

    y[t] = LLM(task, y[t-1])             chain: a message is handed on
    y[t] = LLM(task, y[1], ..., y[t-1])  chat: everything said is read

and the last text is the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Header
from hieramas_lib.methods.agents import ask_all, longest_s, said, system_message, user_message
from hieramas_lib.methods.single import SingleLLM, SingleSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import TEMPERATURE
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.verdict import judge

Shape = Literal["chain", "round-robin chat"]

INSTRUCTION = (
    "You are one of several agents who work on the same task, one after another. Work through it "
    "step by step. If you are shown what others wrote, use what holds up and correct what does not."
)
_CLOSING = "Give your answer."


@dataclass(frozen=True, slots=True)
class TurnsSettings:
    """Who speaks how often, and who reads whom.

    Attributes:
        llm: The LLM of all agents.
        shape: ``chain``: each reads the one before; ``round-robin chat``: each reads all.
        agents: How many agents take turns, at least 1.
        turns: Calls in all, at least 1.
        temperature: Sampling temperature, by default that of all calls of a team.

    Raises:
        ConfigError: names the field.
    """

    llm: str
    shape: Shape
    agents: int = 3
    turns: int = 3
    temperature: float = TEMPERATURE

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise ConfigError(f"shape: one of {', '.join(get_args(Shape))}, got {self.shape!r}")
        for field, number in (("agents", self.agents), ("turns", self.turns)):
            if number < 1:
                raise ConfigError(f"{field}: at least 1, got {number}")


class Turns:
    """Agents that speak one after another; see the module.

    A turn whose call fails, or leaves nothing to read, is recorded and its text absent; in a chain
    the last text that there is is handed on.
    """

    def __init__(self, roles: RoleSet, llms: LLMClient, settings: TurnsSettings) -> None:
        """Fix the turns; ``roles`` gives the answer format."""
        self.roles, self.llms, self.settings = roles, llms, settings

    @property
    def name(self) -> str:
        """Name shown in tables and figures."""
        return f"Shape: {self.settings.shape}"

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if the last call failed."""
        calls: list[CallRecord] = []
        for turn in range(self.settings.turns):
            header = Header(f"Agent {turn % self.settings.agents + 1}", "proposer")
            calls += await ask_all(self.llms, [self._request(task, header, calls)])
        return Rollout(
            task_id=task.id,
            answer=calls[-1].text,
            grade=await judge(task, calls[-1]),
            calls=tuple(calls),
            latency_s=sum(longest_s([call]) for call in calls),
        )

    def _request(self, task: Task, header: Header, calls: Sequence[CallRecord]) -> ChatRequest:
        readable = [call for call in calls if call.readable]
        if self.settings.shape == "chain":
            readable = readable[-1:]
        system = system_message(header, INSTRUCTION, self.roles)
        user = user_message(task, [said(call, call.role) for call in readable], _CLOSING)
        return ChatRequest(
            self.settings.llm,
            (system, user),
            self.settings.temperature,
            options=self.roles.options(task, header.role),
        )


def single_call(llm: str, llms: LLMClient, roles: RoleSet) -> SingleLLM:
    """Return the smallest shape: one call, step by step."""
    return SingleLLM(roles, llms, SingleSettings("Shape: single call", llm, "step by step"))


def chain(llm: str, llms: LLMClient, roles: RoleSet, *, agents: int = 3) -> Turns:
    """Return a chain of ``agents``, each called once."""
    return Turns(roles, llms, TurnsSettings(llm, "chain", agents, turns=agents))


def round_robin_chat(llm: str, llms: LLMClient, roles: RoleSet, *, turns: int = 5) -> Turns:
    """Return a chat of three agents with so many turns."""
    return Turns(roles, llms, TurnsSettings(llm, "round-robin chat", turns=turns))
