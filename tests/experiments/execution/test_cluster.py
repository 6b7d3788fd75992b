"""The same sweep on a dask scheduler and two workers, each a process of its own on the loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from loopback import Reply, serve
from paid_runs import REPLY, answered, asked, write_sweep
from processes_of import left_after
from typer.testing import CliRunner

from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.execution import cluster

pytest.importorskip("distributed", reason='needs pip install -e ".[cluster]"')

PATIENCE_S = 120


@pytest.fixture
def workers(tmp_path: Path, results: Path) -> "Iterator[tuple[str, list[subprocess.Popen[bytes]]]]":
    """The scheduler's address, and two workers of one thread each."""
    file = tmp_path / "scheduler.json"
    log = (tmp_path / "dask.log").open("wb")

    def begin(kind: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file),
            "--no-dashboard", *arguments,
        ]  # fmt: skip
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)

    started = [begin("scheduler", "--host", "127.0.0.1", "--port", "0")]
    started += [begin("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
    try:
        yield address_in(file), started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        log.close()


def address_in(file: Path) -> str:
    """Wait until the scheduler has written its address down."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError):
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    raise AssertionError("the scheduler did not start")


def test_runs_go_to_the_workers_and_a_lost_one_costs_nothing(
    workers: "tuple[str, list[subprocess.Popen[bytes]]]", tmp_path: Path, results: Path
) -> None:
    """One worker is killed in the middle: its run goes on at the other, and pays nothing twice."""
    address, processes = workers
    with serve(Reply(REPLY.body, wait_s=0.05)) as server:
        sweep = write_sweep(tmp_path, server.url, grid={"number": [0, 1]}, base={"pause": 2.0})
        command = [sys.executable, "-m", "hieramas_lib.experiments.cli", "sweep", str(sweep)]
        running = subprocess.Popen(
            [*command, "--scheduler", address], stdout=subprocess.PIPE, text=True
        )
        while len(server.asked) < 3:
            assert running.poll() is None
            time.sleep(0.02)
        processes[0].kill()
        output = running.communicate(timeout=PATIENCE_S)[0]
        assert running.returncode == 0, output
        assert "2 of 2 complete (0 were before), 0 failed" in output
        assert "$0.0240 spent" in output
        stores = list(results.glob("91_paid/*/calls.sqlite"))
        assert len(stores) == 2
        assert not (results / "calls.sqlite").exists()
        # Each run has a store of its own, so what all ask is paid for by each; nothing else is.
        assert asked(server) == answered(*stores)
        assert asked(server)["asked by all"] == 2
        before = len(server.asked)
        again = CliRunner().invoke(app, ["sweep", str(sweep), "--scheduler", address])
        assert again.exit_code == 0 and "2 of 2 complete (2 were before)" in again.stdout
        assert len(server.asked) == before


@pytest.mark.slow
def test_ctrl_c_ends_what_the_workers_are_at(
    workers: "tuple[str, list[subprocess.Popen[bytes]]]", tmp_path: Path, results: Path
) -> None:
    with serve(REPLY) as server:
        sweep = write_sweep(tmp_path, server.url, grid={"number": [0]}, base={"pause": 600.0})
        command = [sys.executable, "-m", "hieramas_lib.experiments.cli", "sweep", str(sweep)]
        running = subprocess.Popen(
            [*command, "--scheduler", workers[0]], stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"}, start_new_session=True,
        )  # fmt: skip
        while len(server.asked) < 2:
            assert running.poll() is None
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        errors = running.communicate(timeout=PATIENCE_S)[1]
        assert running.returncode == 130 and "Traceback" not in errors, errors
    runs_there = [p for p in left_after(results, 15) if "distributed" not in " ".join(p.cmdline())]
    assert not runs_there


def test_no_scheduler_there_is_bad_input(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 1)
    sweep = write_sweep(tmp_path, "http://127.0.0.1:1", grid={"number": [0]})
    done = CliRunner().invoke(app, ["sweep", str(sweep), "--scheduler", "tcp://127.0.0.1:1"])
    assert done.exit_code == 2
    assert "no scheduler answers there" in done.stderr
    assert "dask scheduler" in done.stderr
