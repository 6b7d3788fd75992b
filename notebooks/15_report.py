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
# This notebook runs nothing. It collects the newest complete run of every other notebook from `results/`
# and writes one HTML file that opens offline and holds every figure and table, with the configuration,
# seeds, run id and commit of each. A run that is missing is missing: nothing is made up for it. Reads:
# `results/`. Writes: `results/report.html`. About 5 seconds, offline, free.
#
# **Why a page made by a program.** Numbers that are copied by hand into a text go stale: somebody reruns an
# experiment, and the text still has the old one. Here the page is a function of the run folders. Made twice
# from the same results, it has the same bytes.

# %% tags=["parameters"]
title = "Learned multi-LLM teams"  # heading of the report

# %%
from hieramas_lib.experiments.report import finished_runs, write_report
from hieramas_lib.experiments.run_overview import conclusions_text, overview_table
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.paths import ROOT

run = start_notebook("15_report", globals())
print(run)

# %% [markdown]
# ## Which runs are there?
#
# *As if* is what the calls cost at list prices if nothing were cached, *paid* what was spent now: 0 for
# simulated and local LLMs. The two must not be confused, so both are always shown. An experiment that cost
# 20 dollars *as if* and nothing *paid* was answered by simulated LLMs, or from the call store, where every
# answer of a real LLM is kept; repeated elsewhere with real LLMs, it would cost about 20 dollars.
#
# Before you read on, look for three things:
#
# * **A notebook that is not there.** Its run failed or was stopped. `hieramas run-all` makes what is
#   missing.
# * **Two rows of one notebook.** It was run with two settings. The report shows the one that finished last,
#   whichever that is, and names the others at its end. To choose another, rerun it with `--force`.
# * **Different commits.** The code changed between the runs. Whether that matters for a comparison is for
#   you to judge: the commit says what to look up.

# %%
found = [entry for entry in finished_runs() if entry.experiment != run.experiment]
overview = overview_table(found)
simulated = bool(overview["simulated"].any())
run.save_table(overview, "runs", "Runs in this report.", simulated=simulated)
overview

# %% [markdown]
# ## Conclusions of the notebooks
#
# Each sentence was computed from the data of its run. Where an interval covers 0, it says "not
# distinguishable": that is no proof of equality, it says that these questions and seeds can't tell the two
# apart. And across a page with dozens of comparisons at 95 %, one in twenty of those without any difference
# is expected to look like one. So a single surprising line is a reason for new seeds, not for a headline.

# %%
print(conclusions_text(found))

# %% [markdown]
# ## The report
#
# The page opens in any browser, needs no network, and can be sent as one file: pictures are inside. What
# simulated LLMs produced carries the mark *simulated*, figure by figure and table by table, and no table
# mixes it with answers of real ones.

# %%
sentence = f"{len(found)} runs of {overview['experiment'].nunique()} notebooks are complete."
run.save_conclusions([sentence])
print(run.finish(tables=["runs"]))
path = write_report(title=run.config.title)
print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)

# %% [markdown]
# ## Exercises
#
# 1. Open the report, turn off the network, and reload it. Is anything missing?
# 2. Rerun one notebook with another parameter and then this one. Which of the two runs is shown?
# 3. Take one number from the report and trace it back: from the table to the run id, from there to
#    `results/<notebook>/<run id>/records.parquet` (most notebooks have one), and compute it yourself.
