"""Mixture-of-agents: layers of proposers, each reading all answers of the layer before, then one
aggregator (Wang et al. 2024, arXiv 2406.04692).

With proposers A[1..k] and layers l = 1..L

    x[1] = task,   y[i, l] = A[i](x[l]),   x[l + 1] = (task, y[1, l], ..., y[k, l])

and the aggregator's answer to x[L + 1] is the final one: L · k + 1 calls. A supernode of HieraMAS
is such a mixture with one layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.methods.agents import ask_all, longest_s, system_message, user_message
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import TEMPERATURE
from hieramas_lib.teams.prompts import truncate
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.verdict import judge

AGGREGATOR_ROLE = "Aggregator"

_PROPOSE = "You are one of several who work on the same task. Work through it step by step."
_MERGE = (
    "Below the task you find numbered answers to it, written independently; some may be wrong. "
    "Judge each by its reasoning, put together what holds up, and work out your own answer."
)
_CLOSING = "Give your answer."


@dataclass(frozen=True, slots=True)
class MixtureSettings:
    """Who proposes and who aggregates.

    Attributes:
        proposers: The LLMs of every layer; an LLM may be in it several times.
        aggregator: The LLM that gives the final answer.
        layers: Layers of proposers, at least 1.
        temperature: Sampling temperature of the proposers.
        aggregator_temperature: Of the aggregator, by default that of all calls of a team.

    Raises:
        ConfigError: names the field.
    """

    proposers: tuple[str, ...]
    aggregator: str
    layers: int = 2
    temperature: float = 0.7
    aggregator_temperature: float = TEMPERATURE

    def __post_init__(self) -> None:
        if not self.proposers:
            raise ConfigError("proposers: give at least one LLM")
        if self.layers < 1:
            raise ConfigError(f"layers: at least 1, got {self.layers}")


class MixtureOfAgents:
    """Layers of proposers and an aggregator; see the module.

    A layer waits for the one before it; its proposers answer at the same time. A call that fails,
    or comes back empty or refused, leaves no answer for the next layer; without any, that layer
    answers the bare task.
    """

    name = "MoA"

    def __init__(self, roles: RoleSet, llms: LLMClient, settings: MixtureSettings) -> None:
        """Fix the layers; ``roles`` gives the answer format."""
        self.roles, self.llms, self.settings = roles, llms, settings

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if the aggregator's call failed."""
        settings = self.settings
        layers: list[tuple[CallRecord, ...]] = []
        for _ in range(settings.layers):
            requests = [
                self._request(task, llm, Header(f"Proposer {number}", "proposer"), layers)
                for number, llm in enumerate(settings.proposers, start=1)
            ]
            layers.append(await ask_all(self.llms, requests))
        header = Header(AGGREGATOR_ROLE, "decision")
        layers.append(
            await ask_all(self.llms, [self._request(task, settings.aggregator, header, layers)])
        )
        final = layers[-1][0]
        return Rollout(
            task_id=task.id,
            answer=final.text,
            grade=await judge(task, final),
            calls=tuple(call for layer in layers for call in layer),
            latency_s=sum(longest_s(layer) for layer in layers),
        )

    def _request(
        self, task: Task, llm: str, header: Header, layers: Sequence[tuple[CallRecord, ...]]
    ) -> ChatRequest:
        """Ask ``llm`` with the answers of the last of ``layers``."""
        texts = [call.text for call in layers[-1] if call.readable] if layers else []
        proposals = [
            Section("proposal", truncate(text), source=str(number))
            for number, text in enumerate(texts, start=1)
        ]
        system = system_message(header, _MERGE if proposals else _PROPOSE, self.roles)
        settings = self.settings
        last = header.position == "decision"
        return ChatRequest(
            llm,
            (system, user_message(task, proposals, _CLOSING)),
            settings.aggregator_temperature if last else settings.temperature,
            options=self.roles.options(task, header.role),
        )
