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
# four tables. About a minute. Offline and free; the LLMs are **simulated**.

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
from dataclasses import replace

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import (
    Benchmark,
    check_plan,
    held_out,
    open_benchmark,
    setting_of,
)
from hieramas_lib.experiments.effects.effect_plots import effect_points
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.method_table import check_methods, make_method
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.robustness import CLEAN, drop_table, robustness_records
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import Interval
from hieramas_lib.experiments.tables import comparison_table, presentable
from hieramas_lib.llms.faulty_service import Fault, FaultyService

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
# A service in front of the LLMs exchanges the texts of one member while a fault acts, and does nothing
# otherwise. Here is what becomes of one answer.


# %%
def open_world(seed: int) -> Benchmark:
    """Open a new world, with LLMs of which one can be made to go wrong."""
    world = open_benchmark(
        config.benchmark,
        pool=config.pool,
        budget_usd=config.budget_usd,
        difficulty=config.difficulty,
        seed=seed,
        graphs=config.graphs,
        width=config.width,
        decision=config.decision,
    )
    llms = FaultyService(world.llms, (*world.train, *world.val, *world.test))
    run.watch(llms)
    return replace(world, llms=llms)


world = open_world(config.seeds[0])
task, member = world.test[0], make_method("CoT", world, seed=0, llm=config.strongest)
print("as it is:", repr((await member.answer(task)).answer))
for kind in config.faults:
    with world.llms.fault(Fault(kind, {task.id: "Assistant"})):
        print(f"{kind}:", repr((await member.answer(task)).answer))

# %% [markdown]
# ## Train cleanly, then let one go wrong
#
# Every method is trained without any fault. Then it answers the test questions as it is, and once more
# with each of the faults. Whoever goes wrong on a question is the same in all of them.


# %%
tasks = held_out(config.benchmark)[: config.tests or None]
frames = []
plan = [(seed, name) for seed in config.seeds for name in config.methods]
for seed, name in tqdm(plan, desc="seeds x methods", file=sys.stdout):
    world = open_world(seed)
    method = make_method(name, world, seed=seed, llm=config.strongest)
    await method.fit(world.train, world.val)
    frames.append(await robustness_records(method, world.llms, tasks, config.faults, seed=seed))
records = pd.concat(frames, ignore_index=True)
planned = len(config.seeds) * len(config.methods) * len(tasks) * (1 + len(config.faults))
print(f"{planned:,} answers")

# %%
clean = comparison_table(records[records["fault"] == CLEAN])
run.save_metrics(clean)
run.save_table(
    clean,
    "clean",
    f"All members as they are: {config.benchmark}, {setting.text}; seeds: {len(config.seeds)}.",
    simulated=setting.simulated,
)
presentable(clean)

# %% [markdown]
# The drop is the difference on the same questions, faulty minus clean; *exposed* is the share of
# questions on which there was a member to go wrong (a router that asks a single LLM has none, which is
# one way to be robust).

# %%
drops = drop_table(records)
shown = ["method", "fault", "n", "seeds", "accuracy", "accuracy_gain", "exposed"]
columns = [name for name in drops if name.removesuffix("_low").removesuffix("_high") in shown]
run.save_table(
    drops[columns],
    "drops",
    f"One faulty member: {config.benchmark}, {setting.text}; seeds: {len(config.seeds)}. Drops are "
    "paired differences with bootstrap intervals over questions.",
    simulated=setting.simulated,
)
presentable(drops[columns])

# %%
points = drops.rename(columns={"method": "row", "fault": "series"})
save_figure(
    run,
    effect_points(
        points.assign(panel=f"{config.benchmark}, {setting.text}"),
        "accuracy_gain",
        xlabel="accuracy with one faulty member, minus without (points)",
        scale=100,
    ),
    "drops",
    caption=f"Drop in accuracy by one faulty member. Seeds: {len(config.seeds)}; 95 % intervals over "
    f"{len(tasks)} questions.",
    simulated=setting.simulated,
    alt="Points with intervals left of a zero line, a row for each method and a marker for each fault.",
)

# %% [markdown]
# ## Does Agent Q-Mix learn not to listen?
#
# Agent Q-Mix can cut a member off: in each round every agent chooses where its messages go, and sees
# how far the answers of the round before agree. Two policies are compared. One was trained cleanly. The
# other was trained while the *first* agent went wrong on every question, so that it could learn that
# this one is not to be heard. Then both answer with the first agent going wrong. *Sent* is the number
# of messages per question that the graphs let the first agent send to another agent; the decision
# reads every agent's last text in any case, so that part of the harm can't be cut.


