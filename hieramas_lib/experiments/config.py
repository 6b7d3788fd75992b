"""The configuration of a run: what a notebook's parameters cell declares, checked and typed.

A notebook has one cell tagged ``parameters``, one ``name = literal  # meaning`` a line. That cell
is the only place where a parameter's name, type and default are written: a configuration class is
made from it, here, without starting a kernel. The same class checks values given on the command
line and, in :func:`hieramas_lib.experiments.runs.start_run`, the values that reached the notebook.
"""

import ast
import difflib
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from hieramas_lib.errors import ConfigError

GRAMMAR = "name = literal  # meaning"
"""One line of a parameters cell; no ``=`` or ``#`` inside the text or the meaning."""


class RunConfig(BaseModel):
    """The resolved parameters of a run, read as attributes; one subclass for each notebook.

    Frozen, and closed to names that the notebook does not declare. Lists become tuples.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def plain(self) -> dict[str, Any]:
        """Return the parameters as JSON values, e.g. for papermill (which needs lists)."""
        return self.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One line of a parameters cell. The default's type is the parameter's type."""

    name: str
    default: Any
    meaning: str = ""


def parse_cell(source: str, where: str) -> tuple[Parameter, ...]:
    """Read the source of a parameters cell; ``where`` names it in messages.

    Raises:
        ConfigError: a line is not of the form ``name = literal  # meaning``.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ConfigError(f"{where}, parameters cell, line {error.lineno}: {error.msg}") from None
    meanings = _comments(source)
    parameters = []
    for node in body:
        try:
            parameters.append(_parameter(node, meanings.get(node.lineno, "")))
        except ValueError as error:
            line = source.splitlines()[node.lineno - 1]
            raise ConfigError(
                f"{where}, parameters cell: {line!r}: {error}. Each line must read `{GRAMMAR}`"
            ) from None
    names = [p.name for p in parameters]
    if len(set(names)) < len(names):
        raise ConfigError(f"{where}, parameters cell: a name occurs twice in {names}")
    return tuple(parameters)


def read_parameters(notebook: Path) -> tuple[Parameter, ...]:
    """Read the parameters cell of an ``.ipynb`` file.

    Raises:
        ConfigError: the file is missing or no notebook, or has not exactly one such cell.
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        raise ConfigError(f"{notebook}: no such notebook") from None
    except (ValueError, KeyError):
        raise ConfigError(f"{notebook}: not a Jupyter notebook") from None
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise ConfigError(f"{notebook}: {len(tagged)} cells are tagged parameters, one is needed")
    return parse_cell("".join(tagged[0]["source"]), notebook.name)


def declare(values: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the parameters that are declared by giving them values."""
    return tuple(Parameter(name, value) for name, value in values.items())


def resolve(
    declared: Sequence[Parameter], given: Mapping[str, Any], where: str = "run"
) -> RunConfig:
    """Check ``given`` against what is declared and fill in the defaults.

    A text that reads as a number becomes one where a number is due (YAML reads ``1e-4`` as
    text); a text never becomes a list.

    Raises:
        ConfigError: a name is unknown or a value has the wrong type; names the fix.
    """
    names = [p.name for p in declared]
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(
                f"{where}: unknown parameter {name!r}; {hint}It has {', '.join(names) or 'none'}"
            )
    try:
        return _config_class(declared)(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0])
        default = next(p.default for p in declared if p.name == name)
        raise ConfigError(
            f"{where}: parameter {name} = {given[name]!r}: {_lower(fault['msg'])}. "
            f"Fix: give {_kind(default)}, such as {name}: {json.dumps(default)}"
        ) from None


def parse_value(text: str, default: Any) -> Any:
    """Read a value from the command line: text stays text where the default is one, else YAML."""
    if isinstance(default, str):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def read_values(path: Path) -> dict[str, Any]:
    """Read parameter values from a YAML file, ``name: value`` a line.

    Raises:
        ConfigError: the file is missing, malformed, empty, or holds something else.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(f"{path}: no such parameter file") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise ConfigError(f"{path}: must hold `name: value` lines, found {values!r:.80}")
    return values


def run_id(experiment: str, config: RunConfig) -> str:
    """Hash the experiment's name and every resolved parameter: 10 hex digits."""
    fields = {"experiment": experiment, "parameters": config.plain()}
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


def _parameter(node: ast.stmt, meaning: str) -> Parameter:
    """Turn one statement into a parameter; ValueError says what is wrong with it."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        raise ValueError("not a plain assignment")
    target = node.targets[0]
    if not isinstance(target, ast.Name) or not re.fullmatch("[a-z][a-z0-9_]*", target.id):
        raise ValueError("the name must be a lower-case word")
    if node.end_lineno != node.lineno:
        raise ValueError("it must stand on one line")
    try:
        default = ast.literal_eval(node.value)
    except ValueError:
        raise ValueError("the value must be a literal") from None
    _type_of(default)
    if not meaning or "=" in meaning or "#" in meaning:
        raise ValueError("the meaning must follow as a comment, without '=' and '#'")
    if "#" in json.dumps(default):
        raise ValueError("papermill cuts a text at '#'")
    return Parameter(target.id, default, meaning)


def _reject_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true or false is not a number")
    return value


_NUMBERS = {
    int: Annotated[int, BeforeValidator(_reject_bool)],
    float: Annotated[float, BeforeValidator(_reject_bool)],
}


def _type_of(default: Any) -> Any:
    """Return the annotation that fits a default; ValueError if its kind is not supported."""
    if isinstance(default, bool | str):
        return type(default)
    if isinstance(default, int | float):
        return _NUMBERS[type(default)]
    if isinstance(default, list | tuple):
        return tuple[_common_type(default), ...]  # type: ignore[misc]
    if isinstance(default, dict) and all(isinstance(key, str) for key in default):
        return dict[str, _common_type(list(default.values()))]  # type: ignore[misc]
    raise ValueError("the value must be a number, text, true or false, a list or a dict of those")


def _common_type(values: Sequence[Any]) -> Any:
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return _NUMBERS[float]
    types = [_type_of(value) for value in values]
    return types[0] if len(kinds) == 1 and all(t == types[0] for t in types) else Any


def _config_class(declared: Sequence[Parameter]) -> type[RunConfig]:
    fields: dict[str, Any] = {p.name: (_type_of(p.default), p.default) for p in declared}
    # Defaults are validated too: a list default must become the same tuple as a given list.
    return create_model("Config", __base__=_Validated, **fields)


class _Validated(RunConfig):
    model_config = ConfigDict(validate_default=True)


def _kind(default: Any) -> str:
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return "a whole number"
    if isinstance(default, float):
        return "a number"
    if isinstance(default, list | tuple):
        return "a list (papermill's own -p passes a list as text: use its -y or -f)"
    return "a mapping" if isinstance(default, dict) else "a text in quotes"


def _lower(message: str) -> str:
    # Lists are kept as tuples, which is no concern of the reader's.
    return (message[0].lower() + message[1:]).replace("valid tuple", "list")
