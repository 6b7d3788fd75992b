"""Every notebook of the collection: its form, and that it runs offline, anywhere, with no keys."""

import ast
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
import yaml

from hieramas_lib.experiments.execution.notebooks import LAST
from hieramas_lib.experiments.pairing import render, sources
from hieramas_lib.paths import ROOT

HERE = Path(__file__).parent
SOURCES = sources()
STEMS = [path.stem for path in SOURCES]
SMALL: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "small.yaml").read_text())
"""Parameters with which a notebook runs in seconds, by notebook."""

LONGEST_CELL = 40
MORE_PROSE = 1.5
RUN_LIMIT_S = 300
FORBIDDEN = re.compile(
    r"(?:/home|/Users|/root|/work|/tmp|/mnt|/opt)/\w|[A-Z]:\\\\"  # somebody's machine
    r"|sk-[A-Za-z0-9_-]{16}|hf_[A-Za-z0-9]{16}|AKIA[A-Z0-9]{12}|ghp_[A-Za-z0-9]{20}"  # a key
)

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

notebook = pytest.mark.parametrize("source", SOURCES, ids=STEMS)


def paired(source: Path) -> Any:
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def syntax_tree(source: Path) -> ast.Module:
    """Return the syntax tree of a notebook's code."""
    cells = [cell.source for cell in paired(source).cells if cell.cell_type == "code"]
    return parse("\n".join(re.sub("^[%!].*$", "", cell, flags=re.M) for cell in cells))


def parse(code: str) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(code, "notebook", "exec", flags)
    assert isinstance(tree, ast.Module)
    return tree


