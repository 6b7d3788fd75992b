"""All complete runs in one tidy table: what each was asked, where it came from, what it found.

A row of the table of records is a row of a run's ``records.parquet``, and a row of the table of
metrics one of its ``metrics.csv``. Before these columns stand those that name the run
(``experiment, run_id, commit, changed, finished, run_seeds, simulated``) and its parameters
(``param_<name>``, lists as JSON). A column that the run's file has itself stays as it is there.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.kernel import FAILURE
from hieramas_lib.experiments.report import FinishedRun, finished_runs
from hieramas_lib.experiments.runs import status, write_whole
from hieramas_lib.paths import results_path

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".parquet", ".csv")

_NAMES = ("experiment", "run_id", "commit", "changed", "finished", "run_seeds", "simulated")
_PARAMETER = "param_"
_BEGUN = ("config.json", FAILURE, "notebook.ipynb")


@dataclass(frozen=True, slots=True)
class Collected:
    """What was written, and what was left out.

    Attributes:
        records, metrics: The files.
        runs: Complete runs in them.
        rows: Records.
        without_records: Complete runs that saved none.
        incomplete: How many runs are ``failed`` or ``unfinished``, by experiment.
        failures: The message of each failed run.
    """

    records: Path
    metrics: Path
    runs: int
    rows: int
    without_records: int
    incomplete: dict[tuple[str, str], int]
    failures: tuple[str, ...]


def collect(out: Path, results: Path | None = None) -> Collected:
    """Write the records of all complete runs to ``out``, and the metrics beside it.

    Args:
        out: Ends in ``.parquet`` or ``.csv``; the metrics go to ``<name>_metrics`` with the same
            ending.
        results: The folder of runs; by default where runs are written to.

    Raises:
        ConfigError: another ending, or no complete run.
    """
    if out.suffix not in ENDINGS:
        raise ConfigError(f"--out {out}: the name must end in {' or '.join(ENDINGS)}")
    root = results or results_path()
    found = finished_runs(root)
    if not found:
        raise ConfigError(f"{root}: no complete run yet. Fix: `hieramas run-all`, then again")
    records = _table(found, "records.parquet", _read_parquet)
    metrics = _table(found, "metrics.csv", _read_csv)
    metrics_path = out.with_name(f"{out.stem}_metrics{out.suffix}")
    for frame, path in ((records, out), (metrics, metrics_path)):
        write_whole(path, _bytes(frame, path.suffix))
    incomplete = list(_incomplete(root))
    return Collected(
        records=out,
        metrics=metrics_path,
        runs=len(found),
        rows=len(records),
        without_records=sum(not (run.folder / "records.parquet").exists() for run in found),
        incomplete=dict(Counter((name, state) for name, state, _ in incomplete)),
        failures=tuple(text for _, _, text in incomplete if text),
    )


def _table(
    found: Sequence[FinishedRun], name: str, read: Callable[[Path], "pd.DataFrame"]
) -> "pd.DataFrame":
    """Put one file of each run below those of the others; columns that a run lacks are empty."""
    import pandas as pd

    frames = []
    for run in found:
        if (run.folder / name).exists():
            frame = read(run.folder / name)
            about = {name: value for name, value in _about(run).items() if name not in frame}
            front = pd.DataFrame([about] * len(frame), index=frame.index)
            frames.append(pd.concat([front, frame], axis=1))
    if not frames:
        return pd.DataFrame()
    table = pd.concat(frames, ignore_index=True)
    return table[sorted(table.columns, key=_place)]


def _place(column: str) -> int:
    """Say where a column stands: what names the run, its parameters, what it found."""
    return 0 if column in _NAMES else 1 if column.startswith(_PARAMETER) else 2


def _about(run: FinishedRun) -> dict[str, Any]:
    """Return the columns that name a run."""
    parameters = run.config["parameters"]
    facts = run.about | {
        "changed": run.about["dirty"],
        "run_seeds": _cell(parameters.get("seeds", parameters.get("seed"))),
    }
    names = {name: facts[name] for name in _NAMES}
    return names | {f"{_PARAMETER}{name}": _cell(value) for name, value in parameters.items()}


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _incomplete(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield experiment, state and message of each run that is begun and not complete."""
    for folder in sorted(root.glob("*/*/")):
        begun = any((folder / name).exists() for name in _BEGUN)
        if not begun or status(folder) == "complete":
            continue
        name = folder.parent.name
        if (folder / FAILURE).exists():
            error = json.loads((folder / FAILURE).read_text(encoding="utf-8"))["error"]
            yield name, "failed", f"run {folder.name}: {error}"
        else:
            yield name, "unfinished", ""


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(path)


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(path)


def _bytes(frame: "pd.DataFrame", ending: str) -> bytes:
    if ending == ".csv":
        return frame.to_csv(index=False, lineterminator="\n").encode()
    buffer = BytesIO()
    _one_kind_a_column(frame).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _one_kind_a_column(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Turn columns that hold texts in one run and numbers in another into texts."""
    mixed = {
        name: frame[name].where(frame[name].isna(), frame[name].astype(str))
        for name in frame.columns
        if len({type(value) for value in frame[name].dropna()}) > 1
    }
    return frame.assign(**mixed)
