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
# # 05 · Can a policy learn which LLM belongs in which position?
#
# **Question.** A team has a supernode for every role: a few *proposers* that answer independently,
# and a *synthesizer* that reads their proposals and speaks for the role. Each position may hold any
# LLM of the pool, or stay empty (*SKIP*). With eight LLMs, eight roles and three positions there
# are 9^24 teams, more than one could ever try. Stage 1 of HieraMAS learns a *policy* that picks one for each
# question. Does it find teams that are worth more than random ones, and more than where it started?
#
# **Utility** is the yardstick: accuracy minus 0.01 for every *reference call* spent. A reference
# call is one usual call of the dearest LLM, so one such call must bring one point of accuracy.
#
# **What could fool us.** Three things, and each has a rival in the tables below. A random team is so dear that
# one gets better by merely spending less: so the decision LLM stands there alone. The start is not empty-handed
# but knows something about teams: so the *untrained prior* stands there. And a strong LLM needs no team: so the
# strongest one answers alone. A policy that only beats the random team has shown nothing.
#
# Reads: a shipped benchmark, or one of your own, and the simulated pool. Writes: one run folder with
# five figures and up to five tables. About a minute. Offline and free; the LLMs are **simulated**, so the
# numbers say whether the learner works, and nothing about the real models whose names they carry.

# %% tags=["parameters"]
benchmark = "knowledge"  # knowledge, maths, humaneval, or the path of a benchmark.yaml
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1, 2, 3]  # one new world and one training for each
width = 2  # proposers of a supernode, W
graphs = 100  # size K of the graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer of a team
strongest = "gpt-5-mini"  # LLM to compare with, alone
alone = []  # further LLMs to compare with, alone
passes = 4  # times each training question is used
group = 4  # rollouts of a question in a batch
credit = "multi_level"  # multi_level, final_only or node_only
alpha = 0.4  # weight of the node's own result in its credit
price = 2.0  # factor on the price of a team in the loss, lambda
curve_worlds = [200]  # simulated worlds of the last section
curve_sizes = [18, 72, 288]  # numbers of training questions there

# %%
import sys

import pandas as pd
import torch
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan, held_out, setting_of
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.learning_curve.choice_views import (
    chosen_shares,
    kept_sentence,
    position_names,
    position_shares,
    training_panels,
)
from hieramas_lib.experiments.learning_curve.match_table import match_sentence, match_table
from hieramas_lib.experiments.learning_curve.stage1_study import (
    PRIOR,
    RANDOM,
    TRAINED,
    WAYS,
    study_stage1,
    utility_while_training,
)
from hieramas_lib.experiments.learning_curve.world_curves import (
    curve_in,
    tables_of_curves,
    way_sentences,
)
from hieramas_lib.experiments.learning_plots import share_areas, training_curves
from hieramas_lib.experiments.plots import anchors, learning_curve, selection_heatmap
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_notebook

# %%
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.experiments.utility_tables import (
    gain_sentences,
    gain_table,
    gains_of,
    utility_table,
)
from hieramas_lib.learning.rewards import PaperReward, effective_reward
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings

# %%
run = start_notebook("05_stage1_policy", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=[config.benchmark],
    seeds=config.seeds,
    llms={"decision": config.decision, "strongest": config.strongest}
    | {f"alone, place {place}": llm for place, llm in enumerate(config.alone, start=1)},
    at_least_one={"width": config.width, "graphs": config.graphs},
)
learned = ("passes", "group", "credit", "alpha", "price")
stage1 = Stage1Settings(**{name: getattr(config, name) for name in learned})
replayed = (config.benchmark, config.pool) == ("knowledge", "simulated")
print(run)

# %% [markdown]
# ## Whose merit is a right answer? A case to check by hand
#
# Three roles worked on one question. The team's final answer is right, but the Critic's own message
# was wrong, and the Lawyer was skipped. If every role is rewarded for the final answer alone, the
# Critic is praised for an error: it is *masked* by the others.
#
# HieraMAS mixes two rewards. With *c* the cost in reference calls,
#
# * an output that is right earns max(exp(−0.37 *c*), 0.5), one that is wrong costs
#   max(−exp(0.37 *c*), −2.5);
# * a role gets R_eff = α · R_node + (1 − α) · R_final, and R_node = 0 if it was skipped.
#
# Take *c* = 0.5 for each node and *c* = 2 for the whole run. Then R_final = max(e^−0.74, 0.5) = 0.5.
# The Doctor (right) has R_node = e^−0.185 = 0.831 and R_eff = (0.831 + 0.5) / 2 = **0.666**. The
# Critic (wrong) has R_node = −e^0.185 = −1.203 and R_eff = (−1.203 + 0.5) / 2 = **−0.352**. The
# Lawyer (skipped) has R_eff = (0 + 0.5) / 2 = **0.25**. The library must say the same.

