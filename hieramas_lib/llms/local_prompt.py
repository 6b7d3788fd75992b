"""How a small local model is asked: without most of what a large one needs to be told.

A model of some hundred million parameters loses its way in headers, instructions, tags and lists of
options. So, if its spec says ``prompting: plain``, all it is shown of a prompt is the role's name,
what teammates said, and the question; with ``completion`` the same as a text to go on with, for
models that have no chat template. Options are not listed where decoding is held to them.

What is sent is a function of request and spec, so the request, as it is stored, tells it all.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.layout import Section, parse_sections, role_of
from hieramas_lib.llms.pool import Example, LLMSpec
from hieramas_lib.tasks.task import LETTERS


def prompt_of(request: ChatRequest, spec: LLMSpec) -> dict[str, Any]:
    """Return ``messages`` of a chat, or the ``prompt`` to be completed."""
    if spec.prompting == "chat":
        return {"messages": [{"role": m.role, "content": m.content} for m in request.messages]}
    system, notes, question = _parts(request)
    if spec.prompting == "completion":
        shots = [f"Question: {e.question}\nAnswer: {e.answer}" for e in spec.examples]
        asked = "\n".join([*notes, f"Question: {question}", "Answer:"])
        return {"prompt": "\n\n".join([*system, *shots, asked])}
    turns = [("system", text) for text in system]
    for example in spec.examples:
        turns += [("user", example.question), ("assistant", example.answer)]
    turns.append(("user", "\n".join([*notes, question])))
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def prompting_id(spec: LLMSpec) -> str:
    """Name the way in which a model is asked, so that calls of one file in two ways do not mix."""
    return f"{spec.prompting}, {_digest(spec.examples)}" if spec.examples else spec.prompting


def _parts(request: ChatRequest) -> tuple[list[str], list[str], str]:
    """Return the role's name (in a list, if there is one), the notes and the question."""
    body = "\n\n".join(m.content for m in request.messages if m.role != "system")
    sections = parse_sections(body)
    role = role_of(request)
    notes = [f"Note: {_said(s, request.options)}" for s in sections if s.tag != "task"]
    tasks = [s.text for s in sections if s.tag == "task"]
    question = _without_options(tasks[0] if tasks else body, request.options)
    return [f"Role: {role}"] if role else [], notes, question


def _said(section: Section, options: Sequence[str]) -> str:
    """Return a teammate's text; of an option that was chosen, the text without its letter."""
    text = section.text.strip()
    return text.rpartition("\n")[0] if text in options else text


def _without_options(statement: str, options: Sequence[str]) -> str:
    """Cut the list of options off a statement whose answer is held to them."""
    choices = [option.rpartition("\n")[0] for option in options]
    listed = "".join(f"\n{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False))
    return statement.removesuffix(listed)


def _digest(examples: tuple[Example, ...]) -> str:
    text = repr([(example.question, example.answer) for example in examples])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
