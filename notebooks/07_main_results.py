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
# # 07 · Main results: does a learned team beat one LLM, and the other methods?
#
# **Question.** On three benchmarks, how do HieraMAS (a learned team on a learned graph), the methods
# that its paper compares it with, and the simple ones that everybody should try first compare: in
# accuracy, in money, and in utility? The utility of an answer is 1 if it is right, minus 0.01 for every
# usual call of the reference LLM that it cost.
#
# | rows | methods |
# |---|---|
# | prompts | **Base** (one call, answer only), **CoT** (step by step), **SC** and **SC + CoT** (five of them and a vote), **Base, equal budget** (as many step-by-step votes as HieraMAS's money buys), **LLM-Debate** in both published forms, **MoA** (mixture of agents: two layers of all LLMs, then one) |
# | shapes | what general agent frameworks are mostly used for: one call, a chain, a chat in turns |
# | fixed graphs | one call for each role, on the full graph, a chain, a star, or a random graph |
# | learned graphs | **GDesigner** as its paper has it and as its code has it, **TopoDIM**, **GTD** |
# | search and routing | **AFlow** (a search over workflows), **MASRouter** (mode, number, roles and LLMs for each question) |
# | ours | **Agent Q-Mix** (who talks to whom, round by round), the same over supernodes, and **HieraMAS** |
# | anchors | HieraMAS with parts taken away, down to random choices and to the decision LLM alone |
#
# All methods get the same questions, the same grader and one ledger; costs are list prices as if
# nothing were cached. A method with one LLM uses the parameter `strongest`, and so does the
# last step of MoA; methods on a graph, Agent Q-Mix and HieraMAS give their final answer by `decision`. What each does, and where
# its paper, its code and this version differ, is in `docs/methods`.
#
# Reads: three shipped benchmarks and the simulated pool. Writes: one run folder with two figures and
# eight tables. A minute and a half. Offline and free; the LLMs are **simulated**: the order of the rows says
# nothing about real models, nor about which method is better on them.

# %% tags=["parameters"]
benchmarks = ["knowledge", "maths", "humaneval"]  # any of these, or benchmark.yaml paths
methods = ["all"]  # or names of rows, such as ["CoT", "AFlow"]; HieraMAS is always there
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0]  # one new world, and one training of every method, for each
effort = "quick"  # what other methods' training may take: quick, full, or tiny to try out
width = 2  # proposers of a supernode, W
graphs = 100  # size K of the graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer of a team
strongest = "gpt-5-mini"  # LLM of methods that have one only
passes = 4  # times HieraMAS uses each training question in stage 1
graphs_per_task = 5  # graphs run on each training question in stage 2
tests = 0  # questions of each test split, 0 for all

# %%
import sys

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan, held_out, setting_of
from hieramas_lib.experiments.comparison import (
    PARTS,
    Comparison,
    chosen_methods,
    compare_methods,
    planned_rows,
)
from hieramas_lib.experiments.comparison_tables import (
    frontier_sentences,
    learning_costs,
    training_sentences,
    worth_sentences,
)
from hieramas_lib.experiments.effects.effect_plots import effect_points
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.frontier import pareto
from hieramas_lib.experiments.method_table import families
from hieramas_lib.experiments.plots import cost_accuracy
from hieramas_lib.experiments.pool_choice import pool_of
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import comparison_table, paired_table, presentable
from hieramas_lib.learning.stage1 import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings

# %%
run = start_notebook("07_main_results", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=config.benchmarks,
    seeds=config.seeds,
    llms={"decision": config.decision, "strongest": config.strongest},
    at_least_one={"width": config.width, "graphs": config.graphs, "tests": config.tests + 1},
)
names = chosen_methods(config.methods, pool_of(config.pool))
ours = {
    "stage1": Stage1Settings(passes=config.passes),
    "stage2": Stage2Settings(graphs_per_task=config.graphs_per_task),
}
print(run, f"{len(names)} methods", sep="\n")

# %% [markdown]
# ## How sure can one be? A table to check by hand
#
# With 100 questions and 80 right answers, the standard error of the accuracy is
# √(0.8 · 0.2 / 100) = 4 points, so the 95 % interval reaches about 8 points to both sides. The HieraMAS
# paper's test sets have 64, 90 and 125 questions: most gaps in its main table are 3 to 6 questions.
# That is why every number here has an interval, and why methods are compared on the *same*
# questions: there, what counts is only where they differ.
#
# McNemar's test makes this exact. If two methods were equally good, then each question that only one of
# them gets right would be a coin toss between the two. With six such questions, five or more for one side
# come up in 2 · (6 + 1) / 2⁶ = 14/64 = 22 % of all cases: no evidence of anything. And with 27 methods in a
# table, one in twenty comparisons would be "significant" by luck alone; Holm's correction, in the last
# column of the table of differences, raises each p for the number of comparisons.

