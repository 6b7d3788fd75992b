"""LangGraph, unmodified: a graph of three nodes in a chain over one list of messages.

The smallest use of the framework: ``StateGraph`` over ``MessagesState``, a node a
``ChatOpenAI.ainvoke``. Each node reads the question and what the nodes before it said, and adds
its message; the last message is the answer.
"""

from collections.abc import Awaitable, Callable, Sequence
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


class LangGraphChain:
    """Answer by a chain of three LangGraph nodes, all with ``llm``.

    Needs the extra ``frameworks``. Nothing is sent to LangSmith, whatever the environment says.
    """

    name = "LangGraph"

    def __init__(self, llm: str, served: ServedLLMs, roles: RoleSet) -> None:
        """Fix LLM and server; ``roles`` gives the answer format."""
        self.llm, self.served, self.roles = llm, served, roles

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if a call failed, which ends the run."""
        from langsmith import tracing_context
        from openai import APIError

        async with self.served.item() as item:
            try:
                with tracing_context(enabled=False):
                    state = await self._graph(item).ainvoke(
                        {"messages": [("user", task.statement)]}
                    )
            except APIError as failure:
                return await item.rollout(task, "", failure)
            return await item.rollout(task, state["messages"][-1].text)

    def _graph(self, item: Item) -> Any:
        from langchain_openai import ChatOpenAI
        from langgraph.graph import END, START, MessagesState, StateGraph
        from pydantic import SecretStr

        llm = ChatOpenAI(
            model=self.llm,
            base_url=item.base_url,
            http_async_client=item.http,
            api_key=SecretStr("none"),
            temperature=TEMPERATURE,
            max_retries=0,
        )
        names = [f"Agent {number + 1}" for number in range(AGENTS)]
        builder: Any = StateGraph(MessagesState)
        for name in names:
            builder.add_node(name, self._node(llm, name))
        for edge in zip([START, *names], [*names, END], strict=True):
            builder.add_edge(*edge)
        return builder.compile()

    def _node(self, llm: Any, name: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
        system = system_message(Header(name, "proposer"), INSTRUCTION, self.roles).content

        async def speak(state: Any) -> dict[str, Any]:
            return {"messages": [await llm.ainvoke([("system", system), *state["messages"]])]}

        return speak