def calls_of(name: str, tree: ast.AST) -> list[ast.Call]:
    """Return the calls of a function or method of that name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in calls if name in (getattr(c.func, "id", ""), getattr(c.func, "attr", ""))]


def fault_of_planned_rows(tree: ast.Module) -> str:
    """Say what is wrong with ``finish(rows=...)``, "" if nothing is.

    The number must be known before the records: it is a name that is assigned before they are
    saved, from nothing that was awaited, as answers are. Otherwise it is counted from the records
    themselves, and cannot tell that some are missing.
    """
    saved = calls_of("save_records", tree)
    given = [k.value for c in calls_of("finish", tree) for k in c.keywords if k.arg == "rows"]
    if not saved:
        return ""
    if not given or not all(isinstance(value, ast.Name) for value in given):
        return "give finish() a name as rows"
    measured: set[str] = set()
    assigned: dict[str, int] = {}
    outside = [n for s in tree.body if not isinstance(s, DEFINITIONS) for n in ast.walk(s)]
    for statement in (node for node in outside if isinstance(node, ast.Assign | ast.For)):
        value = statement.iter if isinstance(statement, ast.For) else statement.value
        targets = [statement.target] if isinstance(statement, ast.For) else statement.targets
        bound = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        nodes = list(ast.walk(value))
        if any(isinstance(n, ast.Await) or getattr(n, "id", "") in measured for n in nodes):
            measured |= bound
        assigned |= dict.fromkeys(bound, statement.lineno)
    for name in (value.id for value in given if isinstance(value, ast.Name)):
        if name in measured:
            return f"{name} is counted from what was measured"
        if assigned.get(name, saved[0].lineno) >= saved[0].lineno:
            return f"{name} is not assigned before save_records()"
    return ""


def test_there_are_notebooks_and_small_values_for_each() -> None:
    assert STEMS
    assert sorted(SMALL) == STEMS
    assert sorted(p.stem for p in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")) == STEMS


@notebook
def test_readme_lists_it(source: Path) -> None:
    assert source.stem in (ROOT / "README.md").read_text(encoding="utf-8")


@notebook
def test_pair_agrees(source: Path) -> None:
    ours, theirs = jupytext.read(source, fmt="py:percent").cells, paired(source).cells

    def content(cells: list[Any]) -> list[tuple[str, str, list[str]]]:
        return [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in cells]

    assert content(ours) == content(theirs), "run `hieramas pair`"
    assert render(source) == source.with_suffix(".ipynb").read_text(encoding="utf-8")


@notebook
def test_outputs_are_stripped_and_the_kernel_is_plain(source: Path) -> None:
    book = paired(source)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert book.metadata.kernelspec.name == "python3"
    assert set(book.metadata) <= {"kernelspec", "language_info"}
    assert all(set(cell.metadata) <= {"tags"} for cell in book.cells)


@notebook
def test_parameters_reach_the_run_under_the_notebooks_name(source: Path) -> None:
    (call,) = calls_of("start_notebook", syntax_tree(source))
    name, values = call.args
    assert isinstance(name, ast.Constant)
    assert name.value == source.stem
    assert ast.unparse(values) == "globals()"


@notebook
def test_planned_rows_are_not_counted_from_the_records(source: Path) -> None:
    assert not fault_of_planned_rows(syntax_tree(source))


SAVED = "results = [await ask(s) for s in seeds]\nrecords = pd.concat(results)\n"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (f"n = 3 * len(tasks)\n{SAVED}run.save_records(records)\nrun.finish(rows=n)", ""),
        (f"{SAVED}run.save_records(records)\nrun.finish(figures=['a'])", "give finish"),
        (f"{SAVED}run.save_records(records)\nrun.finish(rows=len(records))", "give finish"),
        (f"{SAVED}n = len(records)\nrun.save_records(records)\nrun.finish(rows=n)", "measured"),
        (f"{SAVED}n = sum(map(len, results))\nrun.save_records(x)\nrun.finish(rows=n)", "measured"),
        (f"{SAVED}run.save_records(records)\nn = 3\nrun.finish(rows=n)", "not assigned before"),
        ("run.save_table(frame)\nrun.finish(tables=['a'])", ""),
    ],
)
def test_the_check_of_planned_rows_checks(code: str, fault: str) -> None:
    found = fault_of_planned_rows(parse(code))
    assert fault in found
    assert bool(found) is bool(fault)


@notebook
def test_cells_are_short_and_the_headings_in_order(source: Path) -> None:
    cells = paired(source).cells
    assert max(len(cell.source.splitlines()) for cell in cells) <= LONGEST_CELL
    assert cells[0].cell_type == "markdown"
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    prose = re.sub("```.*?```", "", prose, flags=re.S)
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose, flags=re.M)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


@notebook
def test_prose_outweighs_code(source: Path) -> None:
    words = {"markdown": 0, "code": 0}
    for cell in paired(source).cells:
        words[cell.cell_type] += len(cell.source.split())
    assert words["markdown"] >= MORE_PROSE * words["code"], words


@notebook
def test_no_path_and_no_key_inside(source: Path) -> None:
    for path in (source, source.with_suffix(".ipynb")):
        assert not FORBIDDEN.findall(path.read_text(encoding="utf-8"))


@notebook
def test_no_event_loop_is_started_by_hand(source: Path) -> None:
    assert "asyncio.run(" not in source.read_text(encoding="utf-8")


@notebook
def test_runs_offline_without_keys_from_another_folder(source: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    if source.stem in LAST:
        first = next(stem for stem in STEMS if stem not in LAST)
        run(first, tmp_path, results)
    run(source.stem, tmp_path, results)
    (marker,) = (results / source.stem).glob("*/run.json")
    about = json.loads(marker.read_text())
    assert about["status"] == "complete"
    assert about["usage"]["paid_usd"] == 0
    assert not [path for path in tmp_path.iterdir() if path.name not in ("results", "home")]


def test_a_notebook_runs_from_the_root_too(tmp_path: Path) -> None:
    run(STEMS[0], tmp_path, tmp_path / "results", folder=ROOT)


def test_the_block_on_connections_blocks(tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=bare(tmp_path), capture_output=True, text=True
    )
    assert "block connections" in done.stderr


def run(stem: str, home: Path, results: Path, folder: Path | None = None) -> None:
    """Run one notebook at small scale in an empty environment with connections blocked."""
    values = SMALL.get(stem, {})
    arguments = [part for n, v in values.items() for part in ("-p", f"{n}={yaml_text(v)}")]
    done = subprocess.run(
        [sys.executable, "-m", "hieramas_lib.experiments.cli", "run", stem, *arguments],
        cwd=folder or home,
        env=bare(home) | {"HIERAMAS_RESULTS": str(results)},
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def yaml_text(value: Any) -> str:
    """Write a value as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def bare(home: Path) -> dict[str, str]:
    """Return an environment with nothing of the user's, and the block on connections."""
    (home / "home").mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    offline = str(HERE / "fixtures" / "offline")
    return kept | {"HOME": str(home / "home"), "PYTHONPATH": offline, "OMP_NUM_THREADS": "1"}
