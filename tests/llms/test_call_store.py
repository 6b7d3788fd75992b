"""The call store: what is kept, read back, summed, and safe."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from math import fsum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_totals import Totals
from hieramas_lib.llms.chat import ChatRequest, Completion, Message

REQUEST = ChatRequest("small", (Message("system", "s"), Message("user", "Who?\nYou?")), 0.2)


def put(
    store: CallStore,
    request: ChatRequest = REQUEST,
    paid: bool = True,
    role: str = "",
    mark: int | None = None,
    **fields,
) -> str:
    """Store an answer to ``request`` and return its key."""
    key = request.key("openai", "maker/small")
    values = {
        "text": "me",
        "finish_reason": "stop",
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "cost_usd": 0.5,
        "latency_s": 1.5,
        "cached": False,
        "request_key": key,
    }
    store.put(
        Completion(**(values | fields)),
        name=request.model,
        client="openai",
        model="maker/small",
        request=request.canonical("openai", "maker/small"),
        paid=paid,
        role=role,
        mark=mark,
    )
    return key


@pytest.mark.parametrize("in_memory", [True, False])
def test_what_is_put_is_read_back(tmp_path: Path, in_memory: bool) -> None:
    store = CallStore(None if in_memory else tmp_path / "new" / "calls.sqlite")
    assert store.get("unknown") is None
    key = put(store, text="you\0 — ünï", cost_usd=None, finish_reason="length")
    assert store.get(key) == Completion(
        "you\0 — ünï", "length", 10, 2, None, 1.5, cached=True, request_key=key
    )


def test_a_store_outlives_its_process(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    store = CallStore(path)
    key = put(store)
    store.close()
    again = CallStore(path, "replay")
    assert again.get(key).text == "me"
    assert again.totals() == Totals(1, 0, 0.0, 0.5, 0, 10, 2)


def test_the_newest_answer_wins_and_none_is_lost() -> None:
    store = CallStore(None, "live")
    put(store, text="old")
    key = put(store, text="new")
    assert store.get(key).text == "new"
    assert store.count() == 2


def test_totals() -> None:
    store = CallStore()
    key = put(store)
    put(store, ChatRequest("small", (), sample=1), cost_usd=None)
    put(store, ChatRequest("small", (), sample=2), cost_usd=0.25, paid=False)
    store.get(key)
    store.get(key)
    assert store.totals() == Totals(
        calls=5,
        made=3,
        paid_usd=0.5,
        as_if_usd=1.75,
        unpriced=1,
        prompt_tokens=50,
        completion_tokens=10,
    )
    store.get("unknown")
    assert (store.totals().hits, store.totals().misses) == (2, 1)


@given(st.permutations([0.1, 0.2, 0.3, 1e-9, 1e6, 0.7]))
def test_sums_do_not_depend_on_the_order(costs: list[float]) -> None:
    store = CallStore()
    for cost in costs:
        put(store, cost_usd=cost)
    assert store.totals().paid_usd == fsum(costs)


def test_an_empty_store_is_not_false() -> None:
    """So that ``store or CallStore()`` keeps the store it was given."""
    assert CallStore()


def test_modes() -> None:
    assert [CallStore(None, mode).reads for mode in ("live", "cache", "replay")] == [
        False,
        True,
        True,
    ]
    with pytest.raises(ConfigError, match="live, cache, replay"):
        CallStore(None, "record")


def test_replay_of_nothing_and_of_another_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.sqlite: no call store to replay"):
        CallStore(tmp_path / "none.sqlite", "replay")
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 20)
    with pytest.raises(ConfigError, match="cannot be used as a call store"):
        CallStore(tmp_path / "text")


def test_another_version_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    CallStore(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 1")
    db.close()
    for mode in ("cache", "replay"):
        with pytest.raises(
            ConfigError, match=r"calls\.sqlite: .*found 1, expected 2.*move the file"
        ):
            CallStore(path, mode)


def test_a_mark_goes_with_the_answer_or_stays_with_the_outcome() -> None:
    store = CallStore()

    def outcomes() -> list[str]:
        return [o for (o,) in store.rows("SELECT outcome FROM unanswered ORDER BY id")]

    marks = [store.send(f"k{n}", name="small", role="", most_usd=None) for n in range(4)]
    assert outcomes() == [""] * 4
    put(store, mark=marks[0])
    store.fail(marks[1], "rejected", 0.0)
    store.fail(marks[2], "timeout", None)
    assert outcomes() == ["timeout", ""]


def test_the_answer_and_its_mark_change_together_or_not_at_all() -> None:
    store = CallStore()
    mark = store.send("k", name="small", role="", most_usd=None)
    with pytest.raises(sqlite3.Error):
        put(store, mark=mark, cost_usd=object())
    assert (store.count(), len(store.rows("SELECT 1 FROM unanswered"))) == (0, 1)
    with pytest.raises(ZeroDivisionError), store.transaction() as db:
        db.execute("DELETE FROM unanswered")
        _ = 1 / 0
    assert len(store.rows("SELECT 1 FROM unanswered")) == 1
    put(store, mark=mark)
    assert store.count() == 1


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (ChatRequest("small", REQUEST.messages, 0.7), "temperature: stored 0.2, asked 0.7"),
        (ChatRequest("small", REQUEST.messages, 0.2, sample=3), "sample: stored 0, asked 3"),
        (
            ChatRequest("small", (REQUEST.messages[0], Message("user", "Who?\nThey?")), 0.2),
            r"messages: stored \.\.\..*You.*, asked \.\.\..*They",
        ),
    ],
)
def test_a_miss_names_what_differs(asked: ChatRequest, expected: str) -> None:
    store = CallStore()
    put(store, ChatRequest("small", (Message("user", "quite another"),), 0.9, 7, 9))
    put(store)
    put(store, ChatRequest("small", REQUEST.messages, 0.9, 7, 9))
    miss = store.miss(asked, asked.canonical("openai", "maker/small"))
    assert "small (maker/small) for 'Who?'" in str(miss)
    assert re.search(expected, str(miss)), str(miss)
    assert "max_tokens" not in str(miss)


def test_a_miss_looks_at_the_same_model_and_role_first_and_then_at_others() -> None:
    store = CallStore()
    system = Message("system", "Role: Critic\nPosition: alone\nStyle: answer only")
    critic = ChatRequest("small", (system, Message("user", "Who?")), 0.2)
    put(store, critic, role="Critic")
    for n in range(600):
        put(store, ChatRequest("small", (Message("user", "Who?"),), 0.2, sample=n))
    hotter = ChatRequest("small", critic.messages, 0.3)
    said = store.explain_miss(hotter, hotter.canonical("openai", "maker/small"))
    assert said == "the nearest stored call differs in temperature: stored 0.2, asked 0.3"
    said = store.explain_miss(critic, critic.canonical("openai", "maker/large"))
    assert said.endswith("differs in model: stored 'maker/small', asked 'maker/large'")
    said = store.explain_miss(critic, critic.canonical("openai", "maker/small"))
    assert said == "the same request is stored"


def test_a_miss_without_anything_to_compare() -> None:
    store = CallStore(keep_requests=False)
    put(store)
    miss = store.miss(REQUEST, REQUEST.canonical("openai", "maker/small"))
    assert "no stored request to compare it with" in str(miss)


def test_no_environment_variable_gets_into_the_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-planted-99aa")
    store = CallStore(tmp_path / "calls.sqlite")
    put(store)
    store.close()
    for file in tmp_path.iterdir():
        assert b"planted" not in file.read_bytes()


def test_several_threads_share_a_store() -> None:
    store = CallStore()
    requests = [ChatRequest("small", (), sample=n) for n in range(200)]

    def work(part: list[ChatRequest]) -> None:
        for request in part:
            assert store.get(put(store, request)).text == "me"

    threads = [threading.Thread(target=work, args=(requests[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.count() == 200
    assert store.totals().calls == 400


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_call_store import put, CallStore, ChatRequest
store = CallStore(Path(sys.argv[1]))
for n in range(int(sys.argv[4])):
    mark = store.send("k", name="small", role="", most_usd=None)
    put(store, ChatRequest("small", (), sample=n, max_tokens=int(sys.argv[2])), mark=mark)
    print(n, flush=True)
    assert store.get(ChatRequest("small", (), max_tokens=0).key("openai", "maker/small"))
"""


