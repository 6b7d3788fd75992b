"""The run contract: one configuration, one folder, and a marker written last.

``results/<experiment>/<run_id>/`` holds ``config.json`` (first), records, metrics, tables,
figures, conclusions, the executed notebook, and ``run.json`` (last). The id is a hash of the
experiment's name and its resolved parameters, seeds included; the code is not part of it, but its
commit is recorded. Every file appears whole or not at all.
"""

import json
import os
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.commit import current_commit
from hieramas_lib.experiments.config import RunConfig, declare, read_parameters, resolve, run_id
from hieramas_lib.llms.call_totals import Totals
from hieramas_lib.llms.pool import LLMPool
from hieramas_lib.llms.service import LLMService
from hieramas_lib.paths import ROOT, results_path

if TYPE_CHECKING:
    import pandas as pd

UNDER_RUNNER = "HIERAMAS_RUNNER"
"""Set in kernels started by the runner, which itself marks the run complete at the very end."""

NOTEBOOKS = ROOT / "notebooks"
_PACKAGES = ("numpy", "torch", "pandas", "matplotlib", "hieramas-lib")
_OUTPUTS = ("run.json", "records.parquet", "metrics.csv", "conclusions.json", "figures", "tables")


class IncompleteRun(AssertionError):
    """A run ended without the outputs that it declares; the message lists what is missing."""


