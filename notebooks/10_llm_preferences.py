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
# # 10 · Which LLMs does the trained policy prefer?
#
# **Question.** The policy of notebook 05 may put any of eight LLMs, or none, into every position of
# every role. Which does it prefer, by position, role, subject and benchmark? Does it choose at all,
# or does it send everything to one LLM? And does it prefer what is dear, or what is good?
#
# **Why ask.** A router that was trained on rewards easily *collapses*: people report trained routers
# that send 95 of 100 questions to one and the same model. Accuracy alone does not show it, as the
# favourite may be a good model. So this notebook prints the share of the top choice and the entropy of
# the choices, and puts a *constant* team beside the policy: the one that the policy chooses most
# often, given to every question. If the two do equally well, the policy has learned a team, but not
# which team fits which question.
#
# A preference can be read in two ways: from the **logits** (how strongly an LLM is preferred on
# average, the HieraMAS paper's Figure 4), and from the **shares** (how often it is really chosen when
# every position takes its most probable action). A small lead in logits becomes a share of 100 % if
# it is there for every question, so both are needed.
#
# Reads: three shipped benchmarks and the simulated pool. Writes: one run folder with five figures and
# three tables. About a minute. Offline and free; the LLMs are **simulated**: which name is preferred
# here follows from the targets in `data/simulation`, and says nothing about the real models.

# %% tags=["parameters"]
benchmarks = ["knowledge", "maths", "humaneval"]  # any of these, or benchmark.yaml paths
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1, 2]  # one new world and one training for each
width = 2  # proposers of a supernode, W
graphs = 100  # size K of the graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer of a team
passes = 2  # times each training question is used
variants = 0  # made-up versions of a question that the oracle searches on as well

# %%
import sys

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import (
    benchmark_source,
    check_plan,
    held_out,
    pool_of,
    setting_of,
)
from hieramas_lib.experiments.effects.effect_plots import effect_points
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.plots import selection_heatmap
from hieramas_lib.experiments.preference_plots import share_heatmap
from hieramas_lib.experiments.preference_study import TRAINED, join_studies, study_preferences
from hieramas_lib.experiments.preferences import (
    collapse_table,
    entropy_bits,
    share_intervals,
    shares,
)
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import mean_over_seeds
from hieramas_lib.experiments.tables import comparison_table, presentable
from hieramas_lib.learning.stage1 import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings

# %%
run = start_notebook("10_llm_preferences", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=config.benchmarks,
    seeds=config.seeds,
    llms={"decision": config.decision},
    at_least_one={"width": config.width, "graphs": config.graphs, "variants": config.variants + 1},
)
settings = HieraMASSettings(stage1=Stage1Settings(passes=config.passes))
print(run)

# %% [markdown]
# ## Collapse in a number, by hand
#
# Suppose 8 positions are filled, 4 by one LLM and 2 each by two others. The shares are ½, ¼ and ¼. The
# *entropy* is the mean number of yes-or-no questions needed to name the LLM of a position:
#
# ½ · 1 + ¼ · 2 + ¼ · 2 = **1.5 bits**, since log₂ 2 = 1 and log₂ 4 = 2.
#
# Two to the power of it, 2^1.5 = 2.83, is the *effective number of LLMs*: as spread out as if 2.83 LLMs
# were chosen equally often. All eight LLMs alike would be 3 bits, or 8. A router that sends 97 of 100
# positions to one LLM and one each to three others has 0.24 bits, or 1.2 effective LLMs. That is a
# collapse, and the top share alone (97 %) says so, too. But a top share of 50 % can hide one: two
# LLMs, half and half, are 1 bit.

# %%
for counts in ([4, 2, 2], [97, 1, 1, 1], [1, 1], [1] * 8):
    bits = entropy_bits(counts)
    print(f"{counts}: {bits:.2f} bits, {2**bits:.2f} effective LLMs")

# %% [markdown]
# ## Train, and write down every choice
#
# For each benchmark and seed: a new simulated world, stage 1, and then what the policy chooses for the
# held-out questions. No answer is needed for that: a choice is a function of the question's text. The
# untrained policy prefers no LLM (its logits are equal), so whatever preference shows was learned.
#
# The answers are still asked for, once by the policy and once by its constant team, to see whether
# choosing pays. Where the LLMs are simulated, a third joins: the best constant team that a search
# finds when it may look into the world (on training and validation questions). It is no method, as
# nobody can look into real LLMs, and the search may miss better teams.

