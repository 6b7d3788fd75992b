"""The report: every figure and table, nothing from outside, the newest complete run."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.report import finished_runs, write_report
from hieramas_lib.experiments.runs import Run, start_run


def make(experiment: str, seed: int = 0, *, simulated: bool = True) -> Run:
    run = start_run(experiment, {"seed": seed})
    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([0, 1])
    save_figure(run, figure, "curve", "A curve <rising>.", simulated=simulated, alt="It rises.")
    frame = pd.DataFrame({"method": ["None", "B & C"], "accuracy": [0.5, 0.75]})
    run.save_table(frame, "main", "Accuracies.", simulated=simulated)
    run.save_conclusions([f"Seed {seed} was used."])
    return run


def test_page_holds_figures_tables_words_and_provenance(
    results: Path, used_service: Callable[..., Any]
) -> None:
    run = make("05_policy")
    used_service(run, 0.25, None)
    run.finish()
    heading = {"cell_type": "markdown", "source": ["# 05 · Can it learn?\n", "Yes."]}
    run.save_file("notebook.ipynb", json.dumps({"cells": [heading]}).encode())
    path = write_report()
    page = path.read_text()
    assert path == results / "report.html"
    assert page.count("data:image/png;base64,") == 1
    assert 'alt="It rises."' in page
    assert "A curve &lt;rising&gt;." in page
    assert "<td>B &amp; C</td>" in page
    assert "<td>None</td>" in page
    assert "Seed 0 was used." in page
    assert "05 Can it learn?" in page
    assert f"run {run.run_id}" in page
    assert "at least $0.2500 at list prices" in page


def test_page_needs_nothing_from_outside() -> None:
    make("05_policy").finish()
    page = write_report().read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert not re.findall(r"url\(|@import|<script|<link", page)


def test_simulated_and_real_results_are_marked() -> None:
    make("05_policy").finish()
    make("01_quickstart", simulated=False).finish()
    page = write_report().read_text()
    real, simulated = page.split('<section id="05_policy">')
    assert 'class="mark"' not in real.split('<section id="01_quickstart">')[1]
    assert simulated.count('class="mark"') == 2
    assert "no evidence about any real model" in real


def test_newest_complete_run_is_shown_and_others_are_named() -> None:
    old, new = make("05_policy", 1), make("05_policy", 2)
    old.finish()
    about = json.loads((old.folder / "run.json").read_text()) | {"finished": "2020-01-01T00:00:00"}
    (old.folder / "run.json").write_text(json.dumps(about))
    new.finish()
    make("05_policy", 3)  # not finished
    page = write_report().read_text()
    assert "Seed 2 was used." in page
    assert "Seed 1 was used." not in page
    assert "Seed 3 was used." not in page
    assert f"run {old.run_id}" in page
    assert [run.folder.name for run in finished_runs()] == [new.run_id, old.run_id]


def test_sections_follow_the_notebooks() -> None:
    for name in ("06_b", "04_a"):
        make(name).finish()
    page = write_report().read_text()
    assert page.index('id="04_a"') < page.index('id="06_b"') < page.index('id="runs"')


def test_report_notebook_is_left_out_and_gives_the_title() -> None:
    make("04_a").finish()
    make("15_report").finish()
    page = write_report(title="Teams & more").read_text()
    assert "15_report" not in page
    assert "<h1>Teams &amp; more</h1>" in page


def test_tables_stand_in_the_order_in_which_they_were_saved() -> None:
    run = make("05_policy")
    run.save_table(pd.DataFrame({"x": [1]}), "a_second", "Second.", simulated=True)
    run.finish()
    page = write_report().read_text()
    assert page.index("Accuracies.") < page.index("Second.")


def test_same_results_leave_the_file_alone() -> None:
    make("05_policy").finish()
    before = write_report().stat().st_mtime_ns
    assert write_report().stat().st_mtime_ns == before


def test_no_run_is_an_error_with_the_fix() -> None:
    with pytest.raises(ConfigError, match="run-all"):
        write_report()
