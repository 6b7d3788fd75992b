"""How near the simulated pool comes to real LLMs: twins of real pools against their outcomes.

A twin has as many LLMs as the real table, with their accuracies as targets, of the same families.
Knobs were fitted by hand to the statistics that say "fitted"; what says "given" follows from the
targets; everything else is a check. A twin differs from world to world, as another set of
questions of the same size would; the mean over worlds is compared, and the spread printed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Final, Literal

import numpy as np

from hieramas_lib.experiments.calibration.item_response import fit_item_response
from hieramas_lib.experiments.calibration.outcome_statistics import (
    agreement,
    interaction_sd,
    plurality,
    repetition,
    same_wrong,
    shares,
)
from hieramas_lib.experiments.calibration.real_outcomes import (
    FOLDER,
    Outcomes,
    gsm8k,
    humaneval_plus,
    maths_repetitions,
    mmlu_redux,
)
from hieramas_lib.experiments.calibration.twin import Twin
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task

Origin = Literal["fitted", "given", "check"]

GOAL: Final = 0.03
"""Largest difference of a share or a correlation that counts as agreement."""

WORLDS: Final = {"MMLU-Redux": 8, "GSM8K": 20, "HumanEval+": 40, "MATH, repeated": 40}
"""Worlds of each table: the fewer its questions, the more."""

FIRST_WORLD: Final = 101
"""Seed of the first; those below were looked at while knobs were fitted."""

READERS: Final[dict[str, Callable[[Path], Outcomes]]] = {
    "MMLU-Redux": mmlu_redux,
    "GSM8K": gsm8k,
    "HumanEval+": humaneval_plus,
}

_LOADINGS = ("loading, lower quartile", "loading, median", "loading, upper quartile")
_TWICE = "one LLM asked twice, same verdict"
_FITTED = {
    "all right", "all wrong", "oracle (any right)", "phi", "phi, same family",
    "phi, other families", "same wrong answer, same family", "same wrong answer, other families",
    "LLM x subject, sd of accuracy", _TWICE, *_LOADINGS,
    "always right", "never right", "now and then",
}  # fmt: skip
"""What knobs were fitted to, and what follows from that."""

_GIVEN = {"best single LLM"}
_TWO_HARNESSES = ("openai_gpt-4-1106-preview", "routellm_gpt-4-1106-preview")
"""One LLM that is twice in the MMLU-Redux table."""


@dataclass(frozen=True)
class Comparison:
    """One statistic of a table.

    Attributes:
        statistic: What is compared.
        real: Its value in the table.
        simulated: Its value in each world.
    """

    statistic: str
    real: float
    simulated: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over worlds."""
        return fmean(self.simulated)

    @property
    def interval(self) -> Interval:
        """Mean over worlds with its 95 % interval."""
        return mean_over_seeds(self.simulated)

    @property
    def spread(self) -> float:
        """Standard deviation over worlds: what one table of this size varies by."""
        return stdev(self.simulated)

    @property
    def difference(self) -> float:
        """Simulated mean minus real."""
        return self.mean - self.real

    @property
    def goal(self) -> float | None:
        """Largest difference that is agreement; None where none was set."""
        return None if self.statistic in _LOADINGS else GOAL

    @property
    def met(self) -> bool:
        """Whether it is within its goal."""
        return self.goal is None or abs(self.difference) <= self.goal

    @property
    def origin(self) -> Origin:
        """Whether a knob was fitted to it."""
        if self.statistic in _FITTED:
            return "fitted"
        return "given" if self.statistic in _GIVEN else "check"


@dataclass(frozen=True)
class TableComparison:
    """One table of real outcomes and its twins.

    Attributes:
        table: Its name.
        llms, questions, worlds: How many.
        rows: The statistics.
        real_counts: Share of questions that 0, 1, ... LLMs got right.
        simulated_counts: The same in each world.
    """

    table: str
    llms: int
    questions: int
    worlds: int
    rows: tuple[Comparison, ...]
    real_counts: tuple[float, ...] = ()
    simulated_counts: tuple[tuple[float, ...], ...] = ()


