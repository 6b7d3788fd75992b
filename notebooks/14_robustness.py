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
# # 14 · Robustness: what does one faulty member cost?
#
# **Question.** One member of a team goes wrong: it gives wrong answers with confidence, refuses, or
# writes noise. How much accuracy does each way to work together lose, and does a policy that chooses
# who reads whom (Agent Q-Mix, notebook 13) learn not to listen?
#
# **Why ask.** The Agent Q-Mix paper reports a drop of 2.9 points on MMLU-Pro for its method with one
# adversarial agent, and 8.6 to 10 for others. One question of 70 is 1.4 points there, so 2.9 points are
# two questions, and no interval is given. In the code that was published with it no agent ever reads
# another one's text, and nothing runs the adversary (`docs/methods/agent_qmix.md`). So the experiment
# is made here as one would wish it: on the same questions, with and without the fault, with intervals.
#
# * **wrong**: the member gives one and the same tempting wrong answer, whatever it reads.
# * **refusal**: it refuses. Nobody can read a refusal, so its message is missing.
# * **noise**: it writes words of the question in a senseless order, and no answer.
#
# Its call is made and paid for as ever, only the text that the others read is exchanged. Who goes
# wrong is drawn for each question among the members that acted on it. A *member* is a role: where a
# supernode of three LLMs fills it, all three go wrong together, which is hard on HieraMAS. The
# decision, and whoever alone has the last word, is spared: no method could survive that.
#
# Reads: one shipped benchmark and the simulated pool. Writes: one run folder with two figures and
# four tables. A minute and a half. Offline and free; the LLMs are **simulated**, and how easily they are swayed
# is a setting of their world (`data/simulation`): notebook 03 takes it away and shows what is left.

# %% tags=["parameters"]
benchmark = "knowledge"  # or maths, humaneval, or a benchmark.yaml path
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1, 2, 3, 4]  # one new world, training and draw of members for each
methods = ["SC", "LLM-Debate", "MoA", "Full-Graph", "MASRouter", "Agent Q-Mix", "HieraMAS"]  # rows
faults = ["wrong", "refusal"]  # in what way the member goes wrong, also noise
trained_with = "wrong"  # fault that is there in training already, second half
width = 2  # proposers of a supernode, W
graphs = 50  # size K of the graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer of a team
strongest = "gpt-5-mini"  # LLM of methods that have one only
tests = 0  # questions of the test split, 0 for all

# %%
import sys

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan, held_out, setting_of
from hieramas_lib.experiments.effects.effect_plots import effect_points
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.method_table import check_methods, make_method
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.robustness import CLEAN, drop_table
from hieramas_lib.experiments.robustness_study import (
    cut_sentences,
    drop_sentences,
    faulty_world,
    messages_sent,
    method_records,
    training_records,
)
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import comparison_table, presentable
from hieramas_lib.llms.faulty_service import Fault

# %%
run = start_notebook("14_robustness", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=[config.benchmark],
    seeds=config.seeds,
    llms={"decision": config.decision, "strongest": config.strongest},
    at_least_one={"width": config.width, "graphs": config.graphs, "tests": config.tests + 1},
)
check_methods(config.methods)
for kind in (*config.faults, config.trained_with):
    Fault(kind, {})  # an unknown kind is refused here, before anything is trained
print(run)

# %% [markdown]
# ## One vote of three, by hand
#
# Three members vote, each right with probability 0.8 and independently. The vote is right if at least
# two are: 0.8³ + 3 · 0.8² · 0.2 = 0.512 + 0.384 = **0.896**. Now the first of them always gives the
# same wrong answer. Then both others have to be right: 0.8² = **0.64** (where all three differ, the
# first counts, and that is the faulty one). If it refuses instead, two votes remain, a tie goes to
# the first of them, and the team is as good as one member: **0.8**. A wrong member costs 26 points
# here, a silent one 10.
#
# Real members make the *same* mistakes, so a vote gains less from the start, and loses less:

# %%
p = 0.8
print(f"three votes {p**3 + 3 * p**2 * (1 - p):.3f}, one wrong {p**2:.3f}, one silent {p:.3f}")