# %%
tests = {name: held_out(name) for name in config.benchmarks}
roles_of = {name: len(benchmark_source(name).roles.roles) for name in config.benchmarks}
positions = config.width + 1
planned = len(config.seeds) * sum(
    len(tests[n]) * roles_of[n] * positions for n in config.benchmarks
)
plan = [(name, seed) for name in config.benchmarks for seed in config.seeds]
studies = [
    await study_preferences(open_for(run, name, seed), settings, seed, variants=config.variants)
    for name, seed in tqdm(plan, desc="benchmarks x seeds", file=sys.stdout)
]
study = join_studies(studies)
chosen, logits, records = study.choices, study.logits, study.answers
run.save_records(chosen)
llms = pool_of(config.pool)
filled = chosen[chosen["acts"]].sort_values("position", kind="stable")
print(f"{planned:,} choices, {len(filled):,} of them of an LLM that acts")

# %% [markdown]
# ## Figure 4 of the paper: logits per LLM and benchmark
#
# For each position, the mean logit of the LLMs is subtracted, so that only preferences among LLMs are
# left (*normalised*); then it is averaged over questions and roles. Two LLMs that are 1 apart are drawn
# in a ratio of e to 1. Rows are ordered by price, the dearest on top, as price is what the utility
# holds against an LLM. The paper prints its figure without numbers or spread, so that there is nothing
# to put beside ours.
#
# **How to read it.** A point at 0.25 means that the LLM is drawn e^0.25 = 1.28 times as often as an average
# one when the policy is *sampled*, as it is in training. That is little: with eight LLMs, a share of 16 %
# in place of 12.5 %. At test the policy takes the arg-max, and the same 0.25 makes the LLM win *every*
# time. So a policy can look decided and be undecided. If an interval covers 0, the worlds do not agree
# on whether this LLM is better than average in this position; with three worlds, only large and steady
# preferences get an interval that does not.

# %%
price = {spec.name: spec.usual_cost() or 0.0 for spec in llms.llms}
by_price = sorted(llms.names, key=lambda llm: -price[llm])
logits["series"] = logits["position"].str.replace(r" \d+", "s", regex=True)
preferred = over_seeds(logits, ["benchmark", "llm", "series"], ["logit"])
dearest_first = preferred["llm"].map(by_price.index).sort_values(kind="stable").index
preferred = preferred.loc[dearest_first].rename(columns={"benchmark": "panel", "llm": "row"})
save_figure(
    run,
    effect_points(preferred, "logit", xlabel="normalised logit"),
    "logits",
    caption=f"Preference of the trained policy for each LLM, dearest on top ({setting.text}): mean of "
    f"{len(config.seeds)} seeds with 95 % intervals over seeds. The untrained policy is at 0.",
    simulated=setting.simulated,
    alt="Three panels of points with intervals, a row for each LLM, proposers and synthesizer apart.",
)

# %% [markdown]
# ## What is really chosen: position × LLM
#
# Shares among the positions that act: a pruned role and an empty proposer position are left out, and
# are a column of no LLM. The small numbers are the lowest and the highest seed. Look at them before
# naming a favourite: where a cell goes from 0 to 100 over three seeds, training found several teams of
# about equal worth, and the mean describes none of them.
#
# **Why training differs from seed to seed.** Three things change with the seed: the world (which LLM
# knows which question), the batches, and the rollouts that were drawn. A question pays a point of utility
# or nothing, and two LLMs of similar ability differ on a few questions in a hundred. From some hundred
# rollouts nobody can tell which of them is better; the policy takes the one that happened to do well. That
# is no fault to repair by more seeds in the table. It is what a report should say instead of a name.

