"""Notebooks on a user's own pool: real HTTP to a server on the loopback address, other names."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.batch import run_notebook
from hieramas_lib.experiments.execution.notebooks import find_notebook

REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": r"Answer: \boxed{2}"},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
).encode()

POOL = """
name: own
skip_profile: nobody
reference: my-big
llms:
  - {{name: my-big, client: openai, model: big, family: own, profile: big, base_url: {url},
     price: {{input: 1, output: 2, date: 2026-11-01, source: test}}}}
  - {{name: my-small, client: openai, model: small, family: own, profile: small, base_url: {url},
     price: {{input: 0.1, output: 0.2, date: 2026-11-01, source: test}}}}
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, list[str]]]:
    """A pool file whose LLMs are a server here, and the paths that were asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(REPLY)))
            self.end_headers()
            self.wfile.write(REPLY)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = tmp_path / "own.yaml"
    path.write_text(POOL.format(url=f"http://127.0.0.1:{server.server_port}/v1"), encoding="utf-8")
    monkeypatch.setenv("HIERAMAS_RESULTS", str(tmp_path / "results"))
    yield path, asked
    server.shutdown()


OWN = {"decision": "my-big", "budget_usd": 1e4, "seeds": [0]}
PLANS = {
    "05": OWN | {"benchmark": "maths", "strongest": "my-big", "passes": 1, "group": 2, "graphs": 3},
    "06": OWN | {"benchmark": "maths", "graphs": 2, "graphs_per_task": 2, "tests": 3},
    "07": OWN
    | {
        "benchmarks": ["maths"],
        "methods": ["Base, equal budget", "AFlow"],
        "effort": "tiny",
        "strongest": "my-small",
        "passes": 1,
        "graphs": 3,
        "graphs_per_task": 2,
        "tests": 3,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ["05", "06", "07"])
def test_runs_on_other_llms_than_the_shipped_ones(number: str, pool: tuple[Path, list[str]]):
    path, asked = pool
    outcome = run_notebook(find_notebook(number), PLANS[number] | {"pool": str(path)})
    about = json.loads((outcome.folder / "run.json").read_text(encoding="utf-8"))
    assert not about["simulated"]
    assert about["usage"]["made"] == len(asked) > 0
    assert about["usage"]["paid_usd"] > 0
    captions = [p.read_text(encoding="utf-8") for p in outcome.folder.glob("figures/*.json")]
    assert not any("simulated LLMs" in caption.lower() for caption in captions)


@pytest.mark.parametrize("number", ["05", "06", "07"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"decision": "gpt-5-mini"}, "decision"),
        ({"budget_usd": 0.0}, "budget_usd"),
        ({"seeds": []}, "seeds"),
    ],
)
def test_bad_input_stops_before_the_first_call(
    number: str, fault: dict[str, object], message: str, pool: tuple[Path, list[str]]
):
    path, asked = pool
    values = {name: value for name, value in (PLANS[number] | fault).items()}
    with pytest.raises(ConfigError, match=message):
        run_notebook(find_notebook(number), values | {"pool": str(path)})
    assert asked == []