# %%
reward = PaperReward()
final = reward(correct=True, cost=2.0)
nodes = {"Doctor": reward(True, 0.5), "Critic": reward(False, 0.5), "Lawyer": 0.0}
mixed = {role: effective_reward(node, final, 1 / 2) for role, node in nodes.items()}
pd.DataFrame({"final only": dict.fromkeys(nodes, final), "multi-level": mixed}).round(3)

# %% [markdown]
# The sign is what matters: multi-level credit tells the Critic's error from the team's success.
#
# What we train on keeps that idea and drops two sources of noise. The *advantage* of a role is
# α · (node right − its mean) + (1 − α) · (final right − mean of the same question's other
# rollouts); and the price of a team enters as its exact expectation under the policy, not as a
# sampled reward.
#
# Why subtract means? Suppose that a question is so easy that all four of its rollouts end right. With the plain
# reward every choice made in them is reinforced, good or bad. With the mean of the other rollouts taken off, each
# gets 1 − 1 = 0: nothing can be learned from a question that every team gets right, and nothing is. If one of
# four fails, it gets 0 − 1 = −1, and each of the others 1 − 2/3 = +1/3: what was different in the failure is what
# learning looks at.
#
# ## The policy
#
# The logit of LLM *a* in position *k* of a role is a bias plus a weight times one number: how much
# better the role's profile matches the question than the other roles' do (cosines of text vectors,
# centred and standardised). Each role also has a bias of its own towards being left out. Few weights,
# because there are few questions to learn from. Sampling and log-probability use the same softmax; at
# test every position takes its most probable action, SKIP included.
#
# ## Does the match tell whose question it is?
#
# Everything is built on that one number, so it is measured first. *d'* is the distance between a role's own
# questions and all others, in standard deviations of the match. At 0 the match says nothing; at 1 an own
# question has the higher match of a pair in 76 % of the cases, at 2 in 92 %. Whose question it is is known
# in the simulated world only, by subject, and learners are not told. The last column reads the same
# similarities in another way: how far a role is above the *best* of the others, instead of above their mean.

# %%
sensitivities = pd.DataFrame()
if replayed:
    first_world = open_for(run, config.benchmark, config.seeds[0])
    sensitivities = match_table(first_world, config.difficulty)
    caption = f"How well the match tells a role's own questions from others ({setting.text})."
    run.save_table(sensitivities, "match", caption, simulated=True)
presentable(sensitivities)

# %% [markdown]
# **Where d' is under 1**, the match is a weak reason to keep or prune that role. What takes its place there is
# little: the bias of each role towards being left out, which is learned from the outcome and needs no
# similarity. The margin in the last column would lift the weakest role above 1; it was tried in four other
# worlds (100 to 103) and changed utility by −0.006 after 72 questions and by +0.001 after 288, both within
# noise. So it was not adopted, and the weak role stays weak.
#
# The untrained policy is not empty-handed. Its *prior* says: ask an expert in its own field only. That
# is knowledge about teams that was not learned, so the prior stands in every table by itself, as
# "untrained prior". (It prefers no LLM; its ties go to the first of the pool, which is the dearest.)
#
# ## Train
#
# Each seed has a world of its own: other questions are hard, other LLMs know the answer.
# The graph is drawn at random for every question here, so that only the LLMs are learned; choosing
# the graph is stage 2 (notebook 06). After training, all test questions are answered in five ways.

# %%
test = held_out(config.benchmark)
planned = len(config.seeds) * (len(WAYS) + len(config.alone)) * len(test)
settings = HieraMASSettings(stage1=stage1)
rivals = {"strongest": config.strongest, "alone": config.alone}
studies = [
    await study_stage1(open_for(run, config.benchmark, seed), settings, seed, **rivals)
    for seed in tqdm(config.seeds, desc="seeds", file=sys.stdout)
]
records = pd.concat([study.records for study in studies], ignore_index=True)
run.save_records(records)
shown = ["accuracy", "cost_reference", "kept_roles"]
table = utility_table(records.assign(accuracy=records["correct"]), shown)
presentable(table)