# %%
async def trained(seed: int, faulty: bool) -> pd.DataFrame:
    """Train Agent Q-Mix, with a faulty first agent or without, and return its records."""
    world = open_world(seed)
    system = make_method("Agent Q-Mix", world, seed=seed, llm=config.strongest)
    first = system.agents.cast.roles.names[0]
    if faulty:
        always = Fault(config.trained_with, dict.fromkeys((t.id for t in world.train), first))
        with world.llms.fault(always):
            await system.fit(world.train, world.val)
    else:
        await system.fit(world.train, world.val)
    system.name = f"trained {'with a faulty' if faulty else 'with a sound'} first agent"
    kinds = [config.trained_with]
    return await robustness_records(system, world.llms, tasks, kinds, seed=seed, member=first)


# %%
cases = [(seed, faulty) for seed in config.seeds for faulty in (False, True)]
cut = pd.concat(
    [await trained(*case) for case in tqdm(cases, desc="seeds x trainings", file=sys.stdout)],
    ignore_index=True,
)
run.save_records(pd.concat([records.assign(part="methods"), cut.assign(part="trainings")]))
planned += len(cases) * len(tasks) * 2
cuts = drop_table(cut)
run.save_table(
    cuts,
    "cuts",
    f"Agent Q-Mix with its first agent going wrong ({config.trained_with}) after two trainings. Sent: "
    f"messages of that agent per question in the clean run. {setting.text}; seeds: "
    f"{len(config.seeds)}.",
    simulated=setting.simulated,
)
presentable(cuts)

# %%
by_training = cut.groupby(["method", "fault", "seed"], sort=False)["sent"].mean().reset_index()
by_training["now"] = by_training["fault"].where(by_training["fault"] != CLEAN, "sound")
sent = by_training.pivot_table(index="seed", columns=["method", "now"], values="sent", sort=False)
sent.round(2)

# %%
from hieramas_lib.experiments.effects.seed_tables import over_seeds

shares = over_seeds(by_training, ["method", "now"], ["sent"])
save_figure(
    run,
    effect_points(
        shares.rename(columns={"method": "row", "now": "series"}).assign(panel="first agent"),
        "sent",
        xlabel="messages of the first agent to other agents, per question",
        zero=False,
    ),
    "sent",
    caption="How many messages the learned graphs let the first agent send, when it is sound and when "
    f"it goes wrong ({config.trained_with}). Means of {len(config.seeds)} seeds with 95 % intervals "
    f"over seeds; {setting.text}.",
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
def drop_of(row: pd.Series) -> str:
    """Name a method with its drop in points."""
    ends = (row.accuracy_gain, row.accuracy_gain_low, row.accuracy_gain_high)
    return f"{row.method} {100 * ends[0]:.1f} [{100 * ends[1]:.1f}, {100 * ends[2]:.1f}]"


conclusions = []
for fault, rows in drops.groupby("fault", sort=False):
    ordered = rows.sort_values("accuracy_gain", ascending=False)
    conclusions.append(
        f"One member gives {fault} texts ({config.benchmark}, {setting.text}), change in points: "
        + "; ".join(drop_of(row) for _, row in ordered.iterrows())
        + "."
    )
for _, row in cuts.iterrows():
    change = Interval(row.sent_gain, row.sent_gain_low, row.sent_gain_high)
    fewer = "fewer" if change.high < 0 else "more" if change.low > 0 else "neither more nor fewer"
    conclusions.append(
        f"Agent Q-Mix {row.method}: {row.sent:.2f} messages of that agent when it is sound; when it "
        f"goes wrong {fewer} ({change})."
    )
apart = sent.xs(config.trained_with, axis=1, level="now")
before, after = apart.columns
conclusions.append(
    f"With the first agent going wrong, the policy trained with it lets it send "
    f"{apart[after].mean():.2f} messages, the other {apart[before].mean():.2f} (means of "
    f"{len(config.seeds)} seeds)."
)
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
print(
    run.finish(
        rows=planned, figures=["drops", "sent"], tables=["clean", "drops", "cuts", "published"]
    )
)
