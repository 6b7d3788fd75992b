"""Sweeps of ``91_paid`` against a server on the loopback address, which counts what is paid."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from loopback import Loopback, Reply

from hieramas_lib.experiments.pairing import render
from hieramas_lib.llms.call_store import CallStore, decode

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "fixtures" / "91_paid.py"
PRICE = 100.0
CALL_USD = 40 * PRICE / 1e6
"""What each call costs: 30 tokens read and 10 written."""

REPLY = Reply(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        ],
        "usage": {"prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 40},
    }
)

_POOL = """
name: own
skip_profile: nobody
reference: one
llms:
  - {{name: one, client: openai, model: m, family: own, profile: p, base_url: {url}/v1,
     price: {{input: {price}, output: {price}, date: 2026-11-01, source: test}}}}
"""


def write_sweep(folder: Path, url: str, **fields: Any) -> Path:
    """Write the notebook, the pool of one LLM at ``url``, and a sweep file; return its path."""
    (folder / "91_paid.ipynb").write_text(render(NOTEBOOK))
    pool = folder / "pool.yaml"
    pool.write_text(_POOL.format(url=url, price=PRICE))
    base = {"pool": str(pool), "budget_usd": 1.0} | fields.pop("base", {})
    path = folder / "paid.yaml"
    path.write_text(yaml.safe_dump({"notebook": "91_paid.ipynb", "base": base} | fields))
    return path


def asked(server: Loopback) -> Counter[str]:
    """Count how often each question reached the server."""
    return Counter(request["messages"][-1]["content"] for request in server.asked)


def answered(*stores: Path) -> Counter[str]:
    """Count how often each question's answer was stored."""
    return Counter(_questions(stores, "SELECT request FROM calls"))


def cut_off(*stores: Path) -> Counter[str]:
    """Count the calls that were under way when a process ended, by question."""
    query = "SELECT request FROM calls JOIN unanswered ON calls.key = unanswered.key"
    return Counter(_questions(stores, query))


def _questions(stores: tuple[Path, ...], query: str) -> list[str]:
    found = []
    for path in stores:
        store = CallStore(path)
        requests = [json.loads(decode(blob)) for (blob,) in store.rows(query)]
        found += [request["messages"][-1]["content"] for request in requests]
        store.close()
    return found
