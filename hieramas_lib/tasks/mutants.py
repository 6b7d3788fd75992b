"""Wrong programs that look right: small changes to the references that the tests notice.

``python -m hieramas_lib.tasks.mutants`` writes ``data/simulation/humaneval_mutants.json``,
which the simulated pool takes its wrong code answers from.
"""

import ast
import json
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.humaneval import humaneval_tasks
from hieramas_lib.tasks.mutations import Mutant, mutants_of
from hieramas_lib.tasks.sandbox import WORKERS, run_program
from hieramas_lib.tasks.task import CodeTests, Task

PER_TASK = 3
MAX_TRIED = 48
"""Mutants run for one task, at most; the first of every kind of change come first."""

TIME_LIMIT_S = 1.0
"""A mutant that needs longer is left out, so that grading stays fast."""

_log = logging.getLogger(__name__)


def counting_tests(tests: CodeTests) -> str:
    """Return tests that run every assertion and end by raising ``Failed_<share>_<raised>``.

    ``<share>`` is the share of assertions that fail in per mille, ``<raised>`` the number of
    those that fail by another exception than AssertionError. With none failing they pass. A
    verdict carries no more than an exception's name, hence the odd one.
    """
    tree = _Counting().visit(ast.parse(f"{tests.program}\ncheck({tests.entry_point})\n"))
    return "\n".join([
        "_ran = _failed = _raised = 0",
        ast.unparse(ast.fix_missing_locations(tree)),
        "if _failed:",
        "    _name = f'Failed_{1000 * _failed // _ran}_{_raised}'",
        "    raise type(_name, (Exception,), {})",
    ])  # fmt: skip


class _Counting(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body.insert(0, ast.Global(["_ran", "_failed", "_raised"]))
        return node

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        counted = ast.parse(
            "_ran += 1\ntry:\n    pass\nexcept AssertionError:\n    _failed += 1\n"
            "except Exception:\n    _failed += 1\n    _raised += 1\n"
        )
        attempt = counted.body[1]
        assert isinstance(attempt, ast.Try)
        attempt.body = [node]
        return counted.body


def killed_mutants(task: Task) -> list[str]:
    """Return up to ``PER_TASK`` mutants of a task's reference that fail its tests, most subtle
    first: fewest assertions failed, none by an error, within the time limit.
    """
    if task.tests is None:
        raise ValueError(f"task {task.id} has no tests")
    tests = counting_tests(task.tests)
    ranked: list[tuple[bool, int, Mutant]] = []
    for mutant in varied_mutants(task.gold, task.tests.entry_point)[:MAX_TRIED]:
        result = run_program(mutant.program, tests=tests, timeout_s=TIME_LIMIT_S)
        if result.status == "failed" and result.detail.startswith("Failed_"):
            _, share, raised = result.detail.split("_")
            ranked.append((raised != "0", int(share), mutant))
    ranked.sort(key=lambda entry: entry[:2])
    return [mutant.program for mutant in _spread([entry[2] for entry in ranked])]


def varied_mutants(program: str, entry_point: str) -> list[Mutant]:
    """Return all mutants of a program, in an order in which every kind of change is early."""
    seen: dict[str, int] = {}
    turns = []
    for mutant in mutants_of(program, entry_point):
        seen[mutant.change] = seen.get(mutant.change, 0) + 1
        turns.append((seen[mutant.change], mutant))
    return [mutant for _, mutant in sorted(turns, key=lambda turn: turn[0])]


def _spread(ranked: list[Mutant]) -> list[Mutant]:
    """Take the first mutants on different lines or of different kinds, then any others.

    Of programs that differ in brackets only one is taken: to their readers they are the same.
    """
    chosen: list[Mutant] = []
    alike: set[str] = set()

    def take(mutant: Mutant) -> None:
        read = ast.unparse(ast.parse(mutant.program))
        if len(chosen) < PER_TASK and read not in alike:
            chosen.append(mutant)
            alike.add(read)

    for mutant in ranked:
        if all((mutant.change, mutant.line) != (one.change, one.line) for one in chosen):
            take(mutant)
    for mutant in ranked:
        take(mutant)
    return [mutant for mutant in ranked if mutant in chosen]


def main() -> None:
    """Make the mutants of all HumanEval references and write the file."""
    warnings.simplefilter("ignore", SyntaxWarning)  # "'int' object is not subscriptable"
    tasks = humaneval_tasks({})
    with ThreadPoolExecutor(WORKERS) as threads:
        programs = list(threads.map(killed_mutants, tasks))
    found = {task.id: wrong for task, wrong in zip(tasks, programs, strict=True)}
    short = [task_id for task_id, wrong in found.items() if len(wrong) < PER_TASK]
    _log.info("%d mutants; fewer than %d: %s", sum(map(len, programs)), PER_TASK, short)
    path = ROOT / "data" / "simulation" / "humaneval_mutants.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
