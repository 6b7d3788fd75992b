"""The runner: refused before a kernel starts, skipped when complete, incomplete when killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from acting import ActingWorkers, act
from filelock import FileLock
from papermill.exceptions import PapermillExecutionError
from typer.testing import CliRunner

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.cli import app
from hieramas_lib.experiments.execution import batch as subject
from hieramas_lib.experiments.execution import kernel
from hieramas_lib.experiments.execution.batch import run_all, run_notebook, run_plans
from hieramas_lib.experiments.execution.kernel import FAILURE, NotebookFailed, Outcome
from hieramas_lib.experiments.execution.notebooks import find_notebook
from hieramas_lib.experiments.execution.plan import Plan, plan_run
from hieramas_lib.experiments.execution.workers import LocalWorkers
from hieramas_lib.experiments.pairing import render

TINY = Path(__file__).parents[2] / "notebooks" / "fixtures" / "90_tiny.py"


def variant(folder: Path, stem: str, code: str) -> Path:
    """Write the tiny notebook under another name, with one more cell."""
    source = folder / f"{stem}.py"
    source.write_text(f"{TINY.read_text().replace('90_tiny', stem)}\n# %%\n{code}\n")
    path = source.with_suffix(".ipynb")
    path.write_text(render(source))
    return path


def no_kernel(*args: Any, **kwargs: Any) -> None:
    raise AssertionError("a kernel was started")


def settings(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "config.json").read_text())["parameters"]
    return loaded


def test_run_with_other_values_then_skip_then_force(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"rate": "1e-4", "names": ["x", "y", "z"]}
    first = run_notebook(tiny, values)
    assert settings(first.folder) == {
        "seed": 0, "rate": 1e-4, "names": ["x", "y", "z"], "action": "finish",
    }  # fmt: skip
    assert runs.status(first.folder) == "complete"
    assert not first.skipped
    assert "HIERAMAS_RUNNER" not in os.environ
    executed = json.loads((first.folder / "notebook.ipynb").read_text())
    assert all(cell["execution_count"] for cell in executed["cells"][1:])
    before = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")}
    with monkeypatch.context() as patch:
        patch.setattr("papermill.execute_notebook", no_kernel)
        second = run_notebook(tiny, {"rate": 0.0001, "names": ["x", "y", "z"]})
        assert second.skipped
        assert {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")} == before
        with pytest.raises(AssertionError, match="a kernel was started"):
            run_notebook(tiny, values, force=True)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"sed": 1}, "90_tiny: unknown parameter 'sed'; did you mean 'seed'"),
        ({"seed": "one"}, "90_tiny: parameter seed = 'one'.*a whole number"),
        ({"names": "['a']"}, "90_tiny: parameter names.*a list"),
    ],
)
def test_bad_values_are_refused_before_a_kernel_starts(
    tiny: Path, results: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], fault: str
) -> None:
    monkeypatch.setattr("papermill.execute_notebook", no_kernel)
    with pytest.raises(ConfigError, match=fault):
        run_notebook(tiny, values)
    assert not results.exists()


def test_failing_cell_is_named_and_leaves_the_run_incomplete(tiny: Path) -> None:
    with pytest.raises(NotebookFailed, match=r"90_tiny: cell .*'if action .* asked to fail"):
        run_notebook(tiny, {"action": "fail"})
    assert not list(runs.results_path().rglob("run.json"))
    (failure,) = runs.results_path().rglob(FAILURE)
    assert "asked to fail" in json.loads(failure.read_text())["error"]


def test_a_run_that_another_process_is_making_is_left_to_it(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "LOCK_WAIT_S", 0.05)
    monkeypatch.setattr("papermill.execute_notebook", no_kernel)
    folder = plan_run(tiny, {}).folder
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"), pytest.raises(ConfigError, match=f"making run {folder.name}"):
        run_notebook(tiny)
    with pytest.raises(AssertionError, match="a kernel was started"):
        run_notebook(tiny)


def test_bad_input_found_by_the_notebook_stays_bad_input(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PapermillExecutionError(
            cell_index=4, exec_count=3, source="x", ename="ConfigError",
            evalue="decision: no such LLM", traceback=[],
        )  # fmt: skip

    monkeypatch.setattr("papermill.execute_notebook", refuse)
    with pytest.raises(ConfigError, match="90_tiny: decision: no such LLM"):
        run_notebook(tiny)


NOTES = ["in the rollout of task 'a'", "2 of 4 rollouts finished"]


@pytest.mark.parametrize(
    ("notes", "said"), [([], "is spent. The"), (NOTES, "is spent; 2 of 4 rollouts finished. The")]
)
def test_used_up_budget_says_what_is_kept_and_what_to_do(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, notes: list[str], said: str
) -> None:
    shown = "\x1b[31mBudgetExceeded\x1b[39m: $0.9 of $1.0 is spent"

    def stop(*args: Any, **kwargs: Any) -> None:
        raise PapermillExecutionError(
            cell_index=4, exec_count=3, source="x", ename="BudgetExceeded",
            evalue="$0.9 of $1.0 is spent", traceback=["Cell In[1], line 5", shown, *notes],
        )  # fmt: skip

    monkeypatch.setattr("papermill.execute_notebook", stop)
    done = CliRunner().invoke(app, ["run", str(tiny)])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert f"the budget is used up: $0.9 of $1.0 {said} answers" in done.stderr
    assert "calls.sqlite and not paid again: raise budget_usd and run again" in done.stderr


@pytest.mark.parametrize("given", ["my_tiny", "collection/my_tiny.ipynb"])
def test_copy_under_its_own_name_is_found_and_another_runs_name_refused(
    collection: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(collection.parent)
    monkeypatch.setattr("papermill.execute_notebook", no_kernel)
    copy, source = collection / "my_tiny.ipynb", (collection / "01_one.ipynb").read_text()
    copy.write_text(source)
    done = CliRunner().invoke(app, ["run", given])
    assert (done.exit_code, done.stderr) == (
        2,
        "hieramas: my_tiny.ipynb: it starts the run of '01_one'. Fix: rename the first argument "
        "of start_notebook to 'my_tiny'\n",
    )
    copy.write_text(source.replace('start_run(\\"01_one', 'start_run(\\n  \\"my_tiny'))
    assert "my_tiny  done" in CliRunner().invoke(app, ["run", given]).stdout
    assert progress() == ["01_one done", "02_two done", "15_report done"]


def test_notebook_that_does_not_finish_its_run_is_no_success(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("papermill.execute_notebook", lambda *args, **kwargs: None)
    with pytest.raises(NotebookFailed, match=r"no finished run.*run\.finish\(\)"):
        run_notebook(tiny)


def test_killed_run_is_incomplete_and_is_run_again(
    tiny: Path, results: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "wait"
    gate.touch()
    code = f"from hieramas_lib.experiments.cli import app; app(['run', {str(tiny)!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"TINY_WAIT": str(gate)},
        start_new_session=True,
    )
    wait_for(lambda: list(results.rglob("records.parquet")), process)
    (folder,) = (path.parent for path in results.rglob("config.json"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    gate.unlink()
    assert runs.status(folder) == "incomplete"
    outcome = run_notebook(tiny)
    assert (outcome.folder, outcome.skipped) == (folder, False)
    assert runs.status(folder) == "complete"


def wait_for(condition: Any, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the run ended early"
        assert time.monotonic() < deadline, "the run did not start"
        time.sleep(0.05)


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two notebooks, and one that reads the others' results; execution is acted out."""
    folder = tmp_path / "collection"
    folder.mkdir()
    for name in ("01_one", "02_two", "15_report"):
        path = folder / f"{name}.py"
        path.write_text(TINY.read_text().replace("90_tiny", name))
        (folder / f"{name}.ipynb").write_text(render(path))
    monkeypatch.setattr(runs, "NOTEBOOKS", folder)
    monkeypatch.setattr(subject, "LocalWorkers", lambda n: ActingWorkers(execute_here, n))
    monkeypatch.setattr(subject, "execute", act)
    return folder


