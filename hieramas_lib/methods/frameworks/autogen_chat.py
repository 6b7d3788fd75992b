"""AutoGen, unmodified: three assistant agents in a round-robin group chat.

The smallest use of the framework: ``RoundRobinGroupChat`` of ``AssistantAgent`` with
``max_turns``. Each agent reads the question and all that was said; the last message is the answer.
"""

from collections.abc import Sequence
from typing import Any

from hieramas_lib.llms.layout import Header
from hieramas_lib.methods.agents import system_message
from hieramas_lib.methods.frameworks.served import Item, ServedLLMs
from hieramas_lib.methods.shapes import INSTRUCTION
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import TEMPERATURE
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import Rollout

AGENTS = 3
TURNS = 5
_ABILITIES = ("vision", "function_calling", "json_output", "structured_output")


class AutoGenChat:
    """Answer by five turns of an AutoGen chat of three agents, all with ``llm``.

    Needs the extra ``frameworks``. Its OpenTelemetry spans go nowhere, unless the application
    around it has set up an exporter of its own.
    """

    name = "AutoGen"

    def __init__(self, llm: str, served: ServedLLMs, roles: RoleSet) -> None:
        """Fix LLM and server; ``roles`` gives the answer format."""
        self.llm, self.served, self.roles = llm, served, roles

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if a call failed, which ends the chat."""
        async with self.served.item() as item:
            try:
                result = await self._chat(item).run(task=task.statement)
            except RuntimeError as failure:  # what the framework makes of every error
                return await item.rollout(task, "", failure)
            return await item.rollout(task, result.messages[-1].to_text())

    def _chat(self, item: Item) -> Any:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_agentchat.teams import RoundRobinGroupChat
        from autogen_ext.models.openai import OpenAIChatCompletionClient

        settings: dict[str, Any] = {
            "model": self.llm,
            "model_info": dict.fromkeys(_ABILITIES, False) | {"family": "unknown"},
            "base_url": item.base_url,
            "api_key": "none",
            "http_client": item.http,
            "temperature": TEMPERATURE,
            "max_retries": 0,
        }
        client = OpenAIChatCompletionClient(**settings)
        agents: list[Any] = []
        for number in range(1, AGENTS + 1):
            header = Header(f"Agent {number}", "proposer")
            told = system_message(header, INSTRUCTION, self.roles).content
            agents.append(AssistantAgent(f"agent_{number}", client, system_message=told))
        return RoundRobinGroupChat(agents, max_turns=TURNS)
