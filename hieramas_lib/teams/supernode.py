"""A supernode: one role, filled by several LLMs."""

from dataclasses import dataclass
from typing import Final

from hieramas_lib.llms.pool import NO_LLM

SKIP: Final = NO_LLM
"""The action that leaves a position empty."""


@dataclass(frozen=True, slots=True)
class Supernode:
    """Which LLM holds which position of a role (design 6).

    A proposer that is ``SKIP`` is not called and costs nothing. A synthesizer that is
    ``SKIP`` prunes the whole role. With every proposer skipped, the synthesizer answers
    alone, as a plain agent.
    """

    role: str
    proposers: tuple[str, ...]
    synthesizer: str

    @property
    def pruned(self) -> bool:
        """Whether the role does not act at all."""
        return self.synthesizer == SKIP

    @property
    def active_proposers(self) -> tuple[str, ...]:
        """The LLMs that propose; none if the role is pruned."""
        return () if self.pruned else tuple(llm for llm in self.proposers if llm != SKIP)