# %%
from hieramas_lib.experiments.statistics import mcnemar, wilson

print("80 of 100:", wilson(80, 100))
print("58 of 64 (SC + CoT in the paper):", wilson(58, 64))
print("62 of 64 (HieraMAS in the paper):", wilson(62, 64))
print("6 questions differ, 5 for us: p =", mcnemar([True] * 5 + [False], [False] * 5 + [True]))

# %% [markdown]
# ## Train and answer
#
# For each benchmark and seed: a new simulated world, then every method in turn: trained, if it learns,
# and asked the test questions. HieraMAS is the first, because *Base, equal budget* is given as much
# money an item as HieraMAS used.
#
# **What is small here.** HieraMAS trains by its full recipe. At `effort="quick"` the others see less
# than at their papers' sizes: GDesigner and TopoDIM each question twice, GTD four graphs a question,
# MASRouter four passes of ten, AFlow twenty rounds with one answer for each validation question, Agent
# Q-Mix 192 episodes. So this table compares answers and money as they are after these trainings, whose
# costs stand further down and differ widely, and is no verdict on what the others could learn: for that, `effort="full"`, with several seeds. Learning methods whose
# price of money can be set (AFlow, MASRouter) learn at the price that the table uses, 0.01 a call.


# %%
async def results(name: str, seed: int) -> Comparison:
    """Train and ask all methods on one benchmark in one world."""
    world = open_for(run, name, seed)
    tasks = world.test[: config.tests or None]
    llm, effort = config.strongest, config.effort
    return await compare_methods(names, world, tasks, seed=seed, llm=llm, effort=effort, ours=ours)


# %%
plan = [(name, seed) for name in config.benchmarks for seed in config.seeds]
planned = sum(
    planned_rows(names, len(held_out(name)[: config.tests or None])) for name, _ in plan
)  # every method answers every test question, Random-Graph three times
found = [
    await results(name, seed)
    for name, seed in tqdm(plan, desc="benchmarks x seeds", file=sys.stdout)
]
records = pd.concat([each.records for each in found], ignore_index=True)
training = pd.concat([each.training for each in found], ignore_index=True)
run.save_records(records)
run.save_file("training.csv", training.to_csv(index=False).encode())
print(f"{planned:,} answers, {training['calls'].sum():,} calls in training")

# %% [markdown]
# ## The table
#
# Accuracy with its Wilson interval (clustered by question), utility, cost, tokens and calls for each
# item. Answers that were empty, unparsable or did not come back are never correct, and are counted.
#
# **How to read it.** Begin with *calls*: a method that makes nine calls should be held against another with
# about as much money, not against Base. *Base, equal budget* is there for exactly that: one LLM, asked as
# often as HieraMAS's bill allows, and a vote. A team that does not beat it has bought nothing but votes.
# Then look at accuracy and cost together, or at utility, which prices them against each other: it is the
# number that our learners are trained for, so it favours them, and a reader with another price of a
# mistake should look at the figure below instead.
#
# **What would be suspicious.** A method whose answers are often *unparsed* loses to its format, not to its
# reasoning. A cost that is the same to the cent on every question would mean that tokens are estimated.
# And where a learned method equals its anchor without training, nothing was learned, however high it stands.

# %%
table = comparison_table(records)
main = table[~table["method"].isin(PARTS)]
seeds_text = f"{setting.text}; seeds: {len(config.seeds)}"
run.save_table(
    main,
    "main",
    f"Main results on {', '.join(config.benchmarks)} ({seeds_text}; effort {config.effort}).",
    simulated=setting.simulated,
)
run.save_metrics(main)
presentable(main)

# %% [markdown]
# ## What is worth its money?
#
# One point a method; the bar is the interval of its accuracy. The line joins the methods that no cheaper
# one is as accurate as: whoever is right of it pays for nothing. With many methods some stand there by
# luck, as the bars show; the table names them.

# %%
groups = families() | dict.fromkeys(PARTS, "anchors")
other = {name: "frameworks" for name in names if name not in groups}
save_figure(
    run,
    cost_accuracy(table, groups | other),
    "cost_accuracy",
    caption=f"Accuracy against cost for each item, with 95 % intervals over questions "
    f"({seeds_text}). The line joins the methods that no cheaper one is as accurate as.",
    simulated=setting.simulated,
    alt="One panel for each benchmark; accuracy in percent against cost in dollars, by kind of "
    "method, with a line along the cheapest methods at each accuracy.",
)

# %%
frontier = pareto(table)[["benchmark", "method", "accuracy", "cost_usd", "utility"]]
run.save_table(
    frontier,
    "frontier",
    f"Methods that no cheaper one is as accurate as, cheapest first ({seeds_text}).",
    simulated=setting.simulated,
)
presentable(frontier)

