"""A workflow: a short list of typed operators, each plain data that a reader and a schema know.

Operators act in order on the candidate answers so far. One that needs a single answer takes the
most frequent candidate (:func:`~hieramas_lib.methods.voting.vote`), and leaves one candidate; the
final answer is the most frequent one that is left.
"""

import json
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Style
from hieramas_lib.tasks.task import Kind

MOST_OPERATORS: Final = 6
MOST_SAMPLES: Final = 5
MOST_REPAIRS: Final = 3


class _Operator(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    llm: str


class Generate(_Operator):
    """Answer the task anew, ``samples`` times; several samples are self-consistency."""

    kind: Literal["generate"] = "generate"
    style: Style = "step by step"
    samples: int = Field(default=1, ge=1, le=MOST_SAMPLES)


class Select(_Operator):
    """Read all candidates and answer: an ensemble whose judge is an LLM."""

    kind: Literal["select"] = "select"


class Review(_Operator):
    """Say what is wrong with the answer; the next ``revise`` reads it."""

    kind: Literal["review"] = "review"


class Revise(_Operator):
    """Write the answer anew in the light of the reviews since the last one, if any."""

    kind: Literal["revise"] = "revise"


class RunExamples(_Operator):
    """Run the program on the prompt's own examples, and have it mended while it fails (code)."""

    kind: Literal["test"] = "test"
    repairs: int = Field(default=1, ge=1, le=MOST_REPAIRS)


Operator = Annotated[Generate | Select | Review | Revise | RunExamples, Field(discriminator="kind")]
KINDS: Final = ("generate", "select", "review", "revise", "test")
STYLES: Final[tuple[Style, ...]] = get_args(Style)


class Workflow(BaseModel):
    """Operators in the order in which they act."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operators: tuple[Operator, ...] = Field(min_length=1, max_length=MOST_OPERATORS)

    @property
    def text(self) -> str:
        """The workflow as JSON, equal for equal workflows."""
        return self.model_dump_json()

    @property
    def most_calls(self) -> int:
        """Calls that an answer takes at most."""
        return sum(_most_calls(operator) for operator in self.operators)


def read_workflow(fields: Any, *, kind: Kind, llms: tuple[str, ...]) -> Workflow:
    """Check ``fields``, JSON values, and return the workflow.

    Args:
        fields: What should be a workflow.
        kind: Of the tasks it is for.
        llms: Names that its operators may hold.

    Raises:
        ConfigError: names the first field that is wrong, e.g. ``operators.1.llm``.
    """
    try:
        workflow = Workflow.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        fault = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"workflow: no JSON: {error}") from None
    for i, operator in enumerate(workflow.operators):
        if operator.llm not in llms:
            raise ConfigError(
                f"operators.{i}.llm: {operator.llm!r} is not one of {', '.join(llms)}"
            )
        if operator.kind == "test" and kind != "code":
            raise ConfigError(f"operators.{i}.kind: test is for tasks of kind code, not {kind}")
    if workflow.operators[0].kind != "generate":
        raise ConfigError("operators.0.kind: the first operator has to be generate")
    return workflow


def first_workflow(llm: str) -> Workflow:
    """Return where every search starts: one call, step by step."""
    return Workflow(operators=(Generate(llm=llm),))


def _most_calls(operator: Operator) -> int:
    if operator.kind == "generate":
        return operator.samples
    return operator.repairs if operator.kind == "test" else 1