def execute_here(plan: Plan) -> Outcome:
    return subject.execute(plan)


def progress(**options: Any) -> list[str]:
    """Run the collection and return each notebook's word."""
    lines: list[str] = []
    run_all(on_progress=lines.append, **options)
    return [" ".join(line.split()[:2]) for line in lines]


def test_collection_is_run_then_skipped_and_its_report_kept_fresh(collection: Path) -> None:
    assert progress() == ["01_one done", "02_two done", "15_report done"]
    assert progress() == ["01_one skipped", "02_two skipped", "15_report skipped"]
    run_notebook(collection / "01_one.ipynb", {"seed": 5})
    assert progress() == ["01_one skipped", "02_two skipped", "15_report done"]
    assert progress(force=True) == ["01_one done", "02_two done", "15_report done"]


def test_failing_notebook_does_not_stop_the_others(collection: Path) -> None:
    path = collection / "01_one.ipynb"
    path.write_text(path.read_text().replace("import os", "import os  # FAILS"))
    lines: list[str] = []
    with pytest.raises(NotebookFailed, match="01_one: asked to fail"):
        run_all(on_progress=lines.append)
    assert [line.split()[1] for line in lines] == ["FAILED", "done", "done"]


def ends(plans: list[Plan], workers: int) -> dict[str, Outcome | Exception]:
    return {plan.experiment: end for plan, end in run_plans(plans, LocalWorkers(workers))}