# %%
spread = share_intervals(filled, ["benchmark", "position"], by_price)
save_figure(
    run,
    share_heatmap(spread, group="benchmark", row="position", column="llm", of="positions that act"),
    "positions",
    caption="LLM in each position under the trained policy, dearest LLM to the left: mean of "
    f"{len(config.seeds)} seeds in percent, below it the lowest and highest seed ({setting.text}).",
    simulated=setting.simulated,
    alt="Heat map of positions by LLMs, a block for each benchmark.",
)
run.save_table(
    spread,
    "shares",
    f"Shares of the LLMs among positions that act, seeds: {len(config.seeds)} ({setting.text}).",
    simulated=setting.simulated,
)

# %% [markdown]
# ## By role, and by subject
#
# The policy with few weights (`form = "match"`) has one bias for each position and LLM, *shared by all
# roles*, and one weight on how well a role matches the question. So it can't prefer an LLM for a
# single role or a single subject; what it can do is to keep a role in some subjects and leave it out in
# others, and to ask another LLM the better the role matches. The two figures show what became of that
# freedom.
#
# In the first figure, rows of one position look alike across roles; where they do not, the roles were kept
# for different questions. In the second, look for the diagonal: experts in their own subjects. Some of it
# was there before training, as the prior says to ask an expert only where the match is good; what training
# adds is how good the match has to be, and for whom. Roles that answer anything have no match to wait for,
# and are kept or left out as a whole. (The paper's network, `form = "paper"`, has no such limit, and learns less from so few
# questions: notebook 08.)

# %%
name = tests[config.benchmarks[0]][0].benchmark
first = filled[filled["benchmark"] == name]
by_role = shares(first.assign(where=first["role"] + " · " + first["position"]), ["where"], by_price)
order = list(dict.fromkeys(chosen["role"] + " · " + chosen["position"]))
by_role = by_role.loc[[where for where in order if where in by_role.index]]
save_figure(
    run,
    selection_heatmap(by_role, title=name, of="filled positions"),
    "roles",
    caption=f"LLM in each position of each role that acts, {name}, over all held-out questions and "
    f"{len(config.seeds)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Heat map of positions of roles by LLMs, dearest LLM to the left.",
)

# %%
heads = chosen[(chosen["benchmark"] == name) & (chosen["position"] == "synthesizer")]
kept = heads.pivot_table(index="subject", columns="role", values="acts", sort=False)
kept.index = kept.index.str.replace("_", " ")
save_figure(
    run,
    selection_heatmap(kept, title=f"{name}: roles kept", of="questions"),
    "subjects",
    caption=f"Share of a subject's held-out questions for which a role is kept, {name}, over "
    f"{len(config.seeds)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Heat map of subjects by roles.",
)

# %% [markdown]
# ## Collapse, and does choosing pay?
#
# The first table counts choices; *other team* is the share of held-out questions whose team (roles and
# LLMs) is not the most frequent one. The second compares on the same questions. The constant team is
# the policy without its eyes: any difference is the worth of looking at the question.
#
# Three patterns, and what to do about each:
#
# * *Few effective LLMs, and the constant team does as well*: the policy has collapsed to a good team. Use the
#   constant team, it is simpler, and cheaper to check.
# * *Many effective LLMs, and the constant team does as well*: the choices vary without a use. They may
#   follow noise in the text vectors. Again the constant team is enough, and the variety is no merit.
# * *The policy beats its constant team*: looking at the question pays. Only this is evidence for learned
#   routing, and it needs an interval that excludes 0.

# %%
collapsed = collapse_table(filled)
run.save_table(
    collapsed,
    "collapse",
    f"How spread out the policy's choices are ({setting.text}); 3 bits are eight LLMs alike.",
    simulated=setting.simulated,
)
presentable(collapsed)

# %%
table = comparison_table(records)
run.save_metrics(table)
run.save_table(
    table,
    "methods",
    f"The trained policy and teams that do not look at the question ({setting.text}).",
    simulated=setting.simulated,
)
presentable(table)

# %% [markdown]
# ## Price against preference, and the best team found
#
# Does the policy buy what is dear? Rows are again ordered by price. Beside the policy's shares stand
# those of the best constant team found by search, where the LLMs are simulated. Where the two agree, the
# policy has found what is worth its price. Where they do not, one of three things is the case: the
# policy has not learned it, the worlds differ so much that no preference is right in all of them, or
# several teams are worth about the same, so that it does not matter.
#
# The third is more common than one might think. By hand: if a team of five calls is right on 88 of 100
# questions and one of its cheap proposers is exchanged for another one that changes the answer on 2
# questions, the two teams differ by at most 2 points of accuracy and by a few hundredths of a reference
# call, which is 0.0003 in utility. To tell 2 points from 0 takes hundreds of questions; a search, even one
# that looks into the world, picks by such margins, too. So compare its *shares* with the policy's only
# where its intervals are short, and compare *utilities* in the table above first.