# %% [markdown]
# ## What the others read
#
# A service stands in front of the LLMs. While a fault acts, it lets every request through, books it, and
# exchanges the text that comes back, if the request was made in the faulty member's name. The call store
# keeps what the LLM really said, so a later clean run is not poisoned. Here is one answer, four times. Note
# that the wrong one *looks* like any other: whoever reads it has nothing but its content to go by.

# %%
world, llms = faulty_world(run, config.benchmark, config.seeds[0])
task, member = world.test[0], make_method("CoT", world, seed=0, llm=config.strongest)
print("as it is:", repr((await member.answer(task)).answer))
for kind in ("wrong", "refusal", "noise"):
    with llms.fault(Fault(kind, {task.id: "Assistant"})):
        print(f"{kind}:", repr((await member.answer(task)).answer))

# %% [markdown]
# ## Train cleanly, then let one go wrong
#
# Every method is trained without any fault. Then it answers the test questions as it is, and once more
# with each of the faults. Whoever goes wrong on a question is the same in all of them, so that the faults
# can be compared, too.
#
# **What is fair?** The member is drawn among those that *acted* in the clean run. A learned team that keeps
# two of eight roles so always has one of *two* go wrong, and a full graph one of eight: pruning saves money
# and costs redundancy. One may find that unfair to small teams. The other rule, drawing among all roles
# including those that were pruned, would flatter them: most of their members would be faulty without
# consequence. With votes (SC) one of five samples goes wrong; in a debate, one debater, in all rounds.

# %%
tasks = held_out(config.benchmark)[: config.tests or None]
about = {"run": run, "benchmark": config.benchmark, "tasks": tasks, "llm": config.strongest}
plan = [(seed, name) for seed in config.seeds for name in config.methods]
planned = len(plan) * len(tasks) * (1 + len(config.faults))
frames = [
    await method_records(name=name, kinds=config.faults, seed=seed, **about)
    for seed, name in tqdm(plan, desc="seeds x methods", file=sys.stdout)
]
records = pd.concat(frames, ignore_index=True)
print(f"{planned:,} answers")

# %% [markdown]
# First the clean run. Robustness is worth little to a method that is bad to begin with, and a high accuracy
# leaves more to lose: so drops are to be read beside this table.

# %%
where = f"{config.benchmark}, {setting.text}"
clean = comparison_table(records[records["fault"] == CLEAN])
caption = f"All members as they are: {where}; seeds: {len(config.seeds)}."
run.save_metrics(clean)
run.save_table(clean, "clean", caption, simulated=setting.simulated)
presentable(clean)

# %% [markdown]
# The drop is the difference on the same questions, faulty minus clean; *exposed* is the share of
# questions on which there was a member to go wrong (a router that asks a single LLM has none, which is
# one way to be robust).
#
# **How to read the figure.** Left of 0 is lost. Compare the markers of one row first: the gap between
# *wrong* and *refusal* is the price of being believed. A silent member is merely missing; a wrong one
# pulls others along, and the more texts a reader is given that agree, the more it is swayed. Then compare
# rows: a vote counts the faulty member once. In a team its text is read, repeated by whoever was swayed,
# and so counted several times. An interval that touches 0 does not show that a method is robust, only that
# the drop is too small for this number of questions.

# %%
drops = drop_table(records)
columns = [name for name in drops if not name.startswith("sent")]
caption = f"One faulty member: {where}; seeds: {len(config.seeds)}. Drops are paired differences."
run.save_table(drops[columns], "drops", caption, simulated=setting.simulated)
presentable(drops[columns])

# %%
save_figure(
    run,
    effect_points(
        drops.rename(columns={"method": "row", "fault": "series"}).assign(panel=where),
        "accuracy_gain",
        xlabel="accuracy with one faulty member, minus without (points)",
        scale=100,
    ),
    "drops",
    caption=f"Drop in accuracy by one faulty member. Seeds: {len(config.seeds)}; 95 % bootstrap "
    f"intervals over {len(tasks)} questions.",
    simulated=setting.simulated,
    alt="Points with intervals left of a zero line, a row a method and a marker a fault.",
)

