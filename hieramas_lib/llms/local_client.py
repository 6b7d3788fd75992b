"""A GGUF model in this process, by llama.cpp (xllamacpp): real answers without key or network."""

import asyncio
import atexit
import hashlib
import threading
import time
from pathlib import Path
from typing import Any

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.local_prompt import prompt_of, prompting_id
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.paths import ROOT

_CONTEXT_TOKENS = 4096
_QUIET = -1
_SAMPLE_BYTES = 1 << 16
_FINISH: dict[object, FinishReason] = {"stop": "stop", "length": "length"}


def gguf_path(spec: LLMSpec) -> Path:
    """Return the model file of a local LLM; a relative path starts at the project's root.

    Raises:
        ConfigError: the file is not there.
    """
    path = ROOT / Path(spec.model).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"LLM {spec.name!r}: {path} is missing. `make run` (without LOCAL=0) fetches the small "
            "model that this project uses; for another one put the path of its GGUF file into the "
            "pool file"
        )
    return path


def file_identity(path: Path) -> str:
    """Return the size of a file and a hash of its beginning, middle and end.

    Copies of one file have the same identity, whatever their dates; two models of one
    architecture differ in their weights, in the middle and at the end.
    """
    size = path.stat().st_size
    digest = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        for start in (0, size // 2, max(size - _SAMPLE_BYTES, 0)):
            file.seek(start)
            digest.update(file.read(_SAMPLE_BYTES))
    return f"{size} bytes, {digest.hexdigest()}"


def local_origin(spec: LLMSpec, identity: str) -> str:
    """Name a model file together with the way in which the model is asked."""
    return f"{identity}; {prompting_id(spec)}"


def identity_in(origin: str) -> str:
    """Return the file's identity out of :func:`local_origin`."""
    return origin.partition("; ")[0]


def grammar_of(options: tuple[str, ...]) -> str:
    """Write a GBNF grammar whose only sentences are the texts of ``options``."""
    return "root ::= " + " | ".join(_literal(text) for text in options)


def _literal(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\"} | {chr(n): f"\\x{n:02X}" for n in range(32)}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


class LocalClient:
    """One GGUF model, opened at its first call and shared by all specs of the same file.

    One thread and one slot, and no reuse of earlier prompts: an answer depends on the request
    alone, not on what ran before or beside it.

    Raises:
        ConfigError: the file is missing.
    """

    def __init__(self, spec: LLMSpec) -> None:
        self.spec = spec
        self._path = gguf_path(spec)
        self._identity = file_identity(self._path)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``, with exactly one of its ``options`` if it has any.

        The temperature is 0 unless the request gives one; ``sample`` is the seed.

        Raises:
            CallError: the model refused the request, for one if it is too long.
        """
        began = time.perf_counter()
        parameters = _parameters(request, self.spec)
        reply = await asyncio.to_thread(self._answer, parameters)
        if "error" in reply:
            raise CallError("rejected", f"{self.spec.name}: {reply['error'].get('message')}")
        choice, usage = reply["choices"][0], reply["usage"]
        text = choice["message"].get("content") if "message" in choice else choice["text"].strip()
        return Completion(
            text=text or "",
            finish_reason=_FINISH.get(choice["finish_reason"], "other"),
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
            cost_usd=None,
            latency_s=time.perf_counter() - began,
            cached=False,
            request_key="",
        )

    def _answer(self, parameters: dict[str, Any]) -> dict[str, Any]:
        server = _open_server(self._path, self._identity)
        continued = "prompt" in parameters
        answer = server.handle_completions if continued else server.handle_chat_completions
        reply: dict[str, Any] = answer(parameters)
        return reply


def _parameters(request: ChatRequest, spec: LLMSpec) -> dict[str, Any]:
    """Write the body of the request, of a chat or of a text to be completed."""
    parameters: dict[str, Any] = prompt_of(request, spec) | {
        "max_tokens": spec.token_limit(request),
        "temperature": request.temperature or 0.0,
        "seed": request.sample,
        "cache_prompt": False,
    }
    continued = "prompt" in parameters
    if request.options:
        # What follows "Answer:" begins with a space, which belongs to the word's token.
        lead = " " if continued else ""
        parameters["grammar"] = grammar_of(tuple(lead + text for text in request.options))
    elif continued:
        # A model without a chat template knows no other end of an answer.
        parameters["stop"] = ["\n"]
    return parameters


_servers: dict[str, Any] = {}
"""Loaded models, by the identity of the file: one that was replaced is another model."""
_servers_lock = threading.Lock()


def _open_server(path: Path, identity: str) -> Any:
    """Load a model once a process, however many ask at once.

    Raises:
        CallError: the file is no GGUF model.
    """
    with _servers_lock:
        if identity not in _servers:
            server = _load(path)
            if not _servers:
                # A server ends its threads when it goes; left to the interpreter's own end, it
                # would go at a time when little still works.
                atexit.register(_servers.clear)
            _servers[identity] = server
        return _servers[identity]


def _load(path: Path) -> Any:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = _CONTEXT_TOKENS
    settings.n_parallel = 1
    # More threads collapse when the machine is busy, and one gives the same numbers everywhere.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.port = 0
    settings.n_threads_http = 1
    settings.cache_ram_mib = 0
    settings.ui = False
    settings.use_jinja = True
    settings.verbosity = _QUIET
    try:
        return xllamacpp.Server(settings)
    except Exception as error:
        raise CallError("rejected", f"{path}: cannot be loaded: {error}") from None
