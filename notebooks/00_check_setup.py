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
# Run this notebook first. It goes through what all the others rest on, in the order in which things break:
# the interpreter, the packages, the data, a call to an LLM, a figure, a folder that can be written to. If a
# cell fails, its message says what to do, and nothing below it is worth a look before that is done.
#
# Reads: the shipped data. Writes: one run folder with one figure and one table. About 5 seconds, offline,
# free.

# %% tags=["parameters"]
question = "knowledge/astronomy/03"  # id of the shipped question that is asked

# %% [markdown]
# ## The kernel
#
# A frequent trap: JupyterLab shows a kernel that belongs to another Python. The kernel must be the
# interpreter into which the library was installed. The sign of it is a `ModuleNotFoundError` for a package
# that is installed, or so the terminal says: two Pythons, and only one of them has it.
#
# `start_notebook` opens a *run*: it checks the parameters above, and makes a folder
# `results/<notebook>/<run id>`. The id is a hash of the parameters, so the same settings always lead to the
# same folder, and other settings leave it alone. The commit is printed because the code is *not* part of
# the id; a `+` behind it means that the code was changed since.

# %%
import os
import sys

from hieramas_lib.experiments.doctor import findings, kernel_findings, question_counts
from hieramas_lib.experiments.runs import start_notebook

run = start_notebook("00_check_setup", globals())
print(run)
print("\n".join(kernel_findings(sys.executable, sys.prefix)))

# %% [markdown]
# ## Versions, pools, keys
#
# A *pool* is a file that lists LLMs: how each is reached, what it costs, and which key it takes. Keys come
# from environment variables only; here they are named and never shown. None is needed for the default
# notebooks, so "not set" is no fault. A model file that is missing is none either: the sections on a real
# local LLM then say so, and show nothing in its place.
#
# This looks, and calls nobody. `hieramas doctor` prints the same in a terminal, and `hieramas doctor
# --call` goes one step further and makes one small call to each LLM that can be reached.

# %%
print("\n".join(findings(os.environ)))

# %% [markdown]
# ## The shipped questions
#
# Three benchmarks ship with the project: four-choice questions over school and college subjects, maths
# problems with an exact answer, and Python programs to be written (HumanEval). To count them is to read
# every line of the files, and a line that does not fit is an error with its number, never a row that is
# silently left out. The first two were written for this project. They make every method run; how hard they
# are was never measured, so an accuracy on them is comparable with nothing outside this project.

# %%
counts = question_counts()
run.save_table(counts, "questions", "Questions that ship with the project.", simulated=False)
counts

# %% [markdown]
# ## One simulated call
#
# The *simulated pool* reads the same prompts as a real LLM and writes answers of the same form. How often
# it is right is calibrated on what real LLMs did on real questions; what it knows about any single question
# is made up. It is there to check methods and to learn from, without a key.
#
# Below is the smallest thing that one can do with it: one question, one LLM, "step by step" (`cot`, for
# *chain of thought*). Three things are worth a look.
#
# * **The text.** A simulated LLM has no thoughts to write down. It decides by its world what to answer and
#   wraps a stock sentence around it. Its lines of reasoning are decoration; the last line is what counts.
# * **The verdict.** The letter is *read* from the text and compared with the key (`gold`). An answer that
#   can't be read is `unparsed`, and counts as wrong; it is not asked again and not dropped.
# * **The tokens.** The visible text is short, but it is booked with as many completion tokens as such an
#   LLM usually writes when it reasons, so that prices and seconds are realistic.
#
# The price: a call that reads 100 tokens at \$0.25 a million and writes 700 at \$2.00 costs (100 · 0.25 +
# 700 · 2.00) / 1,000,000 = 0.0014 dollars. Nearly all of it is for writing.

# %%
from hieramas_lib.experiments.single_questions import find_questions, simulated_llms
from hieramas_lib.methods.single import cot
from hieramas_lib.teams.roles import load_roles

(task,) = find_questions("knowledge", question=run.config.question)
llms = run.watch(simulated_llms("knowledge", "mmlu-like", seed=0))
rollout = await cot(llms.pool.reference, llms, load_roles("choice")).answer(task)
used = rollout.usage
print(task.statement, "\n")
print(rollout.answer, "\n")
print(f"gold {task.gold}, read {rollout.grade.extracted}: {rollout.grade.status}")
print(f"{used.prompt_tokens} + {used.completion_tokens} tokens, ${used.cost_usd:.5f}")

# %% [markdown]
# ## One figure
#
# Figures are shown here and saved twice, as PNG and as PDF; the run id and the commit are printed below, so
# that a figure in somebody's slides can be traced back. If you see code but no picture, the kernel is the
# wrong one, or JupyterLab runs without its renderer.
#
# You will meet many drawings like this one. A box is a *role* of a team, an arrow says that a role reads
# what another one wrote, and work goes from left to right. Colours mark where a team begins and ends: who
# reads nobody (a *source*), and whom no other role reads (a *sink*).

# %%
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topology
from hieramas_lib.teams.topology import Topology

names = ("Reader", "Checker", "Writer")
chain = Topology.from_names(names, [("Reader", "Checker"), ("Checker", "Writer")])
save_figure(
    run,
    draw_topology(chain, names),
    "figure_check",
    caption="Three roles in a chain: if you can read this, figures work.",
    simulated=False,
    alt="Three boxes joined by two arrows.",
)

# %% [markdown]
# ## What we saw
#
# Sentences like these close every notebook. They are computed from the data of the run and not typed, so
# they can't outlive a change of the results; the report (notebook 15) quotes them.

# %%
conclusions = [
    f"{counts['questions'].sum()} questions in {len(counts)} benchmarks are readable.",
    f"A simulated call came back ({rollout.grade.status}) and was priced at ${used.cost_usd:.5f}.",
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. How much would 1,000 such calls cost? Set `my_cost` in dollars and run the cell.
# 2. Set `question` to `knowledge/law/01` at the top and run all again. Is the answer right? Which folder
#    did this run write to, and is the first one still there?
# 3. Set `question` to an id that does not exist. The error should name the parameter and a question that
#    does exist. Why is that better than to ask another question in its place?
#
# **With a real pool.** Export the key that is named under *Versions, pools, keys*, then run `hieramas
# doctor --call`. An LLM that answers there will answer in the notebooks. What a call to it costs, and how
# to set a limit, is the subject of notebook 02.

# %%
my_cost = None  # such as 0.5
answer = "not answered yet" if my_cost is None else abs(my_cost - 1000 * used.cost_usd) < 0.05
print("exercise 1:", answer)

# %%
print(run.finish(figures=["figure_check"], tables=["questions"]))