# %% [markdown]
# ## Learning curve
#
# Each point is the mean utility of the rollouts *sampled* from the policy over the last pass through
# the training questions (a single batch of twelve questions tells more about the questions than about
# the policy). Sampling explores, and exploring costs something: at test, the policy takes its most
# probable actions. The band goes from the lowest to the highest seed.
#
# **How to read it.** A curve that rises and flattens has learned what it can at this rate. One that still rises
# at its right end would gain from more passes. One that rises and then falls has begun to forget, or to prune
# roles that it needed; the third figure from here would show which. The gap between the curve's end and the line
# of the trained policy is mostly the price of exploring: the same policy is worth less when it is drawn from (and
# a little is due to the questions, which are the training ones on the curve and held-out ones on the line).

# %%
smooth = utility_while_training(studies, config.passes)
levels = table.set_index("method")["utility"][[RANDOM, PRIOR, TRAINED]]
save_figure(
    run,
    learning_curve(
        {"sampled while training": smooth.to_numpy().T},
        smooth.index.to_numpy(),
        xlabel="training rollouts",
        ylabel="utility per rollout",
        levels=levels.to_dict(),
    ),
    "learning_curve",
    caption=f"Utility during stage 1 on {config.benchmark} ({setting.text}), means over one "
    f"pass: mean of {len(studies)} seeds, band from lowest to highest. Horizontal lines: held-out "
    "questions.",
    simulated=setting.simulated,
    alt="Utility per rollout against the number of training rollouts, with three horizontal levels.",
)

# %% [markdown]
# ## What the policy came to choose
#
# The same training, seen from inside. After every second batch the policy is asked what it would do on the
# test questions; no LLM is called for that. First, by **position**: the probability of each LLM, and of
# leaving the position empty, averaged over roles, questions and seeds.

# %%
space = studies[0].system.space
traces = [study.trace for study in studies]
steps = [entry.rollouts for entry in traces[0]]
columns, positions = [*space.actions.llms, "SKIP"], position_names(config.width)
save_figure(
    run,
    share_areas(position_shares(traces, positions), steps, columns, xlabel="training rollouts"),
    "positions",
    caption="Probability of each LLM in each position while training, mean over roles, test questions and "
    f"{len(studies)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Stacked areas, one panel a position; the share of SKIP and of some LLMs grows.",
)

# %% [markdown]
# Had nothing been learned, the bands would run on level. A band that swallows the others is a *collapse*: one
# LLM everywhere, whatever the question. That can be right, if it is the best for its price; notebook 10 puts a
# number to it.
#
# Then by **role**: how probable it is that the role is pruned (its synthesizer is SKIP), and how undecided the
# policy is about it. Below, how many of the roles are kept, by arg-max, as at test, and when teams are
# drawn, as in training; and the expected price of a drawn team, the decision left out. *Watch whether all
# roles are pushed out together*: each is hard to miss in a crowd of eight, and each costs for sure.

# %%
save_figure(
    run,
    training_curves(training_panels(traces, space.roles.names), steps, xlabel="training rollouts"),
    "training",
    caption="Pruning, entropy, kept roles and price while training, on test questions: means over "
    f"{len(studies)} seeds, bands from lowest to highest ({setting.text}).",
    simulated=setting.simulated,
    alt="Four panels over training rollouts: pruning by role, entropy by role, kept roles, price.",
)

# %% [markdown]
# Finally, the choice itself. Share of test questions and seeds in which a position of a role holds each LLM by
# arg-max. The last column is SKIP; a role whose synthesizer is skipped does not act at all, whatever its
# proposers say. An expert's row should not be full in either way: 100 % SKIP would mean that the role is never
# asked, and 0 % that it is asked on everybody's questions.

# %%
chosen = torch.cat([study.system.actions(test) for study in studies])
save_figure(
    run,
    selection_heatmap(chosen_shares(chosen, space.roles.names, positions, columns)),
    "selection",
    caption="LLM in each position of each role under the trained policy, share of test questions over "
    f"{len(studies)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Matrix of positions by LLMs; the last column is the share of questions that leave it empty.",
)

# %% [markdown]
# ## Is it worth it? The anchors
#
# A single number hides too much: a team can be "better than random" just by spending less. So the
# trained policy stands beside the random policy, its own untrained start, the decision LLM alone and
# the strongest LLM alone. Intervals are over test questions; the seeds of a question stay together. (The
# best team there is has to be searched for: that comes below, in a world of its own.)
#
# **Overlapping intervals do not mean that two ways are equal.** Most of the width is the spread between easy and
# hard questions, which all ways share. Whether one way is better is asked in the last section, in pairs.

# %%
caption = f"Stage 1 on {config.benchmark} ({setting.text}): held-out utility."
run.save_metrics(table)
run.save_table(table, "anchors", caption, simulated=setting.simulated)
save_figure(
    run,
    anchors(table),
    "anchors",
    caption=caption + " Intervals over test questions.",
    simulated=setting.simulated,
    alt="Utilities of the ways to answer with intervals, best first.",
)

