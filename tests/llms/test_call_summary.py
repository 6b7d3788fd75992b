"""Totals of all processes by group, and what may have been billed for nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import DIED, Unanswered, listing, summarise, unanswered
from hieramas_lib.llms.call_totals import Totals
from hieramas_lib.llms.chat import Completion


def put(
    store: CallStore,
    key: str,
    cost: float | None,
    name: str = "a",
    role: str = "",
    paid: bool = True,
) -> None:
    """Store an answer of 10 tokens in and 2 out."""
    store.put(
        Completion("x", "stop", 10, 2, cost, 0.1, False, key),
        name=name, client="openai", model=name, request="{}", paid=paid, role=role,
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store used by two experiments, one of which lived on what the other paid for."""
    path = tmp_path / "calls.sqlite"
    first = CallStore(path, experiment="05_train")
    put(first, "k1", 0.1, role="Solver")
    put(first, "k2", 0.2, role="Critic")
    put(first, "k3", None, name="b", role="Critic")
    first.get("k1")
    first.close()
    second = CallStore(path, experiment="07_main")
    for key in ("k1", "k1", "k2", "missing"):
        second.get(key)
    put(second, "k4", 0.4, paid=False, role="Solver")
    second.close()
    return path


def test_both_totals_by_experiment_after_the_processes_have_ended(path: Path) -> None:
    totals = summarise(CallStore(path), "experiment")
    assert totals == {
        "05_train": Totals(4, 3, 0.30000000000000004, 0.4, 1, 40, 8),
        "07_main": Totals(4, 1, 0.0, 0.8, 0, 40, 8),
    }
    assert totals["07_main"].hits == 3


def test_by_model_and_by_role(path: Path) -> None:
    store = CallStore(path)
    by_model = {
        name: (t.calls, t.made, t.unpriced) for name, t in summarise(store, "model").items()
    }
    assert by_model == {"a": (7, 3, 0), "b": (1, 1, 1)}
    by_role = {role: (t.calls, t.paid_usd) for role, t in summarise(store, "role").items()}
    assert by_role == {"Critic": (3, 0.2), "Solver": (5, 0.1)}


def test_every_grouping_has_the_same_sums(path: Path) -> None:
    store = CallStore(path)
    for by in ("model", "role", "experiment"):
        totals = summarise(store, by).values()
        assert sum(t.calls for t in totals) == 8
        assert sum(t.as_if_usd for t in totals) == pytest.approx(1.2)
        assert sum(t.paid_usd for t in totals) == pytest.approx(0.3)


def test_the_listing_says_at_least_where_a_price_is_unknown(path: Path) -> None:
    lines = list(listing(CallStore(path), "model"))
    assert lines[0].split() == [
        "model", "calls", "made", "cached", "tokens", "in", "tokens", "out", "paid", "as", "if",
        "uncached",
    ]  # fmt: skip
    assert lines[1].split() == ["a", "7", "3", "4", "70", "14", "$0.300000", "$1.200000"]
    assert lines[2].endswith("at least $0.000000, 1 calls unpriced")
    assert len(lines) == 3
    assert list(listing(CallStore(), "role")) == ["no calls yet"]


SENDER = """
import sys
from pathlib import Path
from hieramas_lib.llms.call_store import CallStore
store = CallStore(Path(sys.argv[1]), experiment="07_main")
store.send("k5", name="a", role="Solver", most_usd=0.25)
store.send("k6", name="a", role="Solver", most_usd=0.5)
store.fail(store.send("k7", name="a", role="Critic", most_usd=None), "timeout", None)
print("sent", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX")
def test_calls_of_a_killed_process_are_told_from_those_of_a_running_one(path: Path) -> None:
    store = CallStore(path)
    child = subprocess.Popen(
        [sys.executable, "-c", SENDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    *_, title, line = listing(store, "model")
    assert (title, line) == (
        "under way:",
        "  2 calls (under way; at most $0.750000): a, Solver, 07_main",
    )
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert unanswered(store) == [
        Unanswered("a", "Critic", "07_main", "timeout", 1, None),
        Unanswered("a", "Solver", "07_main", DIED, 2, 0.75),
    ]
    lines = list(listing(store, "model"))[-4:]
    assert lines == [
        "",
        "may have been billed, no answer kept:",
        "  1 call (timeout; price unknown): a, Critic, 07_main",
        "  2 calls (its process ended; at most $0.750000): a, Solver, 07_main",
    ]
