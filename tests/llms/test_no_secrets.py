"""A key in the environment reaches the provider, and no file, log, tape or notebook."""

import asyncio
import gzip
import logging
import warnings
from pathlib import Path

import pytest
import yaml
from loopback import Loopback, Reply, serve

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import listing
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.provider import ProviderClient
from hieramas_lib.llms.tape import export_tape

SECRET = "planted-4f1c9ab7"
KEY = f"sk-{SECRET}"
USAGE = {"prompt_tokens": 5, "completion_tokens": 1, "input_tokens": 5, "output_tokens": 1}
GOOD = Reply(
    {
        "choices": [{"message": {"content": "4"}, "finish_reason": "stop"}],
        "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn",
        "usage": USAGE,
    }
)
TOLD = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": None}}
# What a careless server says: the key in an error, and in the body of a good reply.
CARELESS = (
    GOOD,
    Reply(TOLD, 400),
    Reply(TOLD, 401),
    Reply(TOLD, 403),
    Reply(TOLD, 404),
    Reply(TOLD, 429),
    Reply(TOLD, 500),
    Reply(TOLD),
    Reply({"choices": [{"error": TOLD["error"]}]}),
    Reply(f"<html>{KEY}</html>".encode(), content_type="text/html"),
    GOOD,
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    """A careless server, and its key in the environment."""
    monkeypatch.setenv("PLANTED_KEY", KEY)
    # Each fault comes once: the pauses of the SDKs' retries would take minutes.
    monkeypatch.setitem(ProviderClient.__init__.__kwdefaults__, "max_retries", 0)
    with serve(*CARELESS) as running:
        yield running


def pool_file(folder: Path, server: Loopback, client: str) -> Path:
    """A pool of the one LLM that ``server`` is."""
    url = server.url + ("/v1" if client == "openai" else "")
    llm = {
        "name": "m", "client": client, "model": "m", "family": "f", "profile": "p",
        "base_url": url, "key_env": "PLANTED_KEY",
    }  # fmt: skip
    path = folder / "pool.yaml"
    path.write_text(
        yaml.safe_dump({"name": "one", "skip_profile": "-", "reference": "m", "llms": [llm]})
    )
    return path


def ask(number: int) -> ChatRequest:
    return ChatRequest("m", (Message("user", f"question {number}"),), max_tokens=20)


def leaks(folder: Path) -> list[str]:
    """Names of the files in ``folder`` that hold the secret, packed or not."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
            if SECRET.encode() in data:
                found.append(path.name)
    return found


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_store_tape_logs_and_errors(
    client: str, server: Loopback, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = CallStore(tmp_path / "calls.sqlite", experiment="07_main")
    said = []

    async def all_of_them() -> None:
        llms = connect(load_pool(pool_file(tmp_path, server, client)), store=store)
        said.append(repr(vars(llms)))
        for number in range(len(CARELESS)):
            try:
                await llms.complete(ask(number))
            except (CallError, ConfigError) as error:
                said.extend([str(error), repr(error)])
        said.append(llms.explain_miss(ask(-1)))

    with warnings.catch_warnings(record=True) as warned:
        asyncio.run(all_of_them())
    assert len(server.asked) >= len(CARELESS)
    sent = {
        headers.get("authorization", headers.get("x-api-key", "")) for headers in server.headers
    }
    assert any(SECRET in value for value in sent), "the provider does get the key"
    assert store.count() == 2
    assert len(said) > len(CARELESS), "most calls failed"
    export_tape(store, tmp_path / "tape.jsonl.gz")
    said.extend(listing(store, "model"))
    names = {path.name for path in tmp_path.iterdir()}
    assert {"calls.sqlite", "calls.sqlite-wal", "tape.jsonl.gz"} <= names
    assert leaks(tmp_path) == []
    assert SECRET not in "\n".join(said)
    assert SECRET not in "\n".join(str(w.message) for w in warned)
    assert {"hieramas_lib", client} & {r.name.split(".")[0] for r in caplog.records}
    for record in caplog.records:
        assert SECRET not in record.getMessage(), record.name
    store.close()
    assert leaks(tmp_path) == []


@pytest.mark.slow
def test_an_executed_notebook(server: Loopback, tmp_path: Path) -> None:
    """The error that ends it is shown with its traceback, as to anyone who reads the notebook."""
    import nbformat
    from nbclient import NotebookClient

    cells = [
        "from pathlib import Path\n"
        "from hieramas_lib.llms.call_store import CallStore\n"
        "from hieramas_lib.llms.chat import ChatRequest, Message\n"
        "from hieramas_lib.llms.connect import connect\n"
        "from hieramas_lib.llms.pool import load_pool\n"
        f"pool = load_pool(Path({str(pool_file(tmp_path, server, 'openai'))!r}))\n"
        f"llms = connect(pool, store=CallStore(Path({str(tmp_path / 'calls.sqlite')!r})))\n"
        "ask = lambda n: ChatRequest('m', (Message('user', f'question {n}'),), max_tokens=20)",
        "print(await llms.complete(ask(0)))\nllms",
        "await llms.complete(ask(1))",
        "await llms.complete(ask(2))",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
    )
    NotebookClient(notebook, allow_errors=True, timeout=60).execute()
    errors = [o["ename"] for c in notebook.cells for o in c.outputs if o.output_type == "error"]
    assert errors == ["CallError", "ConfigError"]
    nbformat.write(notebook, tmp_path / "executed.ipynb")
    assert leaks(tmp_path) == []
