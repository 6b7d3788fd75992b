"""LLM-Debate: several agents answer, read each other, answer again, and the majority wins.

Du et al. 2023 (arXiv 2305.14325). In round 1 agents i = 1..n answer the task alone; in round r

    y[i, r] = LLM(chat[i, r-1], {y[j, r-1] : j ≠ i})        "own chat", as published
    y[i, r] = LLM(task, {y[j, s] : all j, all s < r})       "all rounds"

and the answer is the most frequent one of the last round. In "own chat" an agent's chat goes on
with its own answers in it, and of the others it sees the latest answers only. In "all rounds" each
prompt is a fresh one with everything that was said, the agent's own words included, so it grows
with rounds times agents: the variant that the HieraMAS authors compare with. Both make n · R calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, LLMClient, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.methods.agents import ask_all, longest_s, said, system_message, user_message
from hieramas_lib.methods.voting import vote
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, Rollout, RoundRecord
from hieramas_lib.teams.verdict import judge

Memory = Literal["own chat", "all rounds"]
"""What an agent knows of earlier rounds."""

_INSTRUCTION = (
    "You are one of several debaters who work on the same task. Work through it step by step. "
    "Where you are shown answers of others, take over what convinces you, and keep your own answer "
    "where it holds up better."
)
_FIRST = "Give your answer."
_OWN_CHAT = (
    "Above are the other debaters' latest answers. Compare them with yours, and answer anew."
)
_ALL_ROUNDS = "Above is the debate so far, your own answers included. Answer in the light of it."


_NOBODY = "No other debater's answer came back. Check yours, and answer anew."

Chat = tuple[Message, ...]
Round = tuple[CallRecord, ...]
"""What each agent said in a round, in the order of the agents."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A text that others can read, and whose it is."""

    agent: int
    section: Section


@dataclass(frozen=True, slots=True)
class DebateSettings:
    """Who debates, and how long.

    Attributes:
        llm: The LLM of all agents.
        agents: How many, at least 2.
        rounds: Of answers, the first included; at least 1.
        memory: What an agent knows of earlier rounds.
        temperature: Sampling temperature.

    Raises:
        ConfigError: names the field.
    """

    llm: str
    agents: int = 3
    rounds: int = 2
    memory: Memory = "own chat"
    temperature: float = 0.7

    def __post_init__(self) -> None:
        if self.agents < 2:
            raise ConfigError(f"agents: at least 2, got {self.agents}")
        if self.rounds < 1:
            raise ConfigError(f"rounds: at least 1, got {self.rounds}")
        if self.memory not in get_args(Memory):
            raise ConfigError(f"memory: one of {', '.join(get_args(Memory))}, got {self.memory!r}")


class Debate:
    """Debate over a fixed number of rounds; see the module.

    A round waits for the one before it; its agents answer at the same time. What is absent in an
    agent's prompt, because the call failed or left nothing to read, is a requested edge that was
    not delivered.
    """

    def __init__(self, roles: RoleSet, llms: LLMClient, settings: DebateSettings) -> None:
        """Fix the debate; ``roles`` gives the answer format."""
        self.roles, self.llms, self.settings = roles, llms, settings
        self._names = tuple(f"Debater {number + 1}" for number in range(settings.agents))

    @property
    def name(self) -> str:
        """Name shown in tables and figures."""
        return "LLM-Debate" if self.settings.memory == "own chat" else "LLM-Debate, all rounds"

    async def fit(self, train: Sequence[Task], val: Sequence[Task]) -> None:
        """Do nothing: there is nothing to learn."""

    async def answer(self, task: Task) -> Rollout:
        """Answer ``task``; the grade is ``error`` if every call of the last round failed."""
        spoken: list[Round] = []
        rounds: list[RoundRecord] = []
        chats = [self._opening(task, name) for name in self._names]
        for number in range(self.settings.rounds):
            shown = self._shown(spoken)
            if number > 0:
                chats = [
                    self._continued(task, chat, agent, shown, spoken[-1][agent])
                    for agent, chat in enumerate(chats)
                ]
            rounds.append(self._record(number, shown))
            spoken.append(await ask_all(self.llms, [self._request(task, chat) for chat in chats]))
        result = await vote(task, spoken[-1])
        return Rollout(
            task_id=task.id,
            answer=result.winner.text,
            grade=await judge(task, result.winner),
            calls=tuple(call for calls in spoken for call in calls),
            requested_edges=tuple(edge for each in rounds for edge in each.requested_edges),
            delivered_edges=tuple(edge for each in rounds for edge in each.delivered_edges),
            latency_s=sum(longest_s(calls) for calls in spoken),
            rounds=tuple(rounds),
            tied=result.tied,
        )

    def _opening(self, task: Task, name: str) -> Chat:
        system = system_message(Header(name, "proposer"), _INSTRUCTION, self.roles)
        return system, user_message(task, (), _FIRST)

    def _request(self, task: Task, chat: Chat) -> ChatRequest:
        options = self.roles.options(task, self._names[0])
        return ChatRequest(self.settings.llm, chat, self.settings.temperature, options=options)

    def _shown(self, spoken: Sequence[Round]) -> list[_Shown]:
        """Return what can be read before the next round, oldest first."""
        if self.settings.memory == "own chat":
            last = spoken[-1] if spoken else ()
            return [
                _Shown(agent, said(call, self._names[agent]))
                for agent, call in enumerate(last)
                if call.readable
            ]
        return [
            _Shown(agent, said(call, f"{self._names[agent]}, round {number + 1}"))
            for number, calls in enumerate(spoken)
            for agent, call in enumerate(calls)
            if call.readable
        ]

    def _continued(
        self, task: Task, chat: Chat, agent: int, shown: Sequence[_Shown], own: CallRecord
    ) -> Chat:
        """Return what ``agent`` is sent next; ``own`` is what it said in the round before."""
        if self.settings.memory == "all rounds":
            sections = [each.section for each in shown]
            return chat[0], user_message(task, sections, _ALL_ROUNDS if sections else _FIRST)
        others = [each.section for each in shown if each.agent != agent]
        closing = _OWN_CHAT if others else _NOBODY
        if own.readable:
            answered = Message("assistant", own.text)
            return (*chat, answered, user_message(None, others, closing))
        # It takes up where it was last heard: two user messages in a row are no chat.
        asked_anew = None if len(chat) > 2 else task
        return (*chat[:-1], user_message(asked_anew, others, closing if others else _FIRST))

    def _record(self, number: int, shown: Sequence[_Shown]) -> RoundRecord:
        pairs = [(u, v) for v in self._names for u in self._names if u != v] if number else []
        heard = {self._names[each.agent] for each in shown}
        delivered = tuple(pair for pair in pairs if pair[0] in heard)
        return RoundRecord((), tuple(pairs), delivered)
