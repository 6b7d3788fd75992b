"""One call to each LLM: on a loopback server, on one that is not there, with faults and keys."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from hieramas_lib.experiments import first_call as module
from hieramas_lib.experiments.first_call import first_call, first_calls, listens
from hieramas_lib.llms.pool import LLMSpec

PLANTED = "sk-planted-and-secret"
NOBODY = "http://127.0.0.1:9/v1"  # the discard port, where nothing listens

Serve = Callable[[int, object], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that always gives one reply; return its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(status: int, body: object) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def reply(tokens: int = 2) -> dict[str, object]:
    message = {"role": "assistant", "content": "ok"}
    usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def spec(url: str | None, **fields: object) -> LLMSpec:
    price = {"input": 10, "output": 20, "date": "2026-11-01", "source": "test"}
    return LLMSpec.model_validate(
        {"name": "a", "client": "openai", "model": "m", "family": "f", "profile": "p"}
        | {"base_url": url, "price": price}
        | fields
    )


def test_an_answer_gives_time_and_cost(serve: Serve) -> None:
    line = first_call(spec(serve(200, reply())))
    # 100 tokens at $10 and 2 at $20 a million.
    assert line.startswith("ok, ") and line.endswith(" s, $0.001040")


def test_an_unknown_price_is_no_price_of_nothing(serve: Serve) -> None:
    assert first_call(spec(serve(200, reply()), price=None)).endswith("price unknown")


def test_a_server_that_is_not_there_is_not_called() -> None:
    line = first_call(spec(NOBODY))
    assert line.startswith(f"not called: nobody listens at {NOBODY}. Start the server")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, {"error": {"message": "no such parameter"}}, ["rejected: a: ", "no such parameter"]),
        (404, {"error": {"message": "unknown"}}, ["not usable", "has no model 'm'", "pool file"]),
        (401, {"error": {"message": "who?"}}, ["not usable", "wants a key", "key_env"]),
        (200, {"hello": "there"}, ["malformed: a: ", "Fix: base_url leads to no such API"]),
    ],
)
def test_a_fault_is_named_with_its_fix(
    status: int, body: object, words: list[str], serve: Serve
) -> None:
    line = first_call(spec(serve(status, body)))
    assert all(word in line for word in words), line
    assert "\n" not in line


def test_a_missing_key_is_named_and_a_key_is_never_shown(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(400, {"error": {"message": f"the key {PLANTED} may not do this"}})
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert "export SOME_KEY=" in first_call(spec(url, key_env="SOME_KEY"))
    monkeypatch.setenv("SOME_KEY", PLANTED)
    line = first_call(spec(url, key_env="SOME_KEY"))
    assert "may not do this" in line
    assert "planted" not in line


def test_a_call_that_could_cost_much_is_not_made(serve: Serve) -> None:
    dear = {"input": 1e4, "output": 1e5, "date": "2026-11-01", "source": "test"}
    assert "not called: it could cost more than $0.05" in first_call(
        spec(serve(200, reply()), price=dear)
    )


def test_a_missing_model_file_is_named() -> None:
    pytest.importorskip("xllamacpp")
    line = first_call(spec(None, client="local", model="nowhere.gguf"))
    assert line.startswith("not usable: ") and "nowhere.gguf is missing" in line


def test_an_llm_of_several_pools_is_called_once(tmp_path: Path, serve: Serve) -> None:
    url, paths = serve(200, reply()), []
    for name in ("one", "two"):
        llms = [json.loads(spec(url, name=name).model_dump_json())]
        pool = {"name": name, "skip_profile": "-", "reference": name, "llms": llms}
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(yaml.safe_dump(pool), encoding="utf-8")
    (line,) = first_calls(paths)
    assert line.startswith("one (one): ok, ")


def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(module, "LIMIT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        line = first_call(spec(f"http://127.0.0.1:{silent.getsockname()[1]}/v1"))
    assert line.startswith("timeout: no answer within 0 s")


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:1/v1", True),
        ("http://192.168.1.5:8000/v1", True),
        ("https://openrouter.ai/api/v1", False),
        ("https://8.8.8.8/v1", False),
        (None, False),
    ],
)
def test_whose_server_it_is(url: str | None, own: bool) -> None:
    assert spec(url).own_address == (url if own else None)


def test_listening(serve: Serve) -> None:
    assert listens(serve(200, {}))
    assert not listens(NOBODY)