# %% [markdown]
# ## Does Agent Q-Mix learn not to listen?
#
# Agent Q-Mix can cut a member off: in each round every agent chooses where its messages go and whom it
# asks, and sees how far the answers of the round before agree. Two policies are compared. One was trained
# cleanly. The other was trained while the *first* agent went wrong on every question, so that it could
# learn that this one is not to be heard. Then both answer with the first agent going wrong, and without.
#
# *Sent* is the number of messages per question that the graphs let the first agent send to other agents. Two
# things can lower it. **Reacting**: within a question, the others see that its answers differ from
# theirs, and stop asking. That would show as fewer messages when it is faulty than when it is sound. And
# **knowing**: training has taught that messages of the first agent do not help, whoever it is today. That
# would show as fewer messages after the second training, sound or faulty.
#
# There is a limit to both. The decision reads every agent's last text in any case, so a part of the harm
# can't be cut. And the first agent is one of those who choose: it may push its own text to others.

# %%
cases = [(seed, faulty) for seed in config.seeds for faulty in (False, True)]
planned += len(cases) * len(tasks) * 2
with_fault = {"kind": config.trained_with, **about}
frames = [
    await training_records(faulty=faulty, seed=seed, **with_fault)
    for seed, faulty in tqdm(cases, desc="seeds x trainings", file=sys.stdout)
]
trainings = pd.concat(frames, ignore_index=True)
run.save_records(pd.concat([records.assign(part="methods"), trainings.assign(part="trainings")]))

# %%
cuts, sent = drop_table(trainings), messages_sent(trainings)
caption = (
    f"Agent Q-Mix with its first agent going wrong ({config.trained_with}) after two trainings. Sent: "
    f"messages of that agent in the clean run. {where}; seeds: {len(config.seeds)}."
)
run.save_table(cuts, "cuts", caption, simulated=setting.simulated)
presentable(cuts)

# %% [markdown]
# The spread over seeds is the honest measure here: each seed is one policy in one world, and policies of
# different seeds can come to quite different habits, of which several are about equally good.

# %%
shares = over_seeds(sent, ["method", "state"], ["sent"]).assign(panel="first agent")
save_figure(
    run,
    effect_points(
        shares.rename(columns={"method": "row", "state": "series"}),
        "sent",
        xlabel="messages of the first agent to other agents, per question",
        zero=False,
    ),
    "sent",
    caption="How many messages the learned graphs let the first agent send, when it is sound and when "
    f"it goes wrong. Means of {len(config.seeds)} seeds, 95 % intervals over seeds; {where}.",
    simulated=setting.simulated,
    alt="Two rows, one a training, with a point for a sound and one for a faulty first agent.",
)

# %% [markdown]
# ## The paper's numbers
#
# Published figures of the Agent Q-Mix paper for one adversarial agent on MMLU-Pro (70 questions), on
# real LLMs. They stand here for orientation: our simulated results neither confirm nor refute them.

# %%
printed = published_table("qmix_one_faulty_agent")
run.save_table(printed.frame, "published", printed.caption, simulated=False)
presentable(printed.frame)

# %% [markdown]
# ## What we saw

# %%
conclusions = [*drop_sentences(drops, where), *cut_sentences(cuts, sent)]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## With real LLMs
#
# `-p pool=data/llm_pool.yaml -p budget_usd=5`, with `seeds=[0]`, `tests=30` and one or two methods: the
# faulty member's own calls are paid for, too. Faults are made by our code and not by a model that was
# asked to deceive: what a capable adversary would write is another and harder question.
#
# ## Exercises
#
# 1. Five members vote, each right with probability 0.8 and independently; one gives a wrong answer
#    that nobody else gives. At least three of the four others must be right for a majority of five. What
#    is the probability? Set `my_probability`.
# 2. Set `trained_with` to `refusal`. Why is there less to learn from a silent agent?
# 3. Give the first agent's place to another role with the setting `roles` of `QMixSettings`
#    (notebook 13). Does it matter who goes wrong?

# %%
my_probability = None  # such as 0.9
right = 0.8**4 + 4 * 0.8**3 * 0.2
answer = "not answered yet" if my_probability is None else abs(my_probability - right) < 0.005
print("exercise 1:", answer)

# %%
tables = ["clean", "drops", "cuts", "published"]
print(run.finish(rows=planned, figures=["drops", "sent"], tables=tables))
