"""Tables 1-4 and 6-11 of the HieraMAS paper, made of our runs, with the printed ones below.

(Its Table 5 is notation, and Tables 12 and 13 are texts of profiles.) A table is computed from the
records of all runs that differ in their seeds only (:mod:`.pooling`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations.ablation_tables import ablation_table
from hieramas_lib.experiments.ablations.variants import FULL
from hieramas_lib.experiments.paper.pooling import PooledRuns, pooled_runs
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.tables import comparison_table, only

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table to print.

    Attributes:
        name: For a file, e.g. ``"table2"``, or ``"table2_published"``.
        frame: Numbers, for :mod:`hieramas_lib.experiments.tables` to write.
        caption: What it is, and which runs it is from, or that it is not ours.
        simulated: Whether it is about simulated LLMs.
    """

    name: str
    frame: "pd.DataFrame"
    caption: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a table comes from: notebook, title, how it is made, and its name in print."""

    experiment: str
    title: str
    make: Callable[[PooledRuns], "pd.DataFrame"]
    published: str


def paper_tables(
    number: int, run_id: str | None = None, results: Path | None = None
) -> tuple[PaperTable, PaperTable]:
    """Return our table ``number`` and the printed one.

    Args:
        number: One of :data:`NUMBERS`.
        run_id: Run to print, or the beginning of its id; by default the newest.
        results: The folder of runs; by default where runs are written to.

    Raises:
        ConfigError: no such table, or no run that it could be made of; says which to make.
    """
    if number not in _SOURCES:
        raise ConfigError(f"table {number}: there are {', '.join(map(str, NUMBERS))}")
    source = _SOURCES[number]
    runs = pooled_runs(source.experiment, run_id, results)
    frame = source.make(runs)
    if frame.empty:
        raise ConfigError(f"table {number}: {runs.provenance} has no row of it")
    caption = f"{source.title} {runs.provenance}"
    printed = published_table(source.published)
    return (
        PaperTable(f"table{number}", frame, caption, runs.simulated),
        PaperTable(f"table{number}_published", printed.frame, printed.caption, False),
    )


def main_table(runs: PooledRuns) -> "pd.DataFrame":
    """Table 1: accuracy by method and benchmark, and its mean over benchmarks.

    Columns: ``method``, and for each benchmark ``accuracy_<benchmark>`` with its interval; then
    ``accuracy_average``.
    """
    import pandas as pd

    table = comparison_table(runs.records)
    rows = []
    for method, group in table.groupby("method", sort=False):
        row: dict[str, object] = {"method": method}
        for _, cell in group.iterrows():
            for end in ("", "_low", "_high"):
                row[f"accuracy_{cell['benchmark']}{end}"] = cell[f"accuracy{end}"]
        rows.append(row | {"accuracy_average": group["accuracy"].mean()})
    return pd.DataFrame(rows)


def cost_table(runs: PooledRuns) -> "pd.DataFrame":
    """Table 4: cost of answering all test questions once, by method and benchmark."""
    table = comparison_table(runs.records)
    table["total_usd"] = table["cost_usd"] * table["n"]
    return table[["method", "benchmark", "n", "total_usd", "cost_reference", "unpriced"]]


def training_table(runs: PooledRuns) -> "pd.DataFrame":
    """Table 11: cost of training, means over seeds."""
    costs = runs.rows("training.csv").groupby(["method", "benchmark"], sort=False)
    means = costs.agg(
        train_tasks=("train_tasks", "max"),
        training_calls=("calls", "mean"),
        training_usd=("cost_usd", "mean"),
        reference_calls=("cost_reference", "mean"),
    )
    means["training_calls"] = means["training_calls"].round().astype(int)
    return means.reset_index()


def unseen_table(runs: PooledRuns) -> "pd.DataFrame":
    """Table 3: accuracy and utility on subjects that training never saw."""
    records = runs.records
    table = comparison_table(records[records["split"] == "unseen"])
    kept = ("method", "n", "seeds", "accuracy", "utility")
    return only(table, kept)


def ablation_rows(parts: Sequence[str]) -> Callable[[PooledRuns], "pd.DataFrame"]:
    """Return how to make the table of the full system and of variants that change ``parts``."""

    def make(runs: PooledRuns) -> "pd.DataFrame":
        table = ablation_table(runs.records)
        changed = table["variant"].map(lambda name: name.startswith(tuple(parts)))
        if not changed.any():
            raise ConfigError(
                f"{runs.provenance} has no variant of {' or '.join(parts)}. Fix: `hieramas run 08 "
                "-p 'variants=[graph, llms, width, graphs]'` for Tables 2, 6 and 7, then again"
            )
        rows = table[changed | (table["variant"] == FULL)].copy()
        # The full system minus itself is no result.
        rows.loc[rows["variant"] == FULL, [c for c in rows if "_gain" in str(c)]] = float("nan")
        rows["variant"] = rows["variant"].replace(_WORDS)
        return only(rows, _SHOWN)

    return make


def case_table(benchmark: str) -> Callable[[PooledRuns], "pd.DataFrame"]:
    """Return how to make the table of what each role did on the questions picked."""

    def make(runs: PooledRuns) -> "pd.DataFrame":
        import pandas as pd

        paths = sorted((runs.lead.folder / "tables").glob(f"{benchmark}_*.csv"))
        if not paths:
            raise ConfigError(f"{runs.provenance} has no case of {benchmark}")
        frames = [
            pd.read_csv(path, keep_default_na=False, na_values=[""]).assign(case=path.stem)
            for path in paths
        ]
        table = pd.concat(frames, ignore_index=True)
        return table[["case", *(name for name in table if name != "case")]]

    return make


_WORDS: Final = {
    "graph random": "without graph scoring",
    "llms decision": "without LLM selection",
}
"""The paper's words for our variants."""

_PAIRED: Final = (
    "Gains are over the full system on the same questions, with 95 % intervals over worlds, or "
    "over questions where there is one world."
)

_SHOWN: Final = ("variant", "runs", "accuracy", "accuracy_gain", "utility_gain", "cost_reference")

_MAIN, _ABLATIONS = "07_main_results", "08_ablations"
_UNSEEN, _CASES = "11_unseen_subjects", "12_case_studies"

_SOURCES: Final[Mapping[int, _Source]] = {
    1: _Source(_MAIN, "Accuracy by method and benchmark.", main_table, "table1"),
    2: _Source(
        _ABLATIONS,
        f"Parts taken away. {_PAIRED}",
        ablation_rows(["graph random", "llms "]),
        "table2",
    ),
    3: _Source(_UNSEEN, "Subjects that training never saw.", unseen_table, "table3"),
    4: _Source(_MAIN, "Cost of answering the test questions.", cost_table, "table4"),
    6: _Source(
        _ABLATIONS, f"Proposers of a supernode. {_PAIRED}", ablation_rows(["width "]), "table6"
    ),
    7: _Source(_ABLATIONS, f"Graphs in the pool. {_PAIRED}", ablation_rows(["graphs "]), "table7"),
    8: _Source(_CASES, "Case studies, knowledge.", case_table("knowledge"), "tables8-10"),
    9: _Source(_CASES, "Case studies, code.", case_table("humaneval"), "tables8-10"),
    10: _Source(_CASES, "Case studies, maths.", case_table("maths"), "tables8-10"),
    11: _Source(_MAIN, "Cost of training.", training_table, "table11"),
}

NUMBERS: Final = tuple(_SOURCES)
"""The paper's tables of results, by number."""
