"""The record of one task through one team, down to every call."""

import json
from dataclasses import asdict, dataclass
from math import fsum

from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.layout import Position
from hieramas_lib.tasks.task import Grade


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One position's call: exactly one of ``completion`` and ``error`` is set."""

    role: str
    position: Position
    llm: str
    completion: Completion | None = None
    error: str = ""

    @property
    def text(self) -> str:
        """The answer, empty if the call failed."""
        return self.completion.text if self.completion else ""

    @property
    def readable(self) -> bool:
        """Whether others can read the answer: it came, is not empty and is no refusal.

        A truncated answer is readable: what it has may still help.
        """
        return (
            self.completion is not None
            and self.completion.finish_reason != "refusal"
            and bool(self.text.strip())
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over calls: US dollars as if nothing were cached, tokens, and how many calls.

    ``unpriced`` counts completed calls whose price is unknown: ``cost_usd`` is then "at least".
    """

    cost_usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, calls: tuple[CallRecord, ...]) -> "Usage":
        """Sum the usage of ``calls``; failed calls count, at no cost."""
        done = [call.completion for call in calls if call.completion]
        return cls(
            cost_usd=fsum(c.cost_usd for c in done if c.cost_usd is not None),
            prompt_tokens=sum(c.prompt_tokens for c in done),
            completion_tokens=sum(c.completion_tokens for c in done),
            calls=len(calls),
            unpriced=sum(c.cost_usd is None for c in done),
        )


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """What one kept supernode did; ``grade`` is None for planners and where not asked for."""

    role: str
    proposals: tuple[CallRecord, ...]
    synthesis: CallRecord
    grade: Grade | None = None

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """Every call of the supernode, proposers first."""
        return (*self.proposals, self.synthesis)

    @property
    def usage(self) -> Usage:
        """Cost and tokens of the supernode."""
        return Usage.of(self.calls)


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One round of a team whose agents all speak in every round (:mod:`.rounds`).

    Attributes:
        actions: What each agent chose, in the order of the agents; empty where none chose.
        requested_edges: Edges that were asked for, as role names.
        delivered_edges: Edges along which a message was in fact read.
    """

    actions: tuple[str, ...]
    requested_edges: tuple[tuple[str, str], ...]
    delivered_edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One task answered once.

    Attributes:
        task_id: The task.
        answer: The final text.
        grade: Verdict on ``answer``; ``error`` if no answer came back from the final call.
        calls: Every call, in the order of positions (not of time).
        nodes: Kept supernodes in declared role order, in rounds those of the last one; empty for
            methods without a team.
        pruned: Roles that did not act.
        topology_id: Canonical id of the chosen graph, empty for methods without one.
        requested_edges: Edges of the chosen graph between kept roles, as role names.
        delivered_edges: Edges along which a message was in fact read by the successor.
            Equal to ``requested_edges`` unless a predecessor's call failed, or came back
            empty or refused.
        latency_s: Seconds on the critical path, from the calls' own latencies.
        rounds: Where a team works in rounds, the record of each; the edges above are then those
            of all rounds, one after another.
        tied: Whether ``answer`` won a vote by the tie rule alone; False where nobody votes.
    """

    task_id: str
    answer: str
    grade: Grade
    calls: tuple[CallRecord, ...]
    nodes: tuple[NodeRecord, ...] = ()
    pruned: tuple[str, ...] = ()
    topology_id: str = ""
    requested_edges: tuple[tuple[str, str], ...] = ()
    delivered_edges: tuple[tuple[str, str], ...] = ()
    latency_s: float = 0.0
    rounds: tuple[RoundRecord, ...] = ()
    tied: bool = False

    @property
    def usage(self) -> Usage:
        """Cost and tokens of the whole rollout."""
        return Usage.of(self.calls)

    def to_json(self) -> str:
        """Write the whole record, calls with keys, tokens, costs and texts, as a line of JSON.

        Equal runs give equal bytes, at any number of slots and in any process. So ``cached`` is
        left out: which of several equal calls went out first depends on timing.
        """
        fields = asdict(self, dict_factory=lambda pairs: {k: v for k, v in pairs if k != "cached"})
        return json.dumps(fields, ensure_ascii=False)
