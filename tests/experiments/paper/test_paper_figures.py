"""Figures gathered for a report: bytes as saved, captions and runs beside them."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.paper.figures import PAPER_FIGURES, gather_figures
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.paths import ROOT


def make_run(experiment: str, name: str, seed: int) -> Path:
    run = start_run(experiment, {"seed": seed})
    figure = Figure()
    figure.subplots().plot([seed, 1])
    save_figure(run, figure, name, "Two points.", simulated=True, alt="A line.")
    run.finish(figures=[name])
    return run.folder / "figures" / f"{name}.pdf"


def test_figures_of_the_newest_run_are_copied_with_captions(tmp_path: Path) -> None:
    make_run("04_graph_pool", "density", 0)
    pdf = make_run("10_llm_preferences", "logits", 1)
    out = tmp_path / "out"
    gathered = gather_figures(out)
    assert list(gathered) == ["04_graph_pool_density", "10_llm_preferences_logits", "figure4"]
    assert gathered["figure4"].startswith("10_llm_preferences/")
    assert (out / "figure4.pdf").read_bytes() == pdf.read_bytes()
    about = json.loads((out / "captions.json").read_text(encoding="utf-8"))["figure4"]
    assert about["simulated"] and about["alt"] == "A line."
    assert about["run"].startswith("10_llm_preferences/")
    assert all((out / f"{name}.png").stat().st_size for name in gathered)


def test_no_figures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no complete run with figures"):
        gather_figures(tmp_path)


def test_the_notebooks_save_the_figures_that_the_paper_has() -> None:
    for experiment, name in PAPER_FIGURES.values():
        source = (ROOT / "notebooks" / f"{experiment}.py").read_text(encoding="utf-8")
        assert f'"{name}",' in source, f"{experiment} saves no figure {name!r}"