# %% [markdown]
# ## How near to the best team, and with how many questions?
#
# With a simulated pool the optimum can be *searched*: coordinate ascent over all positions and all graphs, on
# questions of its own, from several starts. What it finds is one team for all questions, the **best constant
# team**, and a lower bound of what there is. So learning can be measured as a share of the way: from the
# random policy to that team, and from the decision LLM alone to it. If random is worth 0.76, the best constant
# team 0.88 and a policy 0.85, it has gone (0.85 − 0.76) / (0.88 − 0.76) = 75 % of the way.
#
# Here the policy is trained anew on more and more questions, each asked G times, and judged on 2,000 held-out
# questions. Rollouts are replayed on answers instead of texts, by the same rules. Beside it stand its own
# untrained prior, a *constant* policy from the same rollouts (the learner without the question), and the update
# of the published code. `hieramas bench learning` prints the same table for five worlds, two seeds each, and
# 1,152 questions.

# %%
if not replayed:
    print("left out: the best team is searched for on knowledge with the simulated pool only")
curves = [
    curve_in(
        world,
        config.curve_sizes,
        group=config.group,
        difficulty=config.difficulty,
        decision=config.decision,
    )
    for world in tqdm(config.curve_worlds if replayed else [], file=sys.stdout)
]

# %%
extra_tables = tables_of_curves(curves)
worlds = f"Worlds {', '.join(map(str, config.curve_worlds))} ({setting.text}): "
told = {"optimum": "anchors.", "learning": "shares of the way to the best constant team."}
for name, frame in extra_tables.items():
    run.save_table(frame, name, worlds + told[name], simulated=True)
presentable(extra_tables.get("optimum", pd.DataFrame()))

# %% [markdown]
# Now the trainings. *From random* and *from alone* are the two shares, *gain* is utility over the own prior. A
# share over 1 is possible: the best constant team does not look at the question, and a policy does. With one world
# and one training a row has no interval, and the order of two rows may be luck.

# %%
presentable(extra_tables.get("learning", pd.DataFrame()))

# %% [markdown]
# ## What we saw
#
# The comparison that counts is paired: same world, same questions. With several seeds there is one
# difference a seed and an interval over seeds; with one seed, an interval over its questions.

# %%
gains = gains_of(records, TRAINED)
compared = gain_table(gains)
over = "seeds" if len(config.seeds) > 1 else "questions"
caption = (
    f"Utility of the trained policy minus that of another ({setting.text}), "
    f"with 95 % intervals over {over}."
)
run.save_table(compared, "gains", caption, simulated=setting.simulated)
presentable(compared)

# %%
half = (compared["gain_high"] - compared["gain_low"]).max() / 2
conclusions = [
    *gain_sentences("The trained policy", gains),
    f"{setting.text[0].upper()}{setting.text[1:]}; {len(test)} questions, seeds: {len(config.seeds)}; "
    f"differences below about {half:.2f} cannot be told from chance here.",
    kept_sentence(traces),
    *([match_sentence(sensitivities)] if replayed else []),
    *way_sentences(curves),
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. In the case checked by hand, from which α on is the Critic's credit negative? Work it out as
#    R_final / (R_final − R_node), set `my_alpha`, and run the cell.
# 2. Set `credit` to `final_only` and run again. Do the curves differ by more than the band?
# 3. Set `passes` to 1. How far is the trained policy from its prior with a quarter of the rollouts?
#
# **With real models.** Set `pool` to the path of a pool file, `decision` to one of its LLMs, and
# `budget_usd` to what you are willing to spend. For each seed, 72 questions × 4 passes × 4 rollouts are
# 1,152 rollouts of up to 25 calls, and 100 test questions are answered in five ways. Start with
# `seeds = [0]`, `passes = 1` and `group = 2`. The match is not tested and the best team not searched then: both
# need to look into the world. Every call goes through the call store, so a run that was stopped, or a second one
# with another `alpha`, pays for no answer twice.

# %%
my_alpha = None  # such as 0.25
threshold = final / (final - nodes["Critic"])
answer = "not answered yet" if my_alpha is None else abs(my_alpha - threshold) < 0.01
print("exercise 1:", answer)

# %%
figures = ["learning_curve", "positions", "training", "selection", "anchors"]
tables = ["anchors", "gains", *extra_tables, *(["match"] if replayed else [])]
print(run.finish(rows=planned, figures=figures, tables=tables))