@dataclass(eq=False)
class Run:
    """A run that is being made; :func:`start_run` makes it and :meth:`finish` ends it.

    Attributes:
        experiment: Name of the notebook, e.g. ``"05_stage1_policy"``.
        config: The resolved parameters, as attributes.
        run_id: Hash of the two.
        folder: Where everything goes.
        commit: Short git commit, with ``+`` if the code was changed; ``"no git"`` without one.
    """

    experiment: str
    config: RunConfig
    run_id: str
    folder: Path
    commit: str
    _services: list[LLMService] = field(default_factory=list)
    _before: dict[int, Totals] = field(default_factory=dict)
    _outputs: list[str] = field(default_factory=list)
    _rows: int = 0
    _simulated: bool = False
    _began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        """Name the run and its settings, one a line."""
        head = f"{self.experiment}  run {self.run_id}  commit {self.commit}"
        settings = [f"  {name} = {value!r}" for name, value in self.config.plain().items()]
        return "\n".join([head, *settings])

    @cached_property
    def stamp(self) -> str:
        """Provenance in one line: seeds, run id, commit."""
        plain = self.config.plain()
        seeds = plain.get("seeds", [plain["seed"]] if "seed" in plain else [])
        word = "seed" if len(seeds) == 1 else "seeds"
        named = [f"{word} {', '.join(map(str, seeds))}"] if seeds else []
        return " · ".join([*named, f"run {self.run_id}", f"commit {self.commit}"])

    def watch(self, llms: LLMService) -> LLMService:
        """Count the calls made through ``llms`` from here on as the run's; return it.

        Their store keeps them under the name of the experiment.
        What its call store was used for before is not the run's: a process may share one store
        among runs. A store that is watched twice is counted once.
        """
        self._before.setdefault(id(llms.store), llms.store.totals())
        self._services.append(llms)
        llms.store.experiment = self.experiment
        return llms

    def save_records(self, frame: "pd.DataFrame") -> None:
        """Write ``records.parquet``: tidy, one row an item (see :mod:`.records`)."""
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        self._write("records.parquet", buffer.getvalue())
        self._rows = len(frame)

    def save_metrics(self, frame: "pd.DataFrame") -> None:
        """Write ``metrics.csv``: the run's main numbers."""
        self._write("metrics.csv", frame.to_csv(index=False, lineterminator="\n").encode())

    def save_table(
        self, frame: "pd.DataFrame", name: str, caption: str, *, simulated: bool
    ) -> None:
        """Write a table for the report: ``tables/<name>.csv``, ``.tex``, and its caption.

        Columns ``x``, ``x_low``, ``x_high`` are printed as one, "x [low, high]".
        """
        from hieramas_lib.experiments.tables import full_caption, to_latex

        if len(frame) == 0:
            raise IncompleteRun(f"{self.experiment}: table {name!r} has no rows")
        self._simulated |= simulated
        about = {"caption": full_caption(caption, simulated), "simulated": simulated}
        self._write(f"tables/{name}.csv", frame.to_csv(index=False, lineterminator="\n").encode())
        self._write(f"tables/{name}.tex", to_latex(frame, caption, simulated=simulated).encode())
        self._write(f"tables/{name}.json", _json(about))

    def save_conclusions(self, sentences: Sequence[str]) -> None:
        """Write what was seen, in sentences computed from the data; the report prints them."""
        self._write("conclusions.json", _json(list(sentences)))

    def save_file(self, name: str, data: bytes) -> Path:
        """Write any other file into the folder, whole or not at all; return its path."""
        return self._write(name, data)

    def finish(
        self, *, rows: int | None = None, figures: Sequence[str] = (), tables: Sequence[str] = ()
    ) -> str:
        """Check the declared outputs, write ``run.json``, and return a one-line summary.

        Args:
            rows: Records that must have been saved: planned items, failed ones included. Must be
                given if any were saved, and be worked out from the plan, not from the records.
            figures, tables: Names that must have been saved.

        Raises:
            IncompleteRun: something is missing or empty; ``run.json`` is not written.
        """
        missing = self._missing(rows, figures, tables)
        if missing:
            raise IncompleteRun(f"{self.experiment} run {self.run_id}: {'; '.join(missing)}")
        about = self._summary()
        self._write("run.json", _json(about))
        usage = about["usage"]
        at_least = "at least " if usage["unpriced"] else ""
        return (
            f"run {self.run_id} finished: {about['wall_s']:.0f} s, "
            f"{usage['calls']:,} calls, {at_least}${usage['as_if_usd']:.4f} at list prices, "
            f"${usage['paid_usd']:.4f} paid now"
        )

    def _missing(
        self, rows: int | None, figures: Sequence[str], tables: Sequence[str]
    ) -> list[str]:
        names = [f"figures/{name}.{end}" for name in figures for end in ("pdf", "png")]
        names += [f"tables/{name}.csv" for name in tables]
        faults = [f"{name} was not saved" for name in names if not _size(self.folder / name)]
        if rows is not None and self._rows != rows:
            faults.append(f"{self._rows} records were saved, {rows} are planned")
        if rows is None and "records.parquet" in self._outputs:
            faults.append("records were saved: give finish() the number planned, as `rows`")
        return faults

    def _summary(self) -> dict[str, Any]:
        return {
            "status": "written" if os.environ.get(UNDER_RUNNER) else "complete",
            "experiment": self.experiment,
            "run_id": self.run_id,
            "commit": self.commit.rstrip("+"),
            "dirty": self.commit.endswith("+"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": round(time.monotonic() - self._began, 2),
            "rows": self._rows,
            "outputs": list(dict.fromkeys(self._outputs)),
            # Also without a service: simulated teams can be replayed on answers alone.
            "simulated": self._simulated or any(is_simulated(s.pool) for s in self._services),
            "pools": sorted({llms.pool.name for llms in self._services}),
            "usage": _usage(self._services, self._before),
            "versions": _versions(),
        }

    def _write(self, name: str, data: bytes) -> Path:
        self._outputs.append(name)
        return write_whole(self.folder / name, data)


def start_run(experiment: str, parameters: Mapping[str, Any]) -> Run:
    """Open the run of ``experiment`` with ``parameters``; outputs of an earlier try are removed.

    The values are checked against the parameters cell of ``notebooks/<experiment>.ipynb``. An
    experiment without a notebook there (a script, a test) declares its parameters by giving them.
    The executed notebook and checkpoints in the folder are left alone.

    Raises:
        ConfigError: unknown parameter or wrong type.
    """
    config = resolve_run(experiment, parameters)
    identity = run_id(experiment, config)
    folder = results_path(experiment, identity)
    folder.mkdir(parents=True, exist_ok=True)
    for name in _OUTPUTS:
        _remove(folder / name)
    run = Run(experiment, config, identity, folder, current_commit())
    about = {"experiment": experiment, "run_id": identity, "parameters": config.plain()}
    write_whole(folder / "config.json", _json(about))
    return run


def start_notebook(experiment: str, namespace: Mapping[str, Any]) -> Run:
    """Open the run of the notebook ``experiment`` with the parameters as they stand in its kernel.

    Args:
        experiment: The notebook's own name.
        namespace: Its ``globals()``; what the parameters cell does not declare is not looked at.

    Raises:
        ConfigError: the parameters cell was not run, or a value has the wrong type.
    """
    declared = [parameter.name for parameter in read_parameters(NOTEBOOKS / f"{experiment}.ipynb")]
    missing = [name for name in declared if name not in namespace]
    if missing:
        raise ConfigError(f"{experiment}: {', '.join(missing)}: run the parameters cell first")
    return start_run(experiment, {name: namespace[name] for name in declared})


def resolve_run(experiment: str, parameters: Mapping[str, Any]) -> RunConfig:
    """Check ``parameters`` of ``experiment`` and fill in its notebook's defaults."""
    if not experiment or Path(experiment).name != experiment:
        raise ConfigError(f"experiment: {experiment!r} must be a plain name, without folders")
    notebook = NOTEBOOKS / f"{experiment}.ipynb"
    declared = read_parameters(notebook) if notebook.exists() else declare(parameters)
    return resolve(declared, parameters, experiment)


def status(folder: Path) -> str:
    """Return the status in a folder's ``run.json``, ``"incomplete"`` if there is none.

    ``complete``: nothing is missing. ``written``: by a notebook that the runner is, or was when
    it was killed, still executing.
    """
    try:
        return str(json.loads((folder / "run.json").read_text(encoding="utf-8"))["status"])
    except (OSError, ValueError, KeyError):
        return "incomplete"


def mark_complete(folder: Path) -> None:
    """Turn a ``written`` run into a ``complete`` one, as its notebook has ended well."""
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    write_whole(folder / "run.json", _json(about | {"status": "complete"}))


def is_simulated(pool: LLMPool) -> bool:
    """Whether any LLM of the pool is simulated: its results are no evidence about real ones."""
    return any(spec.client == "simulated" for spec in pool.llms)


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file so that it is there whole or not at all; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _usage(services: Sequence[LLMService], before: Mapping[int, Totals]) -> dict[str, Any]:
    """Sum what was used since ``before``, each call store once: several pools may share one."""
    stores = {id(llms.store): llms.store for llms in services}
    spans = [(before[key], store.totals()) for key, store in stores.items()]
    names = (
        "calls", "made", "prompt_tokens", "completion_tokens", "as_if_usd", "paid_usd", "unpriced",
    )  # fmt: skip
    return {name: sum(getattr(b, name) - getattr(a, name) for a, b in spans) for name in names}


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