def write_in_another_process(path: Path, writer: int, count: int) -> subprocess.Popen:
    """Start a process that writes ``count`` calls and says so after each."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, str(path), str(writer), here, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_four_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    put(CallStore(path), ChatRequest("small", (), max_tokens=0))
    writers = [write_in_another_process(path, n, 250) for n in range(1, 5)]
    for writer in writers:
        assert writer.communicate(timeout=60)[0].split()[-1] == "249"
        assert writer.returncode == 0
    store = CallStore(path)
    assert store.count() == 1 + 1000
    assert store.rows("SELECT times FROM hits") == [(1000,)], "all wrote this one row"
    assert store.rows("SELECT 1 FROM unanswered") == []
    for writer in range(1, 5):
        key = ChatRequest("small", (), sample=249, max_tokens=writer).key("openai", "maker/small")
        assert store.get(key) is not None


def test_four_processes_make_the_file_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.sqlite"
        code = (
            "import sys, time; from pathlib import Path\n"
            "from hieramas_lib.llms.call_store import CallStore\n"
            "input(); CallStore(Path(sys.argv[1]))"
        )
        openers = [
            subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE)
            for _ in range(4)
        ]
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write(b"\n")
            opener.stdin.flush()
        assert [opener.wait() for opener in openers] == [0] * 4
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX")
def test_a_kill_loses_no_answer_that_was_used(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    put(CallStore(path), ChatRequest("small", (), max_tokens=0))
    writer = write_in_another_process(path, 1, 10**6)
    assert writer.stdout is not None
    said = writer.stdout.readline()
    time.sleep(0.05)
    os.kill(writer.pid, signal.SIGKILL)
    last = int((said + writer.stdout.read()).split("\n")[:-1][-1])
    writer.wait()
    writer.stdout.close()
    store = CallStore(path)
    assert store.count() - 1 in (last + 1, last + 2)
    assert len(store.rows("SELECT 1 FROM unanswered")) <= 1
    store.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
