"""Roles: what a supernode is there for. Roles and their texts are data (``data/roles``)."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hieramas_lib.llms.layout import Duty, answer_option
from hieramas_lib.llms.yaml_file import read_yaml
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import LETTERS, Kind, Task


class Role(BaseModel):
    """One role of a team.

    Attributes:
        name: Shown to the LLM and used in records and figures.
        duty: ``solver`` and ``expert`` answer, ``checker`` judges what it reads and answers,
            ``planner`` gives a plan and no answer.
        profile: A few lines on the role; embedded as its feature vector.
        instruction: What the LLM in this role is told to do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    duty: Duty
    profile: str
    instruction: str

    @property
    def answers(self) -> bool:
        """Whether the role's output holds an answer that can be graded."""
        return self.duty != "planner"


class RoleSet(BaseModel):
    """The roles of a team for one kind of task, with the texts that all of them share.

    Attributes:
        proposer, synthesizer, decision: Instructions of the three positions.
        answer_format: How an answer is to be given, by all that answer.
        constrained: Whether LLMs whose decoding can be held to it (local ones) answer a choice
            question with exactly one of its options, and nothing else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    proposer: str
    synthesizer: str
    decision: str
    answer_format: str
    constrained: bool = False
    roles: tuple[Role, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> "RoleSet":
        if fault := name_fault(self.names):
            raise ValueError(f"roles: {fault}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Role names in declared order, the order of graph nodes."""
        return tuple(role.name for role in self.roles)

    def options(self, task: Task, role: str) -> tuple[str, ...]:
        """Return the answers to ``task`` that ``role`` is held to; none if it writes freely.

        A role that is not of the team (the decision, an LLM alone) answers.
        """
        if not self.constrained or any(r.name == role and not r.answers for r in self.roles):
            return ()
        return tuple(map(answer_option, task.choices, LETTERS))


def name_fault(names: Sequence[str]) -> str:
    """Say why a prompt cannot tell roles with these names apart; empty if it can."""
    if len(set(names)) != len(names):
        return f"role names must be distinct, got {', '.join(names)}"
    for name in names:
        if not name.strip() or any(character in name for character in '"<>\n'):
            return f'the name {name!r} is empty or holds one of " < > or a line break'
    return ""


def load_roles(name: str | Path) -> RoleSet:
    """Read a role set: the name of one that ships, such as ``"choice"``, or a YAML file's path.

    Raises:
        ConfigError: the file is missing or malformed.
    """
    path = name if isinstance(name, Path) else data_path("roles", f"{name}.yaml")
    return read_yaml(path, RoleSet)
