"""Agreement with our own reading of real replies, by kind of difficulty."""

import ast
import gzip
import json
from collections import Counter
from collections.abc import Callable

import pytest

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.code_extraction import extract_code
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.task import CodeTests, Task

SHARED = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.exists(), reason=f"no folder {SHARED} with real samples")

OPEN = {
    19: "after its answer the model goes on to answer invented questions; the last statement "
    "wins, as for an answer that is corrected, and no rule tells the two apart",
    109: "the answer is a name in the last sentence, the box before it holds a ratio; a box is "
    "what the reply was asked for, and names in prose are not read",
}
"""Rows that we grade otherwise than their reader did, and why. None is graded correct."""

UNGRADED = {
    115: "reads its input; the contest's tests are not in the row",
    117: "a class; the contest's tests are not in the row",
}
"""Rows that say nothing without tests that we don't have."""

GOOD = {
    "correct": {"correct"},
    "incorrect": {"wrong", "unparsed"},
    "no_answer": {"unparsed", "empty"},
}
FOUR_OPTIONS = ("mmlu_redux", "routerarena/MMLU_formal_logic", "routerarena/ArcMMLU")

Row = dict[str, str]


def cases() -> list[Row]:
    lines = (SHARED / "answer_extraction_cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["review"] != "ambiguous"]
    return [row for row in rows if row["id"] not in UNGRADED]


def known_options() -> dict[str, list[str]]:
    sample = SHARED / "mmlu_pro_sample1000.jsonl.gz"
    with gzip.open(sample, "rt", encoding="utf-8") as lines:
        return {row["question_id"]: row["options"] for row in map(json.loads, lines)}


def agrees_on_choice(row: Row) -> bool:
    known = list(known_options().get(row["item"], ()))
    count = 4 if row["benchmark"] in FOUR_OPTIONS else 10
    options = (*known, *(f"unknown text {i}" for i in range(len(known), count)))
    task = Task(f"case/{row['id']}", "cases", "choice", "s", "?", row["gold"], options)
    return grade(task, row["raw_output"]).status in GOOD[row["review"]]


def agrees_on_maths(row: Row) -> bool:
    task = Task(f"case/{row['id']}", "cases", "maths", "s", "?", row["gold"])
    return grade(task, row["raw_output"]).status in GOOD[row["review"]]


def agrees_on_code(row: Row) -> bool:
    """For ``code_only`` rows the gold is the program to be found; else an empty reply."""
    if row["review"] == "code_only":
        function = next(n for n in ast.parse(row["gold"]).body if isinstance(n, ast.FunctionDef))
        program = extract_code(row["raw_output"], function.name)
        return program is not None and program.strip() == row["gold"].strip()
    task = Task("case", "cases", "code", "s", "?", "", tests=CodeTests("solve", ""))
    return grade(task, row["raw_output"]).status in GOOD[row["review"]]


def check_for(row: Row) -> tuple[str, Callable[[Row], bool]]:
    if "mmlu" in row["benchmark"].lower():
        return "choice", agrees_on_choice
    if row["benchmark"] in ("mbpp", "livecodebench"):
        return "code", agrees_on_code
    return "maths", agrees_on_maths


def test_agreement(record_property: Callable[[str, object], None]) -> None:
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    disagreed = set[int]()
    for row in cases():
        format_, agrees = check_for(row)
        kind, agreed = (format_, row["kind"]), agrees(row)
        total[kind] += 1
        right[kind] += agreed
        if not agreed:
            disagreed.add(int(row["id"]))
    lines = [f"{'format':8}{'kind':26}{'right':>6}{'total':>6}"]
    lines += [f"{f:8}{k:26}{right[f, k]:6}{total[f, k]:6}" for f, k in sorted(total)]
    lines += [f"{'all':34}{right.total():6}{total.total():6}"]
    lines += [f"open, row {row}: {why}" for row, why in OPEN.items()]
    lines += [f"not graded, row {row}: {why}" for row, why in UNGRADED.items()]
    record_property("table: agreement with our reading of real replies", "\n".join(lines))
    assert disagreed == OPEN.keys()
