"""The calibration of the simulated pool as a page to read, numbers to test and two figures.

All of it is derived from public tables, which are not part of the project; no row of them is in
it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hieramas_lib.experiments.calibration import reply_lengths, shipped_pool
from hieramas_lib.experiments.calibration.figures import draw_counts, draw_lengths
from hieramas_lib.experiments.calibration.real_outcomes import FOLDER
from hieramas_lib.experiments.calibration.reply_lengths import LengthComparison, compare_lengths
from hieramas_lib.experiments.calibration.shipped_pool import PoolAccuracy, pool_accuracies
from hieramas_lib.experiments.calibration.tables import GOAL, TableComparison, compare_tables
from hieramas_lib.experiments.number_texts import number
from hieramas_lib.llms.world import load_settings

DIFFICULTY: Final = "mmlu-like"

_INTRODUCTION = f"""# The simulated pool against real LLMs

Written by `hieramas calibrate` from public tables of which real LLM got which question right
(sources: data/README.md). The tables are not part of this project; what is here is derived from
them. Simulated answers are no evidence about any real model.

**How.** For each table a *twin* of its pool is simulated with the settings `{DIFFICULTY}`: one
simulated LLM a real one, the real accuracies as targets, families by maker (and by base, for tuned
ones), the same questions. Every world (a seed) is another draw of difficulties, strengths and
errors, as another set of questions would be. "Simulated" is the mean over worlds with its 95 %
interval; "spread" is the standard deviation over worlds: what a table of that size varies by, the
real one included. Knobs were fitted on other worlds than these.

**What was fitted.** By hand, in steps of 0.05 to 0.2: `loading`, `residual` and `family_sd` of each
kind of task to the shares all right and all wrong, to phi (the correlation of being right) within
and between families and, for choice, to the loadings; `interaction_sd` to LLM x subject;
`role_noise` and `call_noise` to repetitions; `tempting`, `family` and `stray` to equal wrong
answers; the spreads of `length` to quantiles of tokens. These rows, and what follows from them, say
"fitted". "Given" follows from the targets. All else is a check: nothing was tuned to it.

**Goals.** A difference of at most {GOAL} for shares and correlations, of
{reply_lengths.GOAL:.0%} for quantiles of lengths, of {shipped_pool.GOAL} for the accuracies
of the shipped pool. Loadings have none: they depend on how they are estimated, here by the same fit
for both.
"""

_TABLE_HEAD = """
| statistic | real | simulated [95 %] | spread | difference | |
|---|---|---|---|---|---|
"""
_LENGTH_HEAD = """
## Lengths of replies and prompts

![Quantiles of reply lengths, real and simulated]({name})

Lengths are drawn for an LLM whose usual number is the real mean, so that only the shape is
compared. Characters stand for tokens where a table has no tokens. Prompts are not drawn but
counted: other questions of the same set, by the project's counting rule, plus one number for what
stands around the question, set by the median.

| | LLM | unit | | 50 % real / simulated | 90 % | 99 % |
|---|---|---|---|---|---|---|
"""
_POOL_HEAD = """
## The shipped pool on the shipped tasks

Asked alone, step by step, mean over {worlds} worlds. "Spread" is the standard deviation of the
accuracy over subjects, without sampling noise, in points: of real LLMs it is 5 to 15, on
MMLU-Redux 12.