def compare_tables(
    folder: Path = FOLDER, *, difficulty: str = "mmlu-like", names: tuple[str, ...] = tuple(WORLDS)
) -> tuple[TableComparison, ...]:
    """Compare twins of real pools with their outcomes.

    Args:
        folder: Where the tables are.
        difficulty: Whose knobs to use.
        names: Which of :data:`WORLDS`.

    Raises:
        ConfigError: a table is not there, or there is no such difficulty.
    """
    settings = load_settings(difficulty)
    tables = []
    for name in names:
        worlds = range(FIRST_WORLD, FIRST_WORLD + WORLDS[name])
        if name in READERS:
            tables.append(compare_table(READERS[name](folder), settings, worlds))
        else:
            tables.append(_compare_repetition(folder, name, settings, worlds))
    return tuple(tables)


def compare_table(real: Outcomes, settings: WorldSettings, worlds: range) -> TableComparison:
    """Compare the twins of ``real`` in ``worlds`` (seeds) with it."""
    values, counts = [], []
    for seed in worlds:
        twin = Twin.of(real, settings, seed)
        right = twin.right()
        answers = None if real.answers is None else twin.answers(right)
        copy = replace(real, right=right, answers=answers)
        statistics = _statistics(copy)
        if _TWO_HARNESSES[0] in real.llms:
            first = right[real.llms.index(_TWO_HARNESSES[0])]
            again = twin.right(_TWO_HARNESSES[:1], sample=1)[0]
            statistics[_TWICE] = float((first == again).mean())
        values.append(statistics)
        counts.append(_counts(copy))
    known = _statistics(real)
    if _TWO_HARNESSES[0] in real.llms:
        first, second = (real.right[real.llms.index(name)] for name in _TWO_HARNESSES)
        known[_TWICE] = float((first == second).mean())
    return TableComparison(
        real.table, len(real.llms), len(real.tasks), len(worlds), _rows(known, values),
        _counts(real), tuple(counts),
    )  # fmt: skip


def _compare_repetition(
    folder: Path, name: str, settings: WorldSettings, worlds: range
) -> TableComparison:
    """Compare 8 answers of one LLM to each question with those of a twin."""
    real = maths_repetitions(folder)
    questions, times = real.shape
    tasks = [Task(f"math/{i}", "math", "maths", "math", f"math/{i}", "0") for i in range(questions)]
    values = []
    for seed in worlds:
        twin = Twin({"twin": float(real.mean())}, ("twin",), tasks, settings, seed)
        answers = [twin.right(sample=sample)[0] for sample in range(times)]
        values.append(repetition(np.array(answers).T))
    return TableComparison(name, 1, questions, len(worlds), _rows(repetition(real), values))


def _statistics(outcomes: Outcomes) -> dict[str, float]:
    """Return the statistics that the table allows."""
    right, families = outcomes.right, outcomes.families
    result = shares(right) | agreement(right, families)
    if outcomes.answers is not None:
        some = list(outcomes.answered)
        answers = outcomes.answers[some]
        gold = np.array([task.gold for task in outcomes.tasks])
        result["plurality vote"] = plurality(answers, gold)
        result |= same_wrong(answers, gold, [families[i] for i in some])
    if outcomes.kind == "choice":
        subjects = [task.subject for task in outcomes.tasks]
        result["LLM x subject, sd of accuracy"] = interaction_sd(right, subjects)
    quartiles = np.quantile(fit_item_response(right)[1], [0.25, 0.5, 0.75])
    return result | dict(zip(_LOADINGS, map(float, quartiles), strict=True))


def _rows(real: dict[str, float], values: list[dict[str, float]]) -> tuple[Comparison, ...]:
    return tuple(
        Comparison(name, value, tuple(world[name] for world in values))
        for name, value in real.items()
    )


def _counts(outcomes: Outcomes) -> tuple[float, ...]:
    number = outcomes.right.sum(axis=0)
    counts = np.bincount(number, minlength=len(outcomes.llms) + 1) / len(outcomes.tasks)
    return tuple(map(float, counts))
