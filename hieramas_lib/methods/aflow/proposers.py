"""Who proposes the next edit of a workflow: chance, or an LLM that is told what was tried."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, LLMClient, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.methods.aflow.patch import MOST_STEPS, apply_patch, patch_of, patch_text
from hieramas_lib.methods.aflow.tree import Rejection, Round
from hieramas_lib.methods.aflow.workflow import (
    KINDS,
    MOST_OPERATORS,
    MOST_REPAIRS,
    MOST_SAMPLES,
    STYLES,
    Workflow,
)
from hieramas_lib.tasks.task import Kind
from hieramas_lib.teams.prompts import truncate

OPTIMISER: Final = "Workflow Optimiser"
OPTIMISER_TEMPERATURE: Final = 0.7
_FAILURE_TOKENS: Final = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """A validation task that a workflow got wrong."""

    task: str
    answer: str
    gold: str


@dataclass(frozen=True, slots=True)
class Experience:
    """What a proposer is told.

    Attributes:
        parent: The workflow to be edited, with its score.
        children: What its earlier edits led to.
        rejections: Edits of it that were refused.
        failures: A few of the tasks that it got wrong.
        attempt: How many edits were asked for in the search so far.
    """

    parent: Round
    children: Sequence[Round]
    rejections: Sequence[Rejection]
    failures: Sequence[Failure]
    attempt: int


class Proposer(Protocol):
    """Proposes edits as text; whether one is valid is checked by the search."""

    async def propose(self, experience: Experience) -> str:
        """Return a text that holds the JSON array of a patch.

        Raises:
            CallError: no text came back.
        """
        ...


class RandomProposer:
    """Draws a valid patch of one step: first what to do, then one of the ways to do it.

    It needs no LLM and learns nothing from experience: all of the progress is selection.
    """

    def __init__(self, kind: Kind, llms: tuple[str, ...], rng: np.random.Generator) -> None:
        """Fix what the workflows are for, the LLMs to choose among, and the source of chance."""
        self._kind, self._llms, self._rng = kind, llms, rng

    async def propose(self, experience: Experience) -> str:
        """Draw a patch; the parent's own workflow is never its result."""
        workflow = experience.parent.workflow
        ways = [self._valid(workflow, steps) for steps in self._steps(workflow)]
        possible = [way for way in ways if way]
        if not possible:
            raise ConfigError("AFlow: this workflow has no edit; allow more than one LLM")
        chosen = possible[int(self._rng.integers(len(possible)))]
        return chosen[int(self._rng.integers(len(chosen)))]

    def _valid(self, workflow: Workflow, steps: Sequence[dict[str, Any]]) -> list[str]:
        texts = []
        for step in steps:
            patch = patch_of([step])
            try:
                apply_patch(workflow, patch, kind=self._kind, llms=self._llms)
            except ConfigError:
                continue
            texts.append(patch_text(patch))
        return texts

    def _steps(self, workflow: Workflow) -> list[list[dict[str, Any]]]:
        """Return all steps, valid or not: additions, removals, other LLMs, other fields."""
        operators = workflow.operators
        places = [f"/operators/{i}" for i in range(len(operators) + 1)]
        add: list[dict[str, Any]] = [
            {"op": "add", "path": place, "value": {"kind": kind, "llm": llm}}
            for place in places
            for kind in KINDS
            for llm in self._llms
        ]
        remove: list[dict[str, Any]] = [{"op": "remove", "path": place} for place in places[:-1]]
        llm = [_replace(place, "llm", name) for place in places[:-1] for name in self._llms]
        fields = [
            _replace(place, name, value)
            for place, operator in zip(places, operators, strict=False)
            for name, values in _FIELDS.items()
            if hasattr(operator, name)
            for value in values
        ]
        return [add, remove, llm, fields]


class LLMProposer:
    """Asks an LLM for a patch, as AFlow does for a program: parent, its edits and its failures."""

    def __init__(self, llm: str, llms: LLMClient, kind: Kind, names: tuple[str, ...]) -> None:
        """Fix who is asked, and which LLMs a workflow may hold."""
        self._llm, self._llms = llm, llms
        self._system = Message("system", _instructions(kind, names))

    async def propose(self, experience: Experience) -> str:
        """Return what the LLM wrote, whatever it is."""
        messages = (self._system, Message("user", _told(experience)))
        request = ChatRequest(self._llm, messages, OPTIMISER_TEMPERATURE, sample=experience.attempt)
        completion = await self._llms.complete(request)
        if not completion.text.strip():
            raise CallError("malformed", "the optimiser's answer is empty")
        return completion.text


def _replace(place: str, field: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": f"{place}/{field}", "value": value}


_FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    "style": STYLES,
    "samples": tuple(range(1, MOST_SAMPLES + 1)),
    "repairs": tuple(range(1, MOST_REPAIRS + 1)),
}


def _instructions(kind: Kind, names: tuple[str, ...]) -> str:
    test = (
        f'\n- {{"kind": "test", "llm": ..., "repairs": 1 to {MOST_REPAIRS}}}: run the program on '
        "the task's own examples; while it fails, the LLM mends it."
    )
    return (
        f"{Header(OPTIMISER, 'alone').render()}\n\n"
        "You improve a workflow that answers tasks. A workflow is a JSON list of operators that "
        "act in order on the candidate answers so far; the final answer is the most frequent "
        "candidate. Operators:\n"
        '- {"kind": "generate", "llm": ..., "style": "answer only" or "step by step", "samples": '
        f"1 to {MOST_SAMPLES}}}: new candidates. The first operator has to be one.\n"
        '- {"kind": "select", "llm": ...}: an LLM reads all candidates and answers.\n'
        '- {"kind": "review", "llm": ...}: an LLM says what is wrong with the answer.\n'
        '- {"kind": "revise", "llm": ...}: an LLM writes the answer anew after reading the '
        f"reviews.{test if kind == 'code' else ''}\n\n"
        f"LLMs: {', '.join(names)}. At most {MOST_OPERATORS} operators.\n\n"
        f"Propose one small edit as a JSON patch, an array of 1 to {MOST_STEPS} steps, such as\n"
        '[{"op": "add", "path": "/operators/1", "value": {"kind": "review", "llm": '
        f'"{names[0]}"}}}}]\n'
        '[{"op": "replace", "path": "/operators/0/samples", "value": 3}]\n'
        '[{"op": "remove", "path": "/operators/1"}]\n'
        "Do not repeat an edit that was tried. Answer with the JSON array and nothing else."
    )


def _told(experience: Experience) -> str:
    """Write the parent, what came of its edits, and some of its failures."""
    parent = experience.parent
    operators = json.dumps(parent.workflow.model_dump(mode="json")["operators"])
    parts = [Section("proposal", f"{operators}\nscore {parent.score:.4f}", source="the workflow")]
    edits = [
        f"{patch_text(child.edit)}: score {child.score:.4f}, "
        f"{'better' if child.score > parent.score else 'no better'}"
        for child in experience.children
    ]
    edits += [f"{each.edit}: refused, {each.fault}" for each in experience.rejections]
    if edits:
        parts.append(Section("message", "\n".join(edits), source="edits tried"))
    for each in experience.failures:
        text = f"Task: {each.task}\nAnswer: {each.answer}\nRight: {each.gold}"
        parts.append(Section("message", truncate(text, _FAILURE_TOKENS), source="a failure"))
    return "\n\n".join([*(part.render() for part in parts), "Give the JSON patch."])
