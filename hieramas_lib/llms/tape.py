"""Calls as one file that can be handed on: gzip of JSON Lines, a header and then a call a line.

Any tool reads it: ``zcat calls.jsonl.gz | jq .text``. The same calls give the same bytes. It has
what the call store has, and so no key; what its owner paid for it is not part of it.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.call_store import CallStore, decode, encode
from hieramas_lib.llms.chat import FinishReason, key_of

_FORMAT: Literal["hieramas calls"] = "hieramas calls"
_VERSION: Literal[1] = 1
_FIELDS = (
    "key", "name", "client", "model", "role", "experiment", "request", "text", "finish_reason",
    "prompt_tokens", "completion_tokens", "cost_usd", "latency_s", "created",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM calls"
_USED_BY = "WHERE experiment = ? OR id IN (SELECT call FROM hits WHERE experiment = ?)"
_INSERT = f"""
INSERT INTO calls ({", ".join(_FIELDS)}, paid, imported)
VALUES ({", ".join("?" * len(_FIELDS))}, 0, 1)
"""
_CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)
Model = TypeVar("Model", bound=BaseModel)


class _Header(BaseModel):
    model_config = _CHECKED

    format: Literal["hieramas calls"]
    version: Literal[1]
    calls: NonNegativeInt


class _Call(BaseModel):
    model_config = _CHECKED

    key: str
    name: str
    client: str
    model: str
    role: str
    experiment: str
    request: dict[str, Any] | None
    text: str
    finish_reason: FinishReason
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    cost_usd: float | None
    latency_s: float
    created: float


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import: calls that are new in the store, and those it had already."""

    new: int
    known: int


def export_tape(store: CallStore, path: Path, experiment: str | None = None) -> int:
    """Write the calls of a store to ``path``; return how many.

    Args:
        store: Whose calls.
        path: The file; replaced if it is there.
        experiment: Only the calls that it made or was answered from; None for all.
    """
    # By key, and the answers to one key from old to new: the order they were made in says nothing.
    order = "ORDER BY key, id"
    rows = (
        store.rows(f"{_SELECT} {order}")
        if experiment is None
        else store.rows(f"{_SELECT} {_USED_BY} {order}", (experiment, experiment))
    )
    calls = [_written(row) for row in rows]
    header = {"format": _FORMAT, "version": _VERSION, "calls": len(calls)}
    lines = "".join(json.dumps(line) + "\n" for line in (header, *calls))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(lines.encode("ascii"), mtime=0))
    return len(calls)


def import_tape(store: CallStore, path: Path) -> Imported:
    """Add the calls of a tape to a store, all of them or, if one is at fault, none.

    A request that the store has an answer to keeps it: an import changes no answer.

    Raises:
        ConfigError: the file is missing or no tape; names the line, the field and the fault.
    """
    calls = list(_read(path))
    with store.transaction() as db:
        had = {key for (key,) in db.execute("SELECT DISTINCT key FROM calls")}
        new = [call for call in calls if call.key not in had]
        db.executemany(_INSERT, [_row(call) for call in new])
    return Imported(len(new), len(calls) - len(new))


def _written(row: tuple[Any, ...]) -> dict[str, Any]:
    fields = dict(zip(_FIELDS, row, strict=True))
    blob = fields["request"]
    return fields | {"request": None if blob is None else json.loads(decode(blob))}


def _row(call: _Call) -> tuple[Any, ...]:
    fields = call.model_dump()
    request = fields["request"]
    blob = None if request is None else encode(_canonical(request))
    return tuple((fields | {"request": blob})[name] for name in _FIELDS)


def _canonical(request: dict[str, Any]) -> str:
    """Write a request as ``ChatRequest.canonical`` does; its fields keep their order."""
    return json.dumps(request, ensure_ascii=False)


def _read(path: Path) -> Iterator[_Call]:
    lines = _lines(path)
    header = _checked(_Header, lines[0] if lines else "", f"{path}: line 1 (header)")
    if header.calls != len(lines) - 1:
        raise ConfigError(
            f"{path}: calls: the header says {header.calls}, the file has {len(lines) - 1}; "
            "take a whole copy"
        )
    for number, line in enumerate(lines[1:], start=2):
        call = _checked(_Call, line, f"{path}: line {number}")
        if call.request is not None and key_of(_canonical(call.request)) != call.key:
            raise ConfigError(
                f"{path}: line {number}: key: is not that of the request, which was changed"
            )
        yield call


def _lines(path: Path) -> list[str]:
    try:
        return gzip.decompress(path.read_bytes()).decode("ascii").splitlines()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such tape") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ConfigError(f"{path}: no tape, or not a whole one: {error}") from None


def _checked(model: type[Model], line: str, where: str) -> Model:
    try:
        # Not by pydantic's own reader, which takes no lone surrogates.
        return model.model_validate(json.loads(line))
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        raise ConfigError(f"{where}: {field}: {fault['msg']}") from None
    except ValueError:
        raise ConfigError(f"{where}: not JSON") from None
