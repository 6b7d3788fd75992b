"""How near the lengths of simulated replies come to those of real ones.

The shape is compared: lengths are drawn for an LLM whose usual number is the real mean. Short
answers are in tokens, reasoned ones in characters, whose distribution around the mean is taken
for that of tokens. Prompts are not drawn but counted, by a rule that needs no tokeniser: counts
of MMLU-Pro questions are laid against the prompt tokens of questions of that set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.calibration.real_outcomes import FOLDER, read_lines, read_table
from hieramas_lib.llms.layout import Style
from hieramas_lib.llms.simulated_lengths import draw_length
from hieramas_lib.llms.tokens import count_tokens
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task

Floats = NDArray[np.float64]

GOAL: Final = 0.15
"""Largest relative difference of a quantile that counts as agreement."""

QUANTILES: Final = (0.5, 0.9, 0.99)

_DRAWS = 20_000
_REASONED = ("gpt-4-1106-preview", "Mixtral-8x7B-Instruct-v0.1")
"""The chat LLMs of the GSM8K table; the others were tuned to its format."""


@dataclass(frozen=True)
class LengthComparison:
    """Lengths of one LLM's replies, or of the prompts to it.

    Attributes:
        what: What is compared.
        llm: The real LLM.
        unit: Of the lengths.
        fitted: Whether a knob was fitted to them.
        real: All real lengths, sorted.
        simulated: Simulated ones, sorted, on the same scale.
    """

    what: str
    llm: str
    unit: str
    fitted: bool
    real: Floats
    simulated: Floats

    def quantiles(self) -> tuple[tuple[float, float, float], ...]:
        """Return (probability, real, simulated) for 0.5, 0.9 and 0.99."""
        pairs = zip(
            QUANTILES, np.quantile(self.real, QUANTILES), np.quantile(self.simulated, QUANTILES),
            strict=True,
        )  # fmt: skip
        return tuple((p, float(real), float(simulated)) for p, real, simulated in pairs)


def compare_lengths(settings: WorldSettings, folder: Path = FOLDER) -> tuple[LengthComparison, ...]:
    """Compare the lengths of replies and prompts.

    Raises:
        ConfigError: a table is not there.
    """
    arena = read_table(folder, "outcomes_routerarena.csv.gz")
    short = [
        _replies("short answers (RouterArena)", str(llm), "tokens", rows.output_tokens,
                 settings, "answer only", fitted=True)
        for llm, rows in arena.groupby("model")
    ]  # fmt: skip
    problems = read_table(folder, "outcomes_gsm8k.csv.gz").groupby("model").out_chars
    reasoned = [
        _replies("reasoned answers (GSM8K)", llm, "characters", problems.get_group(llm),
                 settings, "step by step", fitted=True)
        for llm in _REASONED
    ]  # fmt: skip
    repeated = read_table(folder, "outcomes_math_repeat8.csv.gz").out_chars
    again = _replies("reasoned answers (MATH, repeated)", "one LLM", "characters", repeated,
                     settings, "step by step", fitted=False)  # fmt: skip
    return (*short, *reasoned, again, *_prompts(folder))


def _replies(
    what: str, llm: str, unit: str, real: Sequence[float], settings: WorldSettings, style: Style,
    *, fitted: bool,
) -> LengthComparison:  # fmt: skip
    lengths = np.sort(np.asarray(real, dtype=float))
    spread, usual = settings.replies.length[style], float(lengths.mean())
    drawn = [draw_length(usual, spread, (i + 0.5) / _DRAWS) for i in range(_DRAWS)]
    return LengthComparison(what, llm, unit, fitted, lengths, np.sort(np.array(drawn, float)))


def _prompts(folder: Path) -> tuple[LengthComparison, ...]:
    """Compare counted prompts; what stands around the questions is one number, set by the median.

    The questions are others of the same set, each subject as frequent as in the real prompts.
    """
    questions = read_lines(folder, "mmlu_pro_sample1000.jsonl.gz")
    counts = {
        str(subject): [_count(row.question, row.options) for row in rows.itertuples()]
        for subject, rows in questions.groupby("category")
    }
    arena = read_table(folder, "outcomes_routerarena.csv.gz")
    subjects = arena.question_id.str.extract(r"^MMLUPro_(.*)_\d+$")[0]
    comparisons = []
    for llm, rows in arena[subjects.notna()].groupby("model"):
        real = np.sort(rows.input_tokens.to_numpy(dtype=float))
        counted = np.concatenate([_spread_out(counts[s]) for s in subjects[rows.index]])
        counted = np.sort(counted + np.median(real) - np.median(counted))
        comparisons.append(
            LengthComparison("prompts (MMLU-Pro)", str(llm), "tokens", False, real, counted)
        )
    return tuple(comparisons)


def _count(question: str, options: Sequence[str]) -> int:
    task = Task("q", "mmlu_pro", "choice", "any", question, "A", tuple(map(str, options)))
    return count_tokens(task.statement)


def _spread_out(counts: Sequence[int]) -> Floats:
    """Return 101 quantiles of ``counts``, so that every subject's questions weigh the same."""
    return np.quantile(counts, np.linspace(0.0, 1.0, 101))
