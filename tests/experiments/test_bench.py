"""The door to the speed measurements."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hieramas_lib.experiments import bench
from hieramas_lib.experiments.cli import app


def test_a_measurement_runs_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tests" / "bench"
    folder.mkdir(parents=True)
    script = "import os, sys; print(os.environ['OMP_NUM_THREADS'], __name__); sys.exit(3)"
    (folder / "bench_demo.py").write_text(script)
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    assert CliRunner().invoke(app, ["bench", "demo"]).exit_code == 3
    assert capfd.readouterr().out == "1 __main__\n"


def test_an_unknown_name_gets_the_list() -> None:
    done = CliRunner().invoke(app, ["bench", "team"])
    assert done.exit_code == 2
    assert "no measurement 'team'; there are " in done.output
    assert "teams" in done.output