# %% [markdown]
# ## Differences on the same questions
#
# The interval of a method's own accuracy holds the luck of the questions: hard ones are hard for all.
# The difference of two methods on the same questions does not. To the right of 0, HieraMAS is worth
# more. The intervals are over questions: they say how far the result would hold on other questions of this
# kind, in these worlds and with these trainings. How much another training would change is seen from
# several `seeds` only, and the paper's numbers, from one run each, leave that open.

# %%
differences = paired_table(records, "HieraMAS")
run.save_table(
    differences,
    "differences",
    "HieraMAS minus each method on the same questions; bootstrap intervals over questions, exact "
    "McNemar on the first seed, Holm across the table.",
    simulated=setting.simulated,
)
presentable(differences)

# %%
gains = differences.rename(columns={"method": "row", "benchmark": "panel"})
save_figure(
    run,
    effect_points(
        gains.assign(series="HieraMAS minus the method"),
        "utility_gain",
        xlabel="gain (points), 95 % interval",
        scale=100,
    ),
    "differences",
    caption=f"Utility of HieraMAS minus that of each method on the same questions, in points of "
    f"accuracy, with bootstrap intervals over questions ({seeds_text}).",
    simulated=setting.simulated,
    alt="One panel for each benchmark and one row for each method: the difference in utility with "
    "its interval, and a line at no difference.",
)

# %% [markdown]
# ## Where does the gain come from?
#
# The same system with parts taken away, and the anchors: without the learned graph, without
# training, without any learning at all, and without a team.

# %%
parts = table[table["method"].isin(["HieraMAS", *PARTS])]
run.save_table(
    parts,
    "parts",
    f"HieraMAS and its parts, same questions and worlds ({seeds_text}).",
    simulated=setting.simulated,
)
presentable(parts)

# %% [markdown]
# ## What does learning cost?
#
# A method that saves money on each answer may have spent it all in training. Training is booked in the
# same ledger, at the same prices: what all calls of `fit` would have cost without a cache. The last two
# columns say how many test questions there are and what answering all of them once cost. AFlow's
# figure is the search over workflows; that of *Base, equal budget* is the measuring of what a call costs.

# %%
costs = learning_costs(main, training)
run.save_table(
    costs,
    "costs",
    f"Cost of training and of answering the test questions ({seeds_text}; effort {config.effort}).",
    simulated=setting.simulated,
)
presentable(costs)

# %% [markdown]
# ## The paper's numbers
#
# Published accuracies (percent) of the HieraMAS paper, Table 1, and its costs of inference (Table 4) and
# of training (Table 11), for real LLMs and other test questions. They stand here for orientation: our
# simulated results neither confirm nor refute them. Three things to keep in mind when reading across:
# their costs are sums over a whole test set of 64 to 125 questions, their training sets and efforts are
# their own, and their AFlow asks a dear LLM for its edits, where ours draws them.


# %%
def show_published(name: str, saved_as: str) -> pd.DataFrame:
    """Save one of the paper's tables, marked as such, and return it for reading."""
    printed = published_table(name)
    run.save_table(printed.frame, saved_as, printed.caption, simulated=False)
    return presentable(printed.frame)


show_published("table1", "published")

# %%
show_published("table4", "published_inference")

# %%
show_published("table11", "published_training")

# %% [markdown]
# ## What we saw

# %%
conclusions = [
    *worth_sentences(differences, "HieraMAS", setting.text),
    *frontier_sentences(table),
    *training_sentences(costs, "HieraMAS"),
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## With real LLMs
#
# The whole table with real LLMs is dear: every method that learns makes some thousand calls. Name few
# `methods`, set `tests`, `passes` and `budget_usd`, and begin with the ones that do not learn:
# `hieramas run 07 -p pool=data/llm_pool.yaml -p budget_usd=5 -p "methods=[CoT, SC, LLM-Debate]" -p passes=1`.
# Calls are kept, so that a second run with more methods pays for the new ones alone. `LangGraph` and
# `AutoGen`, as they come from PyPI, are further names for `methods` (extra `frameworks`).
#
# ## Exercises
#
# 1. HieraMAS answers 2 more of 100 questions than CoT and costs 1.5 reference calls more for each.
#    Which has the higher utility? Set `my_difference` (HieraMAS minus CoT) and run the cell.
# 2. A method costs 0.4 cents less an item than another, and its training cost 3 dollars more. After how
#    many questions has it paid? Set `my_questions`.
# 3. Set `seeds` to five numbers. Which of the differences that were there with one world are still there?

# %%
my_difference = None  # such as 0.01
my_questions = None  # such as 1000
for number, mine, right in ((1, my_difference, 0.005), (2, my_questions, 750)):
    answer = "not answered yet" if mine is None else abs(mine - right) < 1e-9
    print(f"exercise {number}:", answer)

# %%
print(
    run.finish(
        rows=planned,
        figures=["cost_accuracy", "differences"],
        tables=[
            "main",
            "frontier",
            "differences",
            "parts",
            "costs",
            "published",
            "published_inference",
            "published_training",
        ],
    )
)
