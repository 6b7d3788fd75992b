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
# # 00 · Is everything in place?
#
# **Question.** Does this kernel run in the environment that `make run` or `make setup` made, are the
# shipped data readable, does a simulated LLM answer, and does a figure appear?
#
# Run this notebook first. If a cell fails, its message says what to do. Reads: the shipped data.
# Writes: one run folder with one figure. About 5 seconds, offline, free.

# %% tags=["parameters"]
question = "knowledge/astronomy/03"  # id of the shipped question that is asked

# %% [markdown]
# ## The kernel
#
# A frequent trap: JupyterLab shows a kernel that belongs to another Python. The kernel must be the
# interpreter into which the library was installed.

# %%
import os
import sys

from hieramas_lib.experiments.doctor import findings
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.paths import ROOT

run = start_notebook("00_check_setup", globals())
print(run)
print("kernel:", os.path.relpath(sys.executable, ROOT))
if not os.path.realpath(sys.prefix).startswith(os.path.realpath(ROOT)):
    print("This kernel is not of the project's .venv. If a later cell fails, start JupyterLab by")
    print("`make lab`, or choose the kernel of .venv.")

# %% [markdown]
# ## Versions, pools, keys
#
# Keys are named and never shown. None is needed for the default notebooks.

# %%
print("\n".join(findings(os.environ)))

# %% [markdown]
# ## The shipped questions

# %%
import pandas as pd

from hieramas_lib.tasks.load import BENCHMARKS, load_tasks

tasks = {name: load_tasks(name) for name in BENCHMARKS}
counts = pd.DataFrame(
    {
        "benchmark": list(tasks),
        "questions": [len(some) for some in tasks.values()],
        "subjects": [len({task.subject for task in some}) for some in tasks.values()],
    }
)
counts

# %% [markdown]
# ## One simulated call
#
# The *simulated pool* reads the same prompts as a real LLM and writes answers of the same form. How
# often it is right is calibrated on what real LLMs did on real questions; what it knows about any
# single question is made up. It is there to check methods and to learn from, without a key.

# %%
from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.grading import grade
from hieramas_lib.teams.prompts import alone_messages
from hieramas_lib.teams.roles import load_roles

pool = load_pool(data_path("llm_pool.yaml")).simulated()
llms = run.watch(
    connect(pool, world=World(tasks["knowledge"], load_settings("mmlu-like"), pool, 0))
)
known = {task.id: task for task in tasks["knowledge"]}
if run.config.question not in known:
    raise ConfigError(f"question: no shipped question {run.config.question!r}")
task = known[run.config.question]
messages = alone_messages(task, load_roles("choice"), "step by step")
completion = await llms.complete(ChatRequest(pool.reference, messages))
verdict = grade(task, completion.text)
print(task.statement, "\n")
print(completion.text, "\n")
print(f"gold {task.gold}, read {verdict.extracted}: {verdict.status}")
print(
    f"{completion.prompt_tokens} + {completion.completion_tokens} tokens, ${completion.cost_usd:.5f}"
)

# %% [markdown]
# ## One figure

# %%
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topology
from hieramas_lib.teams.topology import Topology

names = ("Reader", "Checker", "Writer")
save_figure(
    run,
    draw_topology(
        Topology.from_names(names, [("Reader", "Checker"), ("Checker", "Writer")]), names
    ),
    "figure_check",
    caption="Three roles in a chain: if you can read this, figures work.",
    simulated=False,
    alt="Three boxes joined by two arrows.",
)

# %% [markdown]
# ## What we saw

# %%
conclusions = [
    f"{counts['questions'].sum()} questions in {len(counts)} benchmarks are readable.",
    f"A simulated call came back ({verdict.status}) and was priced at ${completion.cost_usd:.5f}.",
]
run.save_conclusions(conclusions)
run.save_table(counts, "questions", "Questions that ship with the project.", simulated=False)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. How much would 1,000 such calls cost? Set `my_cost` in dollars and run the cell.
# 2. Set `question` to `knowledge/law/01` at the top and run all again. Is the answer right?

# %%
my_cost = None  # such as 0.5
answer = "not answered yet" if my_cost is None else abs(my_cost - 1000 * completion.cost_usd) < 0.05
print("exercise 1:", answer)

# %%
print(run.finish(figures=["figure_check"], tables=["questions"]))
