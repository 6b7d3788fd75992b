# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 15 · One report of everything
#
# **Question.** What came out of all the runs, in one page that one can read, print and send?
#
# This notebook runs nothing. It collects the newest complete run of every other notebook from
# `results/` and writes one HTML file that opens offline and holds every figure and table, with the
# configuration, seeds, run id and commit of each. A run that is missing is missing: nothing is made
# up for it. Reads: `results/`. Writes: `results/report.html`. About 5 seconds, offline, free.

# %% tags=["parameters"]
title = "Learned multi-LLM teams"  # heading of the report

# %%
import pandas as pd

from hieramas_lib.experiments.report import finished_runs, write_report
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.paths import ROOT

run = start_notebook("15_report", globals())
print(run)

# %% [markdown]
# ## Which runs are there?
#
# *As if* is what the calls cost at list prices if nothing were cached, *paid* what was spent now: 0
# for simulated and local LLMs. The two must not be confused, so both are always shown.

# %%
found = [entry for entry in finished_runs() if entry.experiment != run.experiment]
overview = pd.DataFrame(
    {
        "experiment": [entry.experiment for entry in found],
        "run": [entry.about["run_id"] for entry in found],
        "commit": [entry.about["commit"] for entry in found],
        "wall_s": [entry.about["wall_s"] for entry in found],
        "calls_made": [entry.about["usage"]["calls"] for entry in found],
        "as_if_usd": [entry.about["usage"]["as_if_usd"] for entry in found],
        "paid_usd": [entry.about["usage"]["paid_usd"] for entry in found],
        "simulated": [entry.about["simulated"] for entry in found],
    }
)
run.save_table(
    overview, "runs", "Runs in this report.", simulated=bool(overview["simulated"].any())
)
overview

# %% [markdown]
# ## Conclusions of the notebooks
#
# Each sentence was computed from the data of its run.

# %%
import json

for entry in found:
    path = entry.folder / "conclusions.json"
    if path.exists():
        print(entry.experiment)
        print("\n".join(f"  - {line}" for line in json.loads(path.read_text(encoding="utf-8"))))

# %% [markdown]
# ## The report

# %%
run.save_conclusions(
    [f"{len(found)} runs of {overview['experiment'].nunique()} notebooks are complete."]
)
print(run.finish(tables=["runs"]))
path = write_report(title=run.config.title)
print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)

# %% [markdown]
# ## Exercises
#
# 1. Open the report, turn off the network, and reload it. Is anything missing?
# 2. Rerun one notebook with another parameter and then this one. Which of the two runs is shown?
