"""What simulated LLMs know of a set of questions, as arrays, for :mod:`.mixed_teams`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Duty, Header
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.world import World
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.prompts import DECISION_ROLE
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.symbolic.answers import AnswerCodes, Codes
from hieramas_lib.teams.symbolic.calls import Abilities
from hieramas_lib.teams.symbolic.reading import Reader, reader_of
from hieramas_lib.teams.symbolic.tokens import TokenCounts

Floats = NDArray[np.float64]

DUTIES: tuple[Duty, ...] = ("solver", "expert", "checker")
"""Kinds of reader and writer that are followed here."""


@dataclass(frozen=True)
class Tables:
    """Arrays over LLMs (L), seats (S), duties (D), reply codes (C) and tasks (T).

    Seats are the proposer of every role, then the synthesizer of every role, then the decision.

    Attributes:
        codes: Answers of the tasks as small integers.
        duty: Index into :data:`DUTIES` for each seat, ``[S]``.
        margin: Logits of right against own wrong, ``[L, S, T]``.
        own: Code of the wrong answer that an LLM falls for, ``[L, T]``.
        prompt: Tokens of a prompt without what is read, if nothing and if something decisive
            can be read, ``[2, S, T]``.
        visible: Tokens of a reply, ``[D, C, T]``.
        frame: Tokens around a reply where it is read, ``[S]``.
        billed: Tokens that an LLM is paid for, ``[L, D, C, T]``.
        price: Of a token read and of one written, in reference calls, ``[2, L]``.
        readers: How each duty is moved by what it reads.
    """

    codes: AnswerCodes
    duty: NDArray[np.intp]
    margin: Floats
    own: Codes
    prompt: Floats
    visible: Floats
    frame: Floats
    billed: Floats
    price: Floats
    readers: tuple[Reader, ...]


def tables_of(
    world: World, pool: LLMPool, roles: RoleSet, tasks: Sequence[Task], decision: str
) -> Tables:
    """Look up everything that teams of ``roles`` can come across on ``tasks``.

    Raises:
        ConfigError: a role is a planner, or answers are read otherwise than they are written:
            neither is followed here.
    """
    codes = AnswerCodes(tasks, world, pool.names)
    tokens = TokenCounts(codes, roles, world)
    known = Abilities(world, pool, codes, tokens)
    headers = [Header(name, position) for position in ("proposer", "synthesizer")
               for name in roles.names] + [Header(DECISION_ROLE, "decision")]  # fmt: skip
    duties = [known.duty(header) for header in headers]
    if not set(duties) <= set(DUTIES) or codes.as_read is not None:
        raise ConfigError(f"role set {roles.name!r}: mixed teams are for roles that all answer")
    nodes = [*range(len(roles.names))] * 2 + [0]
    return Tables(
        codes=codes,
        duty=np.array([DUTIES.index(duty) for duty in duties]),
        margin=_margins(known, pool, headers, decision),
        own=np.array([codes.own_wrong(llm) for llm in pool.names]),
        prompt=np.array(
            [
                [
                    tokens.prompt(header, node, reading=reading and header.position != "proposer")
                    for header, node in zip(headers, nodes, strict=True)
                ]
                for reading in (False, True)
            ]
        ),
        visible=np.array([tokens.reply(duty) for duty in DUTIES]),
        frame=np.array(
            [float(tokens.frame(h.position, n)) for h, n in zip(headers, nodes, strict=True)]
        ),
        billed=np.array([[tokens.written(pool[x], duty) for duty in DUTIES] for x in pool.names]),
        price=np.array([known.price(llm) for llm in pool.names]).T,
        readers=tuple(reader_of(duty, world.settings) for duty in DUTIES),
    )


def _margins(known: Abilities, pool: LLMPool, headers: Sequence[Header], decision: str) -> Floats:
    """Only the LLM that decides is asked for its margin there; others keep 0."""
    margins = np.zeros((len(pool.names), len(headers), len(known.codes.tasks)))
    for i, llm in enumerate(pool.names):
        for j, header in enumerate(headers):
            if header.position != "decision" or llm == decision:
                margins[i, j] = known.margin(llm, header)
    return margins
