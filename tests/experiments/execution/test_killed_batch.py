"""kill -9 in the middle of a sweep: resumed, it ends like any other, and pays no answer twice.

Run with ``-m ''`` for 200 runs, and ``-s`` for what they took.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, median

import pytest
from loopback import Loopback, Reply, serve
from paid_runs import REPLY, answered, asked, cut_off, write_sweep
from processes_of import left_after, processes_of

from hieramas_lib.experiments import runs
from hieramas_lib.experiments.pairing import render

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX")

SLOW = {"number": 1000, "pause": 4.0}
POISONED = {"number": 1001, "action": "fail"}
COMMAND = [sys.executable, "-m", "hieramas_lib.experiments.cli", "sweep"]
PATIENCE_S = 3600


def start(sweep: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, str(sweep), "--workers", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def kill_when(process: "subprocess.Popen[str]", server: Loopback, calls: int) -> None:
    """Kill the sweep alone, which leaves its run processes and kernels as orphans."""
    while len(server.asked) < calls:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "count", [5, pytest.param(200, marks=pytest.mark.slow)], ids=lambda count: f"{count} runs"
)
def test_a_killed_sweep_is_resumed(count: int, tmp_path: Path, results: Path) -> None:
    with serve(Reply(REPLY.body, wait_s=0.05)) as server:
        sweep = write_sweep(
            tmp_path, server.url, grid={"number": list(range(count - 2))}, runs=[SLOW, POISONED]
        )
        kill_when(start(sweep), server, calls=count)
        orphans = processes_of(results)
        began, cpu_s = time.monotonic(), cpu_seconds()
        resumed = start(sweep)
        output, errors = resumed.communicate(timeout=PATIENCE_S)
        took, cpu_s = time.monotonic() - began, cpu_seconds() - cpu_s
        assert resumed.returncode == 1, errors
        assert f"{count - 1} of {count} complete" in output
        assert "1 failed" in output
        assert "failed: number=1001" in output and "run 1001 is poisoned" in output
        sent = asked(server)
    store = results / "calls.sqlite"
    kept, lost = answered(store), cut_off(store)
    assert set(kept) == set(sent) == {
        "asked by all", *(f"{n}/{i}" for n in [*range(count - 2), 1000, 1001] for i in range(2))
    }  # fmt: skip
    own = {question: times for question, times in sent.items() if question != "asked by all"}
    # Sent again only if the kill found it under way.
    assert all(times - 1 <= lost[question] for question, times in own.items())
    # The first runs of each start ask this at the same time, before there is an answer.
    assert sent["asked by all"] <= 2
    assert orphans, "the kill came too late"
    assert not left_after(results, 10)
    report(count, took, cpu_s, results)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(count: int, took: float, cpu_s: float, results: Path) -> None:
    """Print what a run took beside the time of its notebook's own cells."""
    whole, own = [], []
    for path in results.glob("91_paid/*/notebook.ipynb"):
        book = json.loads(path.read_text())
        if runs.status(path.parent) == "complete":
            cells = [cell["metadata"]["papermill"]["duration"] or 0 for cell in book["cells"]]
            whole.append(book["metadata"]["papermill"]["duration"])
            own.append(sum(cells))
    over = [w - o for w, o in zip(whole, own, strict=True)]
    print(
        f"\n{count} runs, resumed after a kill: {took:.0f} s wall, {cpu_s:.0f} s CPU on "
        f"{os.cpu_count()} cores at load {os.getloadavg()[1]:.1f}; a run: {mean(whole):.2f} s, of "
        f"these in its cells {mean(own):.2f} s, kernel start and papermill {mean(over):.2f} s "
        f"(median {median(over):.2f}, most {max(over):.2f})"
    )


@pytest.mark.parametrize("command", [pytest.param("run", marks=pytest.mark.slow), "sweep"])
def test_ctrl_c_says_one_line_keeps_what_is_paid_and_leaves_nothing_running(
    command: str, tmp_path: Path, results: Path
) -> None:
    with serve(Reply(REPLY.body, wait_s=1.0)) as server:
        sweep = write_sweep(
            tmp_path, server.url, grid={"number": [0, 1]}, base={"calls": 50, "budget_usd": 9.0}
        )
        arguments = ["sweep", str(sweep)]
        if command == "run":
            values = [f"pool={tmp_path / 'pool.yaml'}", "budget_usd=9", "calls=50"]
            options = [word for value in values for word in ("-p", value)]
            arguments = ["run", str(tmp_path / "91_paid.ipynb"), *options]
        process = subprocess.Popen(
            [*COMMAND[:-1], *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        while not server.asked:
            assert process.poll() is None
            time.sleep(0.02)
        kernels = [
            p for p in processes_of(results) if "ipykernel_launcher" in " ".join(p.cmdline())
        ]
        before = len(server.asked)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    # The other run of the sweep may just have been at its first call.
    assert len(server.asked) <= before + (command == "sweep")
    last = [line for line in errors.splitlines() if line.startswith("hieramas: stopped")]
    assert len(last) == 1 and "Traceback" not in errors, errors
    assert kernels and not left_after(results, 0)
    assert sum(answered(results / "calls.sqlite").values()) == len(server.asked)
    assert not any(runs.status(p.parent) == "complete" for p in results.rglob("config.json"))


@pytest.mark.slow
def test_a_kernel_that_does_not_listen_is_killed(tmp_path: Path, results: Path) -> None:
    deaf = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"open({str(tmp_path / 'deaf')!r}, 'w').close()\n"
        "time.sleep(600)"
    )
    source = tmp_path / "92_deaf.py"
    tiny = Path(__file__).parents[2] / "notebooks" / "fixtures" / "90_tiny.py"
    source.write_text(f"{tiny.read_text().replace('90_tiny', '92_deaf')}\n# %%\n{deaf}\n")
    path = source.with_suffix(".ipynb")
    path.write_text(render(source))
    process = subprocess.Popen(
        [*COMMAND[:-1], "run", str(path)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (tmp_path / "deaf").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)  # As batch systems do at the end of a job's time.
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not left_after(results, 0)
