"""What the two wire formats of the server share: a body in, its request or its fault out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.provider import clean

Body = TypeVar("Body", bound=BaseModel)


class BadRequest(ValueError):
    """A body that cannot be answered; ``field`` names the place, e.g. ``messages.0.content``."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over the wire.

    Attributes:
        request: What is asked.
        stream: Whether the answer is to come as server-sent events.
        stream_usage: Whether these are to end with the usage (the Anthropic format always does).
    """

    request: ChatRequest
    stream: bool
    stream_usage: bool = True


class WireFormat(Protocol):
    """One provider's format; the modules ``server_openai`` and ``server_anthropic`` are two."""

    def read_request(self, body: Any) -> Asked:
        """Read a decoded body; raises BadRequest naming the field."""
        ...

    def write_reply(self, completion: Completion, model: str, number: int) -> dict[str, Any]:
        """Write the reply to the server's request ``number``."""
        ...

    def write_events(self, reply: dict[str, Any], stream_usage: bool) -> list[str]:
        """Write a reply as server-sent events."""
        ...

    def write_error(self, status: int, message: str, field: str | None) -> dict[str, Any]:
        """Write the body of an error."""
        ...


def validated(kind: type[Body], body: Any) -> Body:
    """Check a body against its model; raises BadRequest for the first fault."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        fault = error.errors()[0]
        raise BadRequest(".".join(map(str, fault["loc"])) or "body", fault["msg"]) from None


def refuse(body: Mapping[str, Any], unsupported: Mapping[str, Iterable[Any]]) -> None:
    """Refuse what would change the answer and cannot be had here.

    Args:
        body: The decoded body.
        unsupported: Field to the values of it that ask for nothing, so that frameworks which
            always send the field are served; null is one of them for every field.

    Raises:
        BadRequest: names the first field.
    """
    for field, harmless in unsupported.items():
        value = body.get(field)
        if value is not None and value not in tuple(harmless):
            raise BadRequest(field, "not supported by this server; leave the field out")


def text_of(content: Any, field: str) -> str:
    """Return the text of a message: a string, or a list of text parts.

    Lone surrogates, which JSON can carry, are replaced.

    Raises:
        BadRequest: a part is no text.
    """
    if isinstance(content, str):
        return clean(content)
    if not isinstance(content, list):
        raise BadRequest(field, "give a text or a list of text parts")
    texts = []
    for number, part in enumerate(content):
        known = isinstance(part, dict) and part.get("type") == "text"
        if not known or not isinstance(part.get("text"), str):
            raise BadRequest(f"{field}.{number}", "only parts of type 'text' can be read here")
        texts.append(clean(part["text"]))
    return "\n\n".join(texts)
