"""Public tables of which real LLM got which question right, to calibrate the simulated pool by.

The tables are not part of this project. Where they are absent, what needs them says so; the
figures that were derived from them are in ``data/simulation/calibration.json``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import LETTERS, Kind, Task

if TYPE_CHECKING:
    import pandas as pd

FOLDER = ROOT.parent / "shared" / "data"
"""Where the tables are looked for unless said otherwise."""

_MAKERS = {
    "anthropic": "anthropic", "claude": "anthropic", "google": "google", "qwen": "qwen",
    "writer": "writer", "phind": "phind", "wizardlm": "wizardlm", "tora": "tora", "rho": "rho",
    "mistral": "mistral", "mixtral": "mistral", "routellm_mixtral": "mistral",
    "custom_finetuned_models--mistral": "mistral",
    "meta": "meta", "codellama": "meta", "custom_finetuned_models--llama": "meta",
    "gpt": "openai", "openai": "openai", "routellm_gpt": "openai", "automata_gpt": "openai",
    "openai_gsm": "gpt-3",
}  # fmt: skip
"""Beginning of a name in the tables, in lower case, to family; the longest that fits counts."""

Rights = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Right or wrong, for every LLM and question of one table.

    Attributes:
        table: Name of the table.
        kind: Kind of its questions.
        llms: Names of the LLMs.
        families: The family of each.
        tasks: The questions; all LLMs were asked all of them.
        right: Shape ``[LLMs, questions]``.
        answers: The answers given, ``""`` for none, same shape; None if they are not known. A
            right one is spelled as the gold answer.
        answered: The LLMs (indices) whose answers are known.
    """

    table: str
    kind: Kind
    llms: tuple[str, ...]
    families: tuple[str, ...]
    tasks: tuple[Task, ...]
    right: Rights
    answers: NDArray[np.str_] | None = None
    answered: tuple[int, ...] = ()


def mmlu_redux(folder: Path = FOLDER) -> Outcomes:
    """Read 21 LLMs on the MMLU-Redux questions that all were asked, graded by the original key.

    Raises:
        ConfigError: a table is not there; so do all functions of this module.
    """
    table = read_table(folder, "outcomes_mmlu_redux.csv.gz", dtype={"pred": str})
    questions = read_lines(folder, "mmlu_redux_2_all.jsonl.gz")
    right = table.pivot(index="question_id", columns="model", values="correct").dropna()
    letters = table.fillna({"pred": ""}).pivot(index="question_id", columns="model", values="pred")
    letters = letters.loc[right.index].fillna("")
    rows = questions.set_index("id").loc[right.index]
    tasks = tuple(
        Task(
            str(row.Index), "mmlu_redux", "choice", row.subject, f"{row.Index}: {row.question}",
            LETTERS[int(row.answer)], tuple(map(str, row.choices)),
        )
        for row in rows.itertuples()
    )  # fmt: skip
    answers = letters.to_numpy().T.astype(str)
    known = tuple(int(i) for i in np.flatnonzero((answers != "").any(axis=1)))
    return _outcomes("MMLU-Redux", "choice", tasks, right, answers, known)


def gsm8k(folder: Path = FOLDER) -> Outcomes:
    """Read 12 LLMs on the 1,319 test questions, graded anew (the sources lose signs and points).

    Texts and gold answers of all are not at hand, and nothing depends on them: the prompts are
    the ids, the gold answers made up.
    """
    table = read_table(folder, "outcomes_gsm8k.csv.gz", dtype={"pred": str})
    right = table.pivot(index="question_id", columns="model", values="correct_regraded").dropna()
    given = table.pivot(index="question_id", columns="model", values="pred").loc[right.index]
    tasks = tuple(
        Task(str(name), "gsm8k", "maths", "word_problems", str(name), str(1000 + number))
        for number, name in enumerate(right.index)
    )
    gold = np.array([task.gold for task in tasks])
    known = tuple(int(i) for i in np.flatnonzero(given.notna().mean().to_numpy() > 0.9))
    answers = np.where(right.to_numpy().T == 1, gold, given.map(_number).to_numpy().T.astype(str))
    return _outcomes("GSM8K", "maths", tasks, right, answers, known)


def humaneval_plus(folder: Path = FOLDER) -> Outcomes:
    """Read the 18 runs of HumanEval's 164 problems for which EvalPlus verdicts are known."""
    table = read_table(folder, "outcomes_humaneval.csv.gz").dropna(subset=["plus_pass"])
    right = table.pivot(index="task_id", columns="model", values="plus_pass").dropna()
    problems = {task.id: task for task in load_tasks("humaneval")}
    tasks = tuple(problems[f"humaneval/{int(str(name).split('/')[1]):03d}"] for name in right.index)
    return _outcomes("HumanEval+", "code", tasks, right)


def maths_repetitions(folder: Path = FOLDER) -> Rights:
    """Read 8 answers of one LLM to each of 100 MATH questions, shape ``[questions, 8]``."""
    table = read_table(folder, "outcomes_math_repeat8.csv.gz")
    return table.pivot(index="idx", columns="sample", values="correct").to_numpy().astype(bool)


def read_table(folder: Path, name: str, **options: object) -> "pd.DataFrame":
    """Read a CSV file of ``folder``."""
    import pandas as pd

    return pd.read_csv(_existing(folder, name), **options)


def read_lines(folder: Path, name: str) -> "pd.DataFrame":
    """Read a JSON Lines file of ``folder``."""
    import pandas as pd

    return pd.read_json(_existing(folder, name), lines=True)


def family(llm: str) -> str:
    """Return the family of an LLM of the tables: its maker, and the base it was tuned from."""
    name = llm.lower()
    fits = [beginning for beginning in _MAKERS if name.startswith(beginning)]
    if not fits:
        raise ConfigError(f"{llm!r}: no family is known for this LLM of the tables")
    return _MAKERS[max(fits, key=len)]


def _outcomes(
    table: str, kind: Kind, tasks: tuple[Task, ...], right: "pd.DataFrame",
    answers: NDArray[np.str_] | None = None, answered: tuple[int, ...] = (),
) -> Outcomes:  # fmt: skip
    llms = tuple(map(str, right.columns))
    rights = right.to_numpy().T.astype(bool)
    return Outcomes(table, kind, llms, tuple(map(family, llms)), tasks, rights, answers, answered)


def _number(answer: object) -> str:
    """Return a number in one spelling, ``""`` for what is none; none is spelled as a gold one."""
    try:
        return f"{float(str(answer).replace(',', '').replace('$', '')):.4f}"
    except ValueError:
        return ""


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        raise ConfigError(
            f"{path} is not there: tables of real outcomes are not shipped; give the folder that "
            "has them (data/README.md names their sources)"
        )
    return path
