"""A run's commit: running a notebook is no change of code, everything else is."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hieramas_lib.experiments.commit import current_commit

NOTEBOOK = "notebooks/05_demo.ipynb"


def cell(source: str, **fields: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": [source], "outputs": []} | fields


PARAMETERS = cell("seed = 0", metadata={"tags": ["parameters"]})
CLEAN = [PARAMETERS, cell("print(seed)")]


def write(path: Path, cells: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"cells": cells}))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    write(root / NOTEBOOK, CLEAN)
    (root / "code.py").write_text("x = 1")
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "One"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    return root


def test_run_and_saved_notebook_is_no_change(repository: Path) -> None:
    commit = current_commit(repository)
    assert len(commit) == 7
    ran = cell("print(seed)", outputs=[{"text": "1"}], execution_count=3)
    write(repository / NOTEBOOK, [PARAMETERS | {"source": ["seed = 1"]}, ran, cell("")])
    assert current_commit(repository) == commit


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        (NOTEBOOK, [PARAMETERS, cell("print(seed + 1)")]),
        (NOTEBOOK, [PARAMETERS]),
        ("code.py", CLEAN),
        ("notebooks/06_new.ipynb", CLEAN),
    ],
)
def test_changed_and_new_files_are(
    repository: Path, name: str, cells: list[dict[str, Any]]
) -> None:
    write(repository / name, cells)
    assert current_commit(repository).endswith("+")


def test_deleted_notebook_is_a_change_and_no_repository_is_said(repository: Path) -> None:
    (repository / NOTEBOOK).unlink()
    assert current_commit(repository).endswith("+")
    assert current_commit(repository / "none") == "no git"
