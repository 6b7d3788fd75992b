"""One HTML page of all results: opens offline, holds every figure and table, names every run.

The newest complete run of each experiment is shown, in the order of the notebooks; the notebook
that writes the report is left out. The page is a function of the run folders only, so that the same
results give the same bytes.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.execution.notebooks import LAST
from hieramas_lib.experiments.runs import status, write_whole
from hieramas_lib.experiments.tables import to_html
from hieramas_lib.paths import results_path

TITLE = "Learned multi-LLM teams"

_CSS = Path(__file__).with_name("report.css")
_SIMULATED = (
    "Results marked <b>simulated</b> come from the simulated pool: LLMs that are imitated by a "
    "statistical model. They check that the methods learn what can be learned; they are "
    "<b>no evidence about any real model</b>, and stand in no table together with answers of real "
    "ones. Costs are list prices of the LLMs that are imitated."
)
_REAL = (
    "All answers on this page come from real models, and say nothing about others than those named."
)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A complete run as it lies on disk: its folder, ``config.json`` and ``run.json``."""

    folder: Path
    config: dict[str, Any]
    about: dict[str, Any]

    @property
    def experiment(self) -> str:
        """Name of the notebook."""
        return str(self.about["experiment"])

    def outputs(self, kind: str, ending: str) -> list[Path]:
        """Return the files of a subfolder in the order in which they were saved."""
        names = [name for name in self.about["outputs"] if name.endswith(ending)]
        return [self.folder / name for name in names if name.startswith(f"{kind}/")]


def finished_runs(results: Path | None = None) -> list[FinishedRun]:
    """Return every complete run, by experiment, the newest first within each."""
    folders = sorted((results or results_path()).glob("*/*/"))
    found = [_read(folder) for folder in folders if status(folder) == "complete"]
    found.sort(key=lambda run: (str(run.about["finished"]), run.folder.name), reverse=True)
    return sorted(found, key=lambda run: run.experiment)


def write_report(results: Path | None = None, *, title: str = TITLE) -> Path:
    """Write ``report.html`` into the results folder and return its path.

    Raises:
        ConfigError: there is no complete run to report.
    """
    root = results or results_path()
    found = [run for run in finished_runs(root) if run.experiment not in LAST]
    if not found:
        raise ConfigError(f"{root}: no complete run yet. Fix: `hieramas run-all`, then again")
    newest: dict[str, FinishedRun] = {}
    for run in found:
        newest.setdefault(run.experiment, run)
    older = [run for run in found if run not in newest.values()]
    page = _page(title, list(newest.values()), older).encode()
    target = root / "report.html"
    if not target.exists() or target.read_bytes() != page:
        write_whole(target, page)
    return target


def _read(folder: Path) -> FinishedRun:
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("config.json", "run.json")]
    config, about = map(json.loads, texts)
    return FinishedRun(folder, config, about)


def _page(title: str, runs: list[FinishedRun], older: list[FinishedRun]) -> str:
    links = "".join(
        f'<li><a href="#{escape(run.experiment)}">{escape(_title(run))}</a></li>' for run in runs
    )
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_CSS.read_text(encoding='utf-8')}</style></head><body>",
            f'<nav><strong>Results</strong><ol>{links}<li><a href="#runs">Runs</a></li></ol></nav>',
            f'<main><h1>{escape(title)}</h1><p class="notice">{_notice(runs)}</p>',
            *map(_section, runs),
            _provenance(runs, older),
            "</main></body></html>",
            "",
        ]
    )


def _notice(runs: list[FinishedRun]) -> str:
    marked = (
        json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["simulated"]
        for run in runs
        for path in (*run.outputs("figures", ".png"), *run.outputs("tables", ".csv"))
    )
    simulated = any(run.about["simulated"] for run in runs) or any(marked)
    return _SIMULATED if simulated else _REAL


def _section(run: FinishedRun) -> str:
    sentences = _json(run.folder / "conclusions.json", [])
    conclusions = "".join(f"<li>{escape(str(sentence))}</li>" for sentence in sentences)
    parts = [
        f'<section id="{escape(run.experiment)}"><h2>{escape(_title(run))}</h2>',
        f'<p class="provenance">{_line(run)}</p>',
        f"<h3>What was seen</h3><ul>{conclusions}</ul>" if conclusions else "",
        *(_figure(path) for path in run.outputs("figures", ".png")),
        *(_table(path) for path in run.outputs("tables", ".csv")),
        _settings(run.config["parameters"]),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _figure(path: Path) -> str:
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    data = base64.b64encode(path.read_bytes()).decode()
    width = _png_width(path) / 220  # inches: figures are saved at 220 dots an inch
    return (
        f'<figure><img alt="{escape(about["alt"])}" style="width:{width:.2f}in" '
        f'src="data:image/png;base64,{data}">'
        f"<figcaption>{_mark(about['simulated'])}{escape(about['caption'])}</figcaption></figure>"
    )


def _table(path: Path) -> str:
    import pandas as pd

    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    # Names such as "None" or "NA" are words here, not missing values; empty cells are missing.
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    table = to_html(frame, about["caption"], simulated=False)
    mark = f"<caption>{_mark(about['simulated'])}"
    return f'<div class="table">{table.replace("<caption>", mark, 1)}</div>'


def _settings(parameters: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(json.dumps(value))}</td></tr>"
        for name, value in parameters.items()
    )
    return f"<details><summary>Settings</summary><table>{rows}</table></details>" if rows else ""


def _provenance(runs: Iterable[FinishedRun], older: Iterable[FinishedRun]) -> str:
    head = "<tr><th>Experiment</th><th>Run, commit, time, calls and cost</th></tr>"
    rows = [
        f"<tr><td>{escape(run.experiment)}{word}</td><td>{_line(run)}</td></tr>"
        for group, word in ((runs, ""), (older, " (other settings, not shown)"))
        for run in group
    ]
    return f'<section id="runs"><h2>Runs</h2><table>{head}{"".join(rows)}</table></section>'


def _line(run: FinishedRun) -> str:
    about, usage = run.about, run.about["usage"]
    at_least = "at least " if usage["unpriced"] else ""
    facts = [
        f"run {run.folder.name}",
        f"commit {about['commit']}{' with changes' if about['dirty'] else ''}",
        f"finished {about['finished'].replace('T', ' ').split('+')[0]} UTC",
        f"{about['wall_s']:.0f} s",
    ]
    if usage["calls"]:
        tokens = usage["prompt_tokens"] + usage["completion_tokens"]
        facts += [f"{usage['calls']:,} call{'s' * (usage['calls'] > 1)}", f"{tokens:,} tokens"]
        facts += [f"{at_least}${usage['as_if_usd']:.4f} at list prices"]
        facts += [f"${usage['paid_usd']:.4f} paid"]
    return escape(" · ".join(facts))


def _title(run: FinishedRun) -> str:
    """Return the executed notebook's heading, with its number in front."""
    number = run.experiment[:2] if run.experiment[:2].isdigit() else ""
    for cell in _json(run.folder / "notebook.ipynb", {"cells": []})["cells"]:
        for line in "".join(cell["source"]).splitlines():
            if cell["cell_type"] == "markdown" and line.startswith("# "):
                return f"{number} {line[2:].removeprefix(number).lstrip(' .:·–-')}".strip()
    return run.experiment


def _mark(simulated: bool) -> str:
    return '<span class="mark">simulated</span> ' if simulated else ""


def _json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default


def _png_width(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:20], "big")
