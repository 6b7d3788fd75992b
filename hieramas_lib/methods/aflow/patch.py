"""An edit of a workflow: a JSON patch (RFC 6902: add, remove, replace), checked when read."""

import json
import re
from copy import deepcopy
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.methods.aflow.workflow import Workflow, read_workflow
from hieramas_lib.tasks.task import Kind

MOST_STEPS: Final = 3
"""Steps of one edit: it is to be small, so that its effect can be told."""

_PATH = r"^/operators/(0|[1-9][0-9]?|-)(/[a-z]+)?$"
_INDEX = re.compile(_PATH)
_JSON = re.compile(r"\[.*\]", re.DOTALL)


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(pattern=_PATH)


class Add(_Step):
    """Put ``value``, an operator, before the one at ``/operators/<i>``; ``-`` is the end."""

    op: Literal["add"]
    value: dict[str, Any]


class Remove(_Step):
    """Take the operator at ``/operators/<i>`` away."""

    op: Literal["remove"]


class Replace(_Step):
    """Put ``value`` in the place of an operator, or of its field ``/operators/<i>/<field>``."""

    op: Literal["replace"]
    value: Any


Step = Annotated[Add | Remove | Replace, Field(discriminator="op")]
Patch = tuple[Step, ...]

_PATCH: TypeAdapter[Patch] = TypeAdapter(
    Annotated[Patch, Field(min_length=1, max_length=MOST_STEPS)]
)


def read_patch(text: str) -> Patch:
    """Read a patch out of what a model wrote: the first to the last square bracket.

    Raises:
        ConfigError: there is no JSON array, or a step of it is malformed; names the field.
    """
    found = _JSON.search(text)
    if found is None:
        raise ConfigError("patch: there is no JSON array in the answer")
    try:
        fields = json.loads(found.group())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"patch: no JSON: {error}") from None
    return patch_of(fields)


def patch_of(fields: Any) -> Patch:
    """Check the JSON values of a patch; ConfigError names the first field that is wrong."""
    try:
        return _PATCH.validate_python(fields)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, ("patch", *fault["loc"])))
        raise ConfigError(f"{place}: {fault['msg']}") from None


def patch_text(patch: Patch) -> str:
    """Return the patch as JSON, equal for equal patches."""
    return json.dumps([step.model_dump() for step in patch], sort_keys=True)


def apply_patch(workflow: Workflow, patch: Patch, *, kind: Kind, llms: tuple[str, ...]) -> Workflow:
    """Return the edited workflow; arguments as in :func:`.read_workflow`.

    Raises:
        ConfigError: a path leads nowhere, the result is no workflow, or it is the old one.
    """
    fields = workflow.model_dump(mode="json")
    for i, step in enumerate(patch):
        try:
            _apply(fields["operators"], step)
        except (IndexError, KeyError, TypeError):
            raise ConfigError(f"patch.{i}.path: {step.path} is not in the workflow") from None
    edited = read_workflow(fields, kind=kind, llms=llms)
    if edited == workflow:
        raise ConfigError("patch: it changes nothing")
    return edited


def _apply(operators: list[Any], step: Step) -> None:
    match = _INDEX.match(step.path)
    assert match is not None, "the schema has checked the path"
    place, field = match.group(1), match.group(2)
    if step.op == "add":
        at = len(operators) if place == "-" else int(place)
        if field or at > len(operators):
            raise KeyError(step.path)
        operators.insert(at, deepcopy(step.value))
    elif place == "-":
        raise KeyError(step.path)
    elif step.op == "remove":
        if field:
            raise KeyError(step.path)
        del operators[int(place)]
    elif field:
        if field[1:] not in operators[int(place)]:
            raise KeyError(step.path)
        operators[int(place)][field[1:]] = step.value
    else:
        operators[int(place)] = deepcopy(step.value)
