"""`hieramas serve` as a user runs it, asked by the official SDKs and by our own clients."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anthropic
import openai
import pytest
import yaml
from typer.testing import CliRunner

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.serve import Ledger, offer_tape, offer_teams, offer_world, usage_lines
from hieramas_lib.learning.stage1 import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.server import Served
from hieramas_lib.llms.server_uvicorn import bind
from hieramas_lib.llms.tape import export_tape
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.prompts import alone_messages
from hieramas_lib.teams.roles import load_roles

TASKS = load_tasks("knowledge", "test")[:5]


@dataclass
class Running:
    """A server in a process of its own; ``last`` is what it said at its end."""

    url: str
    said: list[str]
    last: str = ""


@contextmanager
def hieramas_serve(*arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "hieramas_lib.experiments.cli", "serve", *arguments]
    # As in a real terminal, the interrupt goes to the server; no key is in its environment.
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_KEY")}
    process = subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env=environment | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line.rstrip("\n"))
            if "anthropic.Anthropic(" in line:
                break
        found = re.search(r"Anthropic base URL (http://127\.0\.0\.1:\d+);", "\n".join(said))
        assert found, said
        running = Running(found[1], said)
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    running.last = rest
    assert process.returncode == 0, rest


def paid_pool(path: Path, url: str) -> Path:
    """Write the file of a pool behind ``url``: one LLM by each SDK."""
    spec = {"family": "f", "profile": "p", "model": "gpt-4o-mini"}
    price = {"input": 1.0, "output": 2.0, "date": "2026-11-01", "source": "test"}
    llms = [
        spec | {"name": "told", "client": "openai", "base_url": f"{url}/v1", "price": price},
        spec | {"name": "asked", "client": "anthropic", "base_url": url, "price": price},
    ]
    pool = {"name": "served", "skip_profile": "s", "reference": "told", "llms": llms}
    path.write_text(yaml.safe_dump(pool), encoding="utf-8")
    return path


def requests(llm: str) -> list[ChatRequest]:
    roles = load_roles("choice")
    prompts = [alone_messages(task, roles, "step by step") for task in TASKS]
    return [
        ChatRequest(llm, messages, 0.2, max_tokens=500, sample=sample)
        for messages in prompts
        for sample in (0, 1)
    ]


def answers(llms, asked: list[ChatRequest]) -> list[Completion]:
    async def run() -> list[Completion]:
        return await asyncio.gather(*(llms.complete(request) for request in asked))

    return asyncio.run(run())


def texts(completions: list[Completion]) -> list[tuple[str, int, int]]:
    return [(c.text, c.prompt_tokens, c.completion_tokens) for c in completions]


def test_a_world_then_its_tape(tmp_path: Path) -> None:
    """A run against the served world is the run against the world in process; so is its replay."""
    twin = load_pool(data_path("llm_pool.yaml")).simulated()
    world = World(load_tasks("knowledge"), load_settings("mmlu-like"), twin, seed=3)
    here = answers(connect(twin, world=world), requests("gpt-4o-mini"))
    assert len({text for text, _, _ in texts(here)}) > 1

    store = CallStore(tmp_path / "calls.sqlite")
    with hieramas_serve(
        "world", "--difficulty", "mmlu-like", "--benchmark", "knowledge", "--seed", "3"
    ) as served:
        pool = paid_pool(tmp_path / "pool.yaml", served.url)
        llms = connect(load_pool(pool), store=store)
        told, asked = answers(llms, requests("told")), answers(llms, requests("asked"))
        assert texts(told) == texts(asked) == texts(here)
        assert [c.cost_usd for c in told] == [c.cost_usd for c in here]

        bare = [{"role": "user", "content": f"Please: {TASKS[0].statement}"}]
        sdk = openai.OpenAI(base_url=f"{served.url}/v1", api_key="none")
        reply = sdk.chat.completions.create(model="openai/gpt-5-mini", messages=bare)
        assert "Answer: " in (reply.choices[0].message.content or "")
        with pytest.raises(openai.BadRequestError, match="no user message holds a question"):
            sdk.chat.completions.create(
                model="gpt-5-mini", messages=[{"role": "user", "content": "What is 6 x 7?"}]
            )
    assert served.said[0].startswith("Serving mmlu-like simulated world, seed 3: 8 LLMs of pool")
    assert re.match(r"22 requests, 21 answers; [\d,]+ tokens in, [\d,]+ out; \$0\.", served.last)

    export_tape(store, tmp_path / "calls.jsonl.gz")
    store.close()
    with hieramas_serve("tape", str(tmp_path / "calls.sqlite"), "--pool", str(pool)) as replayed:
        sdk = anthropic.Anthropic(base_url=replayed.url, api_key="none")
        first = requests("told")[1]
        fields = {
            "model": "told",
            "system": first.messages[0].content,
            "messages": [{"role": "user", "content": first.messages[1].content}],
            "max_tokens": 500,
            "extra_body": {"temperature": 0.2, "seed": 1},
        }
        message = sdk.messages.create(**fields)
        assert message.content[0].text == told[1].text
        with pytest.raises(anthropic.BadRequestError, match="differs in max_tokens"):
            sdk.messages.create(**fields | {"max_tokens": 501})

    tape = offer_tape(tmp_path / "calls.jsonl.gz", pool)
    assert texts(answers(tape.clients["told"], requests("told"))) == texts(told)


def test_a_trained_team(tmp_path: Path) -> None:
    bench = open_benchmark(
        "knowledge", difficulty="hard", seed=0, graphs=6, width=2, decision="gemma-3-27b"
    )
    settings = HieraMASSettings(
        stage1=Stage1Settings(passes=1, batch=6, group=2),
        stage2=Stage2Settings(graphs_per_task=2, epochs=2),
    )
    team = HieraMAS(bench.space, bench.llms, bench.encoder, settings, 0)
    asyncio.run(team.fit(bench.train[:6]))
    team.save(tmp_path / "scholars")
    expected = asyncio.run(team.answer(bench.test[0]))
    offer = offer_teams([tmp_path / "scholars"])
    assert list(offer.clients) == ["scholars"]
    asked = ChatRequest("scholars", (Message("user", bench.test[0].statement),))
    (answer,) = answers(offer.clients["scholars"], [asked])
    usage = expected.usage
    assert texts([answer]) == [(expected.answer, usage.prompt_tokens, usage.completion_tokens)]
    with pytest.raises(ConfigError, match="two teams are called 'scholars'"):
        offer_teams([tmp_path / "scholars", tmp_path / "scholars"])

    # The same team, as if of real LLMs: nothing is called without a limit on what it may cost.
    file = tmp_path / "scholars" / "system.json"
    about = json.loads(file.read_text(encoding="utf-8"))
    for spec in about["pool"]["llms"]:
        spec["client"] = "openai"
    about["origins"] = dict.fromkeys(about["origins"])
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ConfigError, match="cost money; give a budget in US dollars"):
        offer_teams([tmp_path / "scholars"])
    assert list(offer_teams([tmp_path / "scholars"], 1.0).clients) == ["scholars"]


def test_faults_by_the_command_line() -> None:
    with hieramas_serve("world", "--benchmark", "maths", "--faults", "1.0") as served:
        sdk = openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=2.0)
        whole = 0
        for task in load_tasks("maths")[:3]:
            asked = [{"role": "user", "content": task.statement}]
            try:
                reply = sdk.chat.completions.create(model="gpt-5-mini", messages=asked)
                whole += bool(reply.choices and reply.choices[0].message.content)
            except Exception:  # The bare SDK lets out any of several.
                pass
    assert served.said[0] == "On purpose, 100% of requests meet a fault (seed 0)."
    assert served.last.startswith("3 requests,")
    assert whole < 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["world", "--difficulty", "easy"], "difficulty: 'easy' is not one of hard, mmlu-like"),
        (["world", "--benchmark", "none"], "no benchmark 'none'"),
        (["world", "--benchmark", "maths", "--faults", "2"], "a rate from 0 to 1, got 2.0"),
        (["tape", "missing.sqlite"], "missing.sqlite: no call store"),
        (["tape", "missing.jsonl.gz"], "missing.jsonl.gz: no such tape"),
        (["team", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_ends_with_exit_code_2(arguments: list[str], named: str) -> None:
    result = CliRunner().invoke(app, ["serve", *arguments, "--port", "0"])
    assert result.exit_code == 2
    assert named in result.output


def test_a_port_that_is_taken() -> None:
    with bind() as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}"):
            bind(port=port)


def test_a_question_of_another_benchmark_is_not_known() -> None:
    offer = offer_world(benchmarks=["maths"])
    with pytest.raises(CallError, match="does not know the task"):
        answers(offer.clients["gpt-5-mini"], [replace(requests("gpt-5-mini")[0])])


def test_usage_lines_for_an_ipv6_address() -> None:
    lines = usage_lines(offer_world(benchmarks=["maths"]), "::1", 80)
    assert 'base_url="http://[::1]:80/v1"' in "\n".join(lines)


def test_the_ledger_counts_unpriced_answers_apart() -> None:
    ledger = Ledger()
    priced = Completion("a", "stop", 1000, 20, 0.125, 0.0, False, "")
    for number, answer in enumerate([priced, None, replace(priced, cost_usd=None)]):
        ledger.add(Served(number, "d", 0, 200, None, answer))
    assert ledger.line() == (
        "3 requests, 2 answers; 2,000 tokens in, 40 out; $0.125000 as if paid, 1 answers unpriced"
    )