def test_killed_process_takes_no_other_notebook_along(tmp_path: Path) -> None:
    """The kernel kills the process that runs its notebook, as a system out of memory does."""
    dies = variant(tmp_path, "91_dies", "os.kill(os.getppid(), 9)\ntime.sleep(60)")
    refuses = variant(tmp_path, "92_refuses", "raise ConfigError('no such LLM')")
    plans = [plan_run(path, {}) for path in (dies, refuses, variant(tmp_path, "93_lives", ""))]
    found = ends(plans, 1)
    fault = str(found["91_dies"])
    assert "91_dies: its process was terminated abruptly, by signal 9" in fault
    assert "--workers 1" in fault
    assert isinstance(found["92_refuses"], ConfigError)
    assert isinstance(found["93_lives"], Outcome)
    assert [runs.status(p.folder) == "complete" for p in plans] == [False, False, True]


def test_unforeseen_error_is_reported_at_the_end_with_the_notebooks_name(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(plan: Plan) -> Outcome:
        if plan.notebook.stem == "01_one":
            raise OSError("no space left")
        return act(plan)

    monkeypatch.setattr(subject, "execute", fail)
    lines: list[str] = []
    with pytest.raises(NotebookFailed, match=r"^01_one: OSError: no space left$"):
        run_all(on_progress=lines.append)
    assert [line.split()[1] for line in lines] == ["FAILED", "done", "done"]


def test_killed_kernel_is_a_failed_notebook(tmp_path: Path) -> None:
    path = variant(tmp_path, "91_dies", "os.kill(os.getpid(), 9)")
    with pytest.raises(NotebookFailed, match="91_dies: the kernel died"):
        run_notebook(path)


def test_kernels_keep_back_one_line_of_their_shutdown_and_no_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = "import logging\nlog = logging.getLogger('IPKernelApp')\n"
    says = "log.error('KeyboardInterrupt caught in kernel.')\nlog.error('Something is wrong')"
    run_notebook(variant(tmp_path, "91_says", log + says))
    said = capfd.readouterr().err
    assert "[IPKernelApp] ERROR | Something is wrong" in said
    assert "KeyboardInterrupt" not in said


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Record what would be executed."""
    executed: list[Plan] = []

    def execute(plan: Plan) -> Outcome:
        executed.append(plan)
        if plan.values.get("action") == "fail":
            raise NotebookFailed("90_tiny: asked to fail")
        return Outcome(plan.notebook.stem, plan.folder, 1.0, skipped=False)

    monkeypatch.setattr(subject, "execute", execute)
    return executed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "sed=1"], "did you mean 'seed'"),
        (["-p", "seed"], "write NAME=VALUE"),
        (["-p", "names=a"], "a list"),
        (["-f", "empty.yaml"], "must hold"),
        (["-f", "none.yaml"], "no such parameter file"),
    ],
)
def test_bad_command_line_is_one_line_and_code_2(
    tiny: Path, calls: list[Plan], monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tiny.parent)
    Path("empty.yaml").write_text("")
    done = CliRunner().invoke(app, ["run", str(tiny), *arguments])
    assert (done.exit_code, done.stderr.count("\n"), calls) == (2, 1, [])
    assert message in done.stderr


def test_unknown_notebook_is_code_2_and_a_failing_one_code_1(tiny: Path, calls: list[Plan]) -> None:
    assert CliRunner().invoke(app, ["run", "97"]).exit_code == 2
    failed = CliRunner().invoke(app, ["run", str(tiny), "-p", "action=fail"])
    assert (failed.exit_code, failed.stderr) == (1, "hieramas: 90_tiny: asked to fail\n")


def test_command_line_values_win_over_the_file(tiny: Path, calls: list[Plan]) -> None:
    values = tiny.with_name("values.yaml")
    values.write_text("rate: 1e-4\nseed: 3\n")
    arguments = ["run", str(tiny), "-f", str(values), "-p", "seed=4", "-p", "names=[q]"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert calls[0].values == {"rate": 1e-4, "seed": 4, "names": ["q"]}
    runs.write_whole(calls[0].folder / "run.json", b'{"status": "complete"}')
    assert "skipped (complete)" in CliRunner().invoke(app, arguments).stdout
    CliRunner().invoke(app, [*arguments, "--force"])
    assert len(calls) == 2


def test_notebook_is_found_by_path_name_and_number(collection: Path) -> None:
    assert find_notebook("02") == collection / "02_two.ipynb"
    assert find_notebook("02_two") == collection / "02_two.ipynb"
    assert find_notebook(str(collection / "01_one.ipynb")).stem == "01_one"
    with pytest.raises(ConfigError, match="there are 01_one, 02_two, 15_report"):
        find_notebook("03")