| task set | LLM | target | simulated | spread over subjects (points) |
|---|---|---|---|---|
"""
_COUNTS_NAME, _LENGTHS_NAME = "calibration_outcomes.png", "calibration_lengths.png"


@dataclass(frozen=True)
class Calibration:
    """All comparisons of one difficulty."""

    tables: tuple[TableComparison, ...]
    lengths: tuple[LengthComparison, ...]
    pool: tuple[PoolAccuracy, ...]

    def misses(self) -> list[str]:
        """Name everything that is outside its goal."""
        shares = [
            f"{table.table}: {row.statistic} ({row.difference:+.3f})"
            for table in self.tables
            for row in table.rows
            if not row.met
        ]
        lengths = [
            f"{row.what}, {row.llm}, {p:.0%} quantile ({simulated / real - 1:+.1%})"
            for row in self.lengths
            for p, real, simulated in row.quantiles()
            if abs(simulated / real - 1) > reply_lengths.GOAL
        ]
        pool = [
            f"{row.tasks}: {row.llm} ({row.accuracy - row.target:+.3f})"
            for row in self.pool
            if abs(row.accuracy - row.target) > shipped_pool.GOAL
        ]
        return [*shares, *lengths, *pool]


def calibrate(folder: Path = FOLDER) -> Calibration:
    """Make all comparisons; takes about a minute.

    Raises:
        ConfigError: a table is not in ``folder``.
    """
    settings = load_settings(DIFFICULTY)
    return Calibration(
        compare_tables(folder, difficulty=DIFFICULTY),
        compare_lengths(settings, folder),
        pool_accuracies(settings),
    )


def write_calibration(calibration: Calibration, folder: Path) -> list[Path]:
    """Write ``calibration.md``, ``calibration.json`` and two figures into ``folder``."""
    contents = {
        "calibration.md": as_markdown(calibration).encode(),
        "calibration.json": (json.dumps(as_json(calibration), indent=1) + "\n").encode(),
        _COUNTS_NAME: draw_counts([table for table in calibration.tables if table.real_counts]),
        _LENGTHS_NAME: draw_lengths(calibration.lengths),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def as_json(calibration: Calibration) -> dict[str, Any]:
    """Return the numbers, rounded to four decimals."""
    return {
        "difficulty": DIFFICULTY,
        "tables": {table.table: table_json(table) for table in calibration.tables},
        "lengths": [
            {
                "what": row.what, "llm": row.llm, "unit": row.unit, "fitted": row.fitted,
                "replies": len(row.real),
                "quantiles": {f"{p:g}": [round(r, 1), round(s, 1)] for p, r, s in row.quantiles()},
            }
            for row in calibration.lengths
        ],
        "pool": [
            {
                "tasks": row.tasks, "llm": row.llm, "target": row.target,
                "accuracy": round(row.accuracy, 4), "subject_sd": round(row.subject_sd, 4),
            }
            for row in calibration.pool
        ],
    }  # fmt: skip


def table_json(table: TableComparison) -> dict[str, Any]:
    """Return the numbers of one table, rounded to four decimals."""
    rows = {
        row.statistic: {
            "real": round(row.real, 4),
            "simulated": round(row.mean, 4),
            "spread": round(row.spread, 4),
            "origin": row.origin,
        }
        for row in table.rows
    }
    sizes = {"llms": table.llms, "questions": table.questions, "worlds": table.worlds}
    return {**sizes, "rows": rows}


def as_markdown(calibration: Calibration) -> str:
    """Return the page."""
    misses = calibration.misses()
    verdict = (
        "Outside its goal: " + "; ".join(misses) + "." if misses else "Everything is in its goal."
    )
    parts = [_INTRODUCTION, f"\n{verdict}\n\n![Number of LLMs that are right]({_COUNTS_NAME})\n"]
    for table in calibration.tables:
        parts.append(f"\n## {table.table}: {_sizes(table)}\n{_TABLE_HEAD}{_table_rows(table)}")
    parts.append(_LENGTH_HEAD.format(name=_LENGTHS_NAME) + _length_rows(calibration.lengths))
    parts.append(_POOL_HEAD.format(worlds=shipped_pool.WORLDS) + _pool_rows(calibration.pool))
    return "".join(parts)


def _sizes(table: TableComparison) -> str:
    llms = "one LLM" if table.llms == 1 else f"{table.llms} LLMs"
    return f"{llms}, {table.questions:,} questions, {table.worlds} worlds"


def _table_rows(table: TableComparison) -> str:
    return "".join(
        f"| {row.statistic} | {number(row.real, 3)} | {row.interval} | "
        f"{number(row.spread, 3)} | {_signed(row.difference)} | {row.origin} |\n"
        for row in table.rows
    )


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"


def _length_rows(rows: Sequence[LengthComparison]) -> str:
    lines = []
    for row in rows:
        cells = [f"{real:.0f} / {simulated:.0f}" for _, real, simulated in row.quantiles()]
        origin = "fitted" if row.fitted else "check"
        lines.append(f"| {row.what} | {row.llm} | {row.unit} | {origin} | {' | '.join(cells)} |\n")
    return "".join(lines)


def _pool_rows(rows: Sequence[PoolAccuracy]) -> str:
    return "".join(
        f"| {row.tasks} | {row.llm} | {number(row.target, 3)} | {number(row.accuracy, 3)} | "
        f"{number(100 * row.subject_sd, 1)} |\n"
        for row in rows
    )
