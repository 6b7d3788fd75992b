"""Frames and values on the pipes between the sandbox's processes.

A frame is a four-byte length and that many bytes of JSON. Values that cross from the candidate
to the tests are rebuilt from plain data, so an object of the candidate (with an ``__eq__`` of
its own, say) never reaches the tests.
"""

import json
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

FRAME_LIMIT = 64 * 2**20
"""Longest frame in bytes."""

_ITEMS_LIMIT = 1_000_000
_JSON_SAFE_INT = 2**53


NOT_PLAIN = "not plain data: "
"""How the detail of an error begins where a value cannot go from one process to the other."""


class Unsendable(BaseException):
    """Tests and program need a value that cannot go to another process: our trouble.

    A BaseException, so that a test's ``except Exception`` does not swallow it.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(NOT_PLAIN + cause)


class Opaque:
    """Stands for a candidate's object that is not plain data; equal to nothing but itself.

    Calling it or reading an attribute raises :class:`Unsendable`.
    """

    def __init__(self, type_name: str) -> None:
        self._type_name = type_name

    def __repr__(self) -> str:
        return f"<{self._type_name} object>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise Unsendable(f"the tests call a returned {self._type_name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for these itself
            raise AttributeError(name)
        raise Unsendable(f"the tests read {name!r} of a returned {self._type_name}")


def write_frame(fd: int, value: Any) -> None:
    """Write one frame; raises OSError where the reader is gone, ValueError beyond the limit."""
    body = json.dumps(value).encode("ascii")
    if len(body) > FRAME_LIMIT:
        raise ValueError("frame is too long")
    rest = memoryview(struct.pack(">I", len(body)) + body)
    while rest:
        rest = rest[os.write(fd, rest) :]


def read_frame(fd: int, limit: int = FRAME_LIMIT) -> Any:
    """Read one frame; raises EOFError at the end, ValueError for what is not a frame."""
    (length,) = struct.unpack(">I", _read_exactly(fd, 4))
    if length > limit:
        raise ValueError("frame is too long")
    return json.loads(_read_exactly(fd, length))


def _read_exactly(fd: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = os.read(fd, min(count, 2**20))
        if not part:
            raise EOFError("pipe closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def encode(value: Any) -> Any:
    """Turn a value into JSON data; what is not plain data becomes ``{"opaque": type name}``.

    A sequence of too many items, perhaps endless, becomes ``{"long": type name}``.
    """
    if value is None or isinstance(value, str | bool | float):
        return _scalar(value)
    if isinstance(value, int):
        return int(value) if -_JSON_SAFE_INT < value < _JSON_SAFE_INT else {"int": hex(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    for tag, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            items = [encode(item) for item in islice(value, _ITEMS_LIMIT + 1)]
            return {tag: items} if len(items) <= _ITEMS_LIMIT else {"long": type(value).__name__}
    return _encode_rare(value)


def _scalar(value: Any) -> Any:
    # A subclass could bring methods of its own into json; the bare value cannot.
    if isinstance(value, str):
        return str.__str__(value)
    return float.__float__(value) if isinstance(value, float) else value


def _encode_rare(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {type(value).__name__: value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, range):
        return {"range": [hex(value.start), hex(value.stop), hex(value.step)]}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return encode(value.item())
    return {"opaque": type(value).__name__}


def decode(data: Any) -> Any:
    """Rebuild a value of :func:`encode`; raises an exception of some kind for anything else."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((tag, body),) = data.items()
    return _DECODERS[tag](body)


def _too_long(body: Any) -> Any:
    raise Unsendable(f"a returned {body} has more than {_ITEMS_LIMIT} items")


def _decode_items(body: list[Any]) -> Iterator[Any]:
    return (decode(item) for item in body)


_SEQUENCES: dict[str, Any] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
    "keys": type({}.keys()),
    "values": type({}.values()),
    "items": type({}.items()),
    "iterator": Iterator,
}

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda body: int(body, 16),
    "dict": lambda body: {decode(key): decode(item) for key, item in body},
    "tuple": lambda body: tuple(_decode_items(body)),
    "set": lambda body: set(_decode_items(body)),
    "frozenset": lambda body: frozenset(_decode_items(body)),
    "deque": lambda body: deque(_decode_items(body)),
    "keys": lambda body: dict.fromkeys(_decode_items(body)).keys(),
    "values": lambda body: dict(enumerate(_decode_items(body))).values(),
    "items": lambda body: dict(_decode_items(body)).items(),
    "iterator": lambda body: iter(list(_decode_items(body))),
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": lambda body: complex(*body),
    "range": lambda body: range(*(int(part, 16) for part in body)),
    "fraction": lambda body: Fraction(*(int(part, 16) for part in body)),
    "decimal": Decimal,
    "opaque": lambda body: Opaque(str(body)),
    "long": _too_long,
}
