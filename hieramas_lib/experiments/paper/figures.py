"""Figures for a report: those of the newest runs, gathered in one folder with their captions."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.report import FinishedRun, finished_runs
from hieramas_lib.experiments.runs import write_whole
from hieramas_lib.paths import results_path

PAPER_FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "figure3a": ("06_stage2_classifier", "chosen_graphs"),
    "figure3b": ("06_stage2_classifier", "jaccard"),
    "figure4": ("10_llm_preferences", "logits"),
}
"""Figures 3 and 4 of the HieraMAS paper: our notebook and the figure in it."""

INDEX = "captions.json"


def gather_figures(out: Path, results: Path | None = None) -> dict[str, str]:
    """Copy every figure of the newest run of each notebook, as PDF and PNG, to ``out``.

    They are called ``<notebook>_<figure>``; those that the paper has are there a second time,
    as ``figure3a``, ``figure3b`` and ``figure4``. ``captions.json`` has caption, alternative text
    and run of each.

    Args:
        out: Folder, made if it is not there; other files in it are left alone.
        results: The folder of runs; by default where runs are written to.

    Returns:
        The name of each figure, and the run that it is from.

    Raises:
        ConfigError: there is no complete run with figures.
    """
    root = results or results_path()
    newest: dict[str, FinishedRun] = {}
    for run in finished_runs(root):
        newest.setdefault(run.experiment, run)
    names = {place: name for name, place in PAPER_FIGURES.items()}
    index: dict[str, dict[str, object]] = {}
    for experiment, run in newest.items():
        for png in run.outputs("figures", ".png"):
            targets = [f"{experiment}_{png.stem}"]
            if (experiment, png.stem) in names:
                targets.append(names[experiment, png.stem])
            for target in targets:
                index[target] = _copy(png, out, target) | {"run": _line(run)}
    if not index:
        raise ConfigError(f"{root}: no complete run with figures. Fix: `hieramas run-all`")
    text = json.dumps(index, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    write_whole(out / INDEX, text.encode())
    return {name: str(index[name]["run"]) for name in sorted(index)}


def _copy(png: Path, out: Path, name: str) -> dict[str, object]:
    """Copy a figure in both formats, and return what is written about it."""
    out.mkdir(parents=True, exist_ok=True)
    for ending in (".png", ".pdf"):
        shutil.copyfile(png.with_suffix(ending), out / f"{name}{ending}")
    about: dict[str, object] = json.loads(png.with_suffix(".json").read_text(encoding="utf-8"))
    return about


def _line(run: FinishedRun) -> str:
    changed = "+" if run.about["dirty"] else ""
    return f"{run.experiment}/{run.about['run_id']}, commit {run.about['commit']}{changed}"