# %%
ours = share_intervals(filled, ["benchmark"], by_price).assign(series="trained policy")
parts = [ours]
if setting.simulated:
    oracle = share_intervals(study.best, ["benchmark"], by_price)
    parts.append(oracle.assign(series="best constant team found"))
points = pd.concat(parts, ignore_index=True)
unit = max(price.values()) or 1.0
points["row"] = [f"{llm} ({price[llm] / unit:.2f})" for llm in points["llm"]]
save_figure(
    run,
    effect_points(
        points.rename(columns={"benchmark": "panel"}),
        "share",
        xlabel="share of positions (%)",
        scale=100,
        zero=False,
    ),
    "price",
    caption="Share of each LLM among positions that act; in brackets the price of its usual call in "
    f"calls of the dearest LLM. Mean of {len(config.seeds)} seeds, 95 % intervals over seeds "
    f"({setting.text}).",
    simulated=setting.simulated,
    alt="Three panels of points with intervals, a row for each LLM, ordered by price.",
)

# %% [markdown]
# ## What we saw


# %%
def verdict(benchmark: str, other: str) -> str:
    """Say what the policy has over another method, paired by world (by question if there is one)."""
    rows = records[records["benchmark"] == benchmark]
    over = "seed" if rows["seed"].nunique() > 1 else "task_id"
    values = rows.pivot_table(index=over, columns="method", values="utility")
    gain = mean_over_seeds(values[TRAINED] - values[other])
    word = "beats" if gain.low > 0 else "falls below" if gain.high < 0 else "can't be told from"
    return f"In utility the policy {word} “{other}”: {gain}."


others = [method for method in records["method"].unique() if method != TRAINED]
costs = pd.Series(price)
conclusions = []
for benchmark, group in collapsed.groupby("benchmark", sort=False):
    tops = ", ".join(f"{row.top} {row.top_share:.0%}" for row in group.itertuples())
    bought = ours[ours["benchmark"] == benchmark].set_index("llm")["share"]
    rank = costs.corr(bought[costs.index], method="spearman")
    lead = preferred.loc[preferred["panel"] == benchmark, "logit"].abs().max()
    conclusions.append(
        f"{benchmark}, {setting.text}: top choice by seed {tops}; {group['effective_llms'].min():.1f} to "
        f"{group['effective_llms'].max():.1f} effective LLMs of {len(price)}. No mean logit is further than "
        f"{lead:.2f} from 0. Rank correlation of price and share {rank:.2f} (of eight LLMs, up to 0.74 in "
        f"size may be chance). " + " ".join(verdict(benchmark, other) for other in others)
    )
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. Of ten positions, five are given to one LLM and five to another. How many bits is the entropy? Set
#    `my_bits` and run the cell.
# 2. Set `seeds` to `[0, 1, 2, 3, 4, 5]`. Which favourites of the heat map survive?
# 3. Set `passes` to 8. Do the logits grow, and does the entropy fall?
# 4. Set `difficulty` to `mmlu-like`, where most questions are easy for most LLMs. Which LLMs does
#    the policy prefer now, and why?
#
# **With real models.** Set `pool` to the path of a pool file, `decision` to one of its LLMs, and
# `budget_usd`. The choices themselves cost nothing; training does (notebook 05 counts the calls), and
# so do the two ways to answer. The best constant team is left out: it can be looked up in a simulated
# world alone. Then the constant team tells most: if it does as well as the policy, deploy it, as a
# fixed team is simpler than a policy.

# %%
my_bits = None  # such as 2
answer = "not answered yet" if my_bits is None else abs(my_bits - entropy_bits([5, 5])) < 1e-9
print("exercise 1:", answer)

# %%
print(
    run.finish(
        rows=planned,
        figures=["logits", "positions", "roles", "subjects", "price"],
        tables=["shares", "collapse", "methods"],
    )
)
