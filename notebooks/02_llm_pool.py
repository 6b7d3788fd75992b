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
# # 02 · The LLM pool: who is in it, what a call costs, and how money is booked
#
# **Question.** Which LLMs may a team choose from, what does one call of each cost, and how can one
# trust the dollar column of every table in this collection?
#
# An experiment on LLMs spends money on every line of its loop, at several calls a second, some of them
# in parallel, some of them repeated, some of them never answered. People report three kinds of
# surprise: a bill that is higher than the ledger, a ledger that counts the same call several times,
# and a limit that was noticed after it was passed. This notebook shows the parts that are there
# against it, each first on an example that can be checked by hand:
#
# * **prices** are data, each with the day and the place it was read;
# * a **call store** writes every answered call down before it is used, and keeps two totals: *paid now*
#   and *as if nothing were cached*;
# * an **unknown price** makes a sum "at least", never cheaper;
# * a **budget** stops before a limit is passed, not after;
# * **slots** limit how many calls are under way at once.
#
# Then two looks at what the LLMs can do: the *simulated* ones by subject, and a *real* one of 135
# million parameters that runs in this process. Both are booked in one ledger, and are never mixed in
# one table.
#
# Reads: the pool files and the shipped questions. Writes: one run folder with three figures and six
# tables (four without the real LLM). About 40 seconds with the real LLM, 25 without. Offline, free.

# %% tags=["parameters"]
pool_file = "data/llm_pool.yaml"  # its prices are shown, and its twin is simulated
difficulty = "mmlu-like"  # simulated world, mmlu-like or hard
seed = 0  # of the simulated world
limit_usd = 0.01  # budget of the rehearsal
slots = [1, 4, 16]  # calls under way at once, in the timing
local = True  # whether to ask the real small LLM
local_questions = 6  # easy questions for it

# %%
import asyncio

import pandas as pd
from IPython.display import display

from hieramas_lib.errors import BudgetExceeded, ConfigError
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.llm_tables import ledger_table, price_table, slot_times
from hieramas_lib.experiments.mistakes import common_mistakes
from hieramas_lib.experiments.plots import selection_heatmap
from hieramas_lib.experiments.preference_plots import call_prices
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import wilson
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_summary import listing
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import USUAL_PROMPT_TOKENS, load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.methods.single import base, cot
from hieramas_lib.paths import ROOT, data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.prompts import alone_messages
from hieramas_lib.teams.roles import load_roles

# %%
run = start_notebook("02_llm_pool", globals())
config = run.config
if config.local_questions < 1 or min(config.slots, default=0) < 1:
    raise ConfigError("local_questions, slots: at least 1")
print(run)

# %% [markdown]
# ## One call, by hand
#
# A provider bills what a call reads (the *prompt*) and what it writes (the *completion*), at two
# prices per million tokens. Writing is the dearer part, mostly by a factor of two to twelve, and a
# reasoning model writes more than it shows: its hidden thoughts are billed as completion.
#
# Say that a call of GPT-5-mini, at 0.25 and 2.00 dollars, reads 400 tokens. Answering with a letter
# writes some 60 tokens, thinking step by step some 450:
#
# * answer only: (400 · 0.25 + 60 · 2.00) / 1,000,000 = (100 + 120) / 1,000,000 = **$0.00022**
# * step by step: (400 · 0.25 + 450 · 2.00) / 1,000,000 = (100 + 900) / 1,000,000 = **$0.00100**
#
# So a chain of thought costs four and a half times as much, and nine tenths of that is writing. The
# second number, a usual call of the dearest LLM, is the unit that all costs in this collection are
# also given in: the **reference call**. It does not change when prices do.

# %%
pool = load_pool(ROOT / config.pool_file)
for tokens in (60, 450):
    print(
        f"{tokens} tokens written: ${load_pool(data_path('llm_pool.yaml'))['gpt-5-mini'].cost(400, tokens):.5f}"
    )

# %% [markdown]
# ## The price list
#
# Prices change by month and by route. So each has a date and a source, and "approximate" is said where it
# is. Put your own provider's into the file before you trust a dollar: an experiment that was run with
# other prices can be priced anew from its tokens, which are stored with every call.

# %%
prices = price_table(pool)
caption = (
    "List prices in US dollars per million tokens, and what a usual call costs that reads "
    f"{USUAL_PROMPT_TOKENS} tokens: a short answer, and one with reasoning."
)
run.save_table(prices, "prices", caption, simulated=False)
presentable(prices)

# %%
save_figure(
    run,
    call_prices(prices),
    "prices",
    caption="What 1,000 usual calls of each LLM cost at the list prices of the pool file: an answer only "
    "(hollow), and a step-by-step one (filled).",
    simulated=False,
    alt="Two marks for each LLM on a logarithmic dollar scale, the dearest LLM on top.",
)

# %% [markdown]
# ## The ledger, by hand
#
# Four things happen to an empty call store:
#
# 1. a call of a paid LLM comes back and costs $0.001: written down, and used;
# 2. the same question is asked again: answered from the store (a **cache hit**), nothing goes out;
# 3. another call costs $0.002;
# 4. a call comes back from an LLM whose price nobody wrote into the pool file.
#
# Paid now is 0.001 + 0.002 = **$0.003**. Without the store the hit would have been paid, too: as if
# uncached, 0.001 · 2 + 0.002 = **$0.004**. Rewards and tables use the second, or a method would look
# cheap just because another one had asked the same before. And both are "at least", with one unpriced
# call: an unknown price is not 0.


# %%
def paid_call(store: CallStore, key: str, usd: float | None) -> None:
    """Write one answered call of a paid LLM into the store."""
    answer = Completion("B", "stop", 400, 450, usd, 1.5, cached=False, request_key=key)
    store.put(answer, name="some-llm", client="openai", model="some/llm", request="{}", paid=True)


by_hand = CallStore(experiment="by hand")
paid_call(by_hand, "first", 0.001)
print("the second time:", by_hand.get("first"))
paid_call(by_hand, "second", 0.002)
paid_call(by_hand, "third", None)
print("\n".join(listing(by_hand, "model")))

# %% [markdown]
# A hit needs the *same* request: the key is a hash of the client, the model, every message, the
# temperature, the token limit and the number of the repetition. Change one letter of a prompt and it is
# another call. (That is why prompts in this project hold nothing random: a random id in each prompt,
# as in the papers' code, makes a cache worthless.)

# %%
simulated = pool.simulated()
world_tasks = load_tasks("knowledge")
world = World(world_tasks, load_settings(config.difficulty), simulated, config.seed)
roles = load_roles("choice")
task = world_tasks[0]
favourite = simulated.reference
ask = ChatRequest(favourite, alone_messages(task, roles, "step by step"), temperature=0.2)
again = ChatRequest(favourite, alone_messages(task, roles, "step by step"), temperature=0.2)
warmer = ChatRequest(favourite, alone_messages(task, roles, "step by step"), temperature=0.3)
keys = [request.key("simulated", favourite) for request in (ask, again, warmer)]
print("same request, same key:", keys[0] == keys[1])
print("another temperature, same key:", keys[0] == keys[2])

# %% [markdown]
# ## A ledger of real size
#
# Every LLM of the pool answers all shipped knowledge questions alone, step by step: a few thousand
# calls, through one store. The LLMs are *simulated* (at list prices; nothing is paid), and the ledger
# books them as it would real ones. Then one LLM is asked everything a second time.

# %%
ledger = CallStore(keep_requests=False)
llms = run.watch(connect(simulated, store=ledger, world=world))
planned = len(simulated.names) * len(world_tasks)
frames = [
    await evaluate(cot(name, llms, roles, name=name), world_tasks, pool=simulated, seed=config.seed)
    for name in simulated.names
]
records = pd.concat(frames, ignore_index=True)
run.save_records(records)
asked_twice = await evaluate(cot(favourite, llms, roles), world_tasks, pool=simulated)
hits = llms.usage.hits

# %%
booked = ledger_table(ledger, simulated.names)
run.save_table(booked, "ledger_simulated", "The ledger of the simulated LLMs.", simulated=True)
run.save_metrics(booked)
print(f"{hits} hits: {favourite} was asked twice, and called once")
presentable(booked)

# %% [markdown]
# *Made* are the calls that went out, *hits* those answered from the ledger; the cost at list prices is
# that of both. The sum of a table's costs must be the ledger's, or something was counted twice or not at all;
# here it is checked, on thousands of calls that were under way side by side.

# %%
in_records = records["cost_usd"].sum() + asked_twice["cost_usd"].sum()
in_ledger = booked["as_if_usd"].sum()
balanced = abs(in_records - in_ledger) < 1e-9
print(f"records ${in_records:.6f}, ledger ${in_ledger:.6f}: {'equal' if balanced else 'NOT EQUAL'}")

# %% [markdown]
# ## A budget that stops in time
#
# A limit that is checked after a call is passed by that call, and by all others under way. So a call
# first *reserves* its worst case (every byte of the prompt a token, the longest answer allowed, all
# repeats that the provider's SDK may make), and does not go out if that could pass the limit. When it
# comes back, the rest of the reservation is free again. The price of the guarantee: near the limit a
# little is left unspent. Simulated calls count at list prices, so a paid run can be rehearsed.

# %%
budget = Budget(usd=config.limit_usd)
rehearsal = run.watch(connect(simulated, world=world, budget=budget))
try:
    await evaluate(cot(favourite, rehearsal, roles), world_tasks, pool=simulated)
    stopped = "the limit was not reached"
except BudgetExceeded as error:
    stopped = str(error)
print(stopped)
within = budget.spent_usd <= config.limit_usd
print(f"spent ${budget.spent_usd:.6f} of ${config.limit_usd:.6f} with 64 tasks under way")

# %% [markdown]
# What was answered before the stop is in the store: the same run, started again with a higher limit,
# pays for none of it a second time.
#
# The same service takes limits on calls, tokens and seconds, alone or together; the first that is reached
# stops the run. A limit in dollars needs a price for every LLM, and a pool that lacks one is refused before
# the first call: with an unknown price no promise in dollars can be kept. For calls that may have been
# billed without an answer (a time-out stops our waiting, not the provider's work), the worst case is charged.
#
# ## Slots: many calls at once
#
# LLMs are slow, and most of the time a program waits. With *n* slots, up to *n* calls of an LLM are
# under way at once; a provider's limit on calls a minute is another field of the pool file
# (`max_per_minute`). Here the simulated LLM really sleeps, a hundredth of the seconds it says it takes.
# By hand: 32 calls of 1 second take 32 s in one slot, 8 s in four, and 2 s in sixteen.

# %%
timing = await slot_times(world, simulated, roles, world_tasks[:32], config.slots)
presentable(timing)

# %% [markdown]
# Two identical requests under way share one call: five tasks that ask the same at the same moment pay
# once. Again the ledger shows it.

# %%
shared = run.watch(connect(simulated, world=world))
await asyncio.gather(*(shared.complete(ask) for _ in range(5)))
print(f"{shared.usage.calls} uses, {shared.usage.made} call made, {shared.usage.hits} hits")

# %% [markdown]
# ## What can they do? Ability by subject (simulated)
#
# How often each simulated LLM is right alone. With 20 questions in a subject, a cell of 80 % has a 95 %
# interval from 58 to 92 %: read rows and columns, not cells. The differences between subjects are drawn
# anew in each world; the overall levels follow targets that are quoted in `data/simulation`. What can be
# learned later by choosing LLMs lives in such differences.

# %%
print("16 of 20:", wilson(16, 20))
by_subject = records.pivot_table(index="subject", columns="method", values="correct", sort=False)
by_subject.index = by_subject.index.str.replace("_", " ")
by_subject.loc["all subjects"] = records.groupby("method")["correct"].mean()
save_figure(
    run,
    selection_heatmap(by_subject, of="right answers"),
    "ability",
    caption=f"Share of right answers alone, step by step, 20 questions a subject, seed {config.seed} "
    f"({config.difficulty} simulated world).",
    simulated=True,
    alt="Heat map of fourteen subjects and their mean by eight LLMs.",
)

# %% [markdown]
# ## Do they make the same mistakes?
#
# A second opinion helps if it is wrong elsewhere. By hand: two LLMs that are right on 80 % of 280
# questions, independently of each other, are both wrong on 0.2 · 0.2 · 280 = 11. If they are both wrong
# on 40, difficulty is shared. And where both are wrong on a four-choice question, they would agree on
# one of three wrong options in 33 % of the cases by chance; more means that the same wrong option tempts
# both, and that a vote of the two would be *confidently* wrong.
#
# This bounds what any team can do. If all members fall for the same option, no graph and no number of
# proposers helps; what helps is a member of another family, or one that *checks* instead of answering.

# %%
pairs = common_mistakes(records)
apart = pairs[pairs["first"] != pairs["second"]]
same = apart.pivot(index="first", columns="second", values="same")
order = sorted(simulated.names, key=lambda name: simulated[name].family)
save_figure(
    run,
    selection_heatmap(same.reindex(index=order, columns=order).fillna(0), of="common mistakes"),
    "mistakes",
    caption="Of the questions that both LLMs got wrong, the share on which both gave the same wrong answer, "
    f"LLMs of a family side by side; {apart['common'].min()} to {apart['common'].max()} common mistakes a "
    f"pair ({config.difficulty} simulated world). By chance: 33 %.",
    simulated=True,
    alt="Matrix of pairs of LLMs; the diagonal is left out.",
)
run.save_table(
    apart[apart["first"] < apart["second"]],
    "mistakes",
    "Common mistakes of every two LLMs, and how many were to be expected of independent ones.",
    simulated=True,
)

# %% [markdown]
# ## A real LLM
#
# All above was simulated. SmolLM2-135M-Instruct is real: a file of 98 MB that runs in this process,
# without key or network. It is tiny. It can't do sums or think in steps, and the letters of options mean
# nothing to it. So it is shown three examples and held to answer with one of the option texts
# (`constrained`). The questions are not picked by whether it knows the answer: they are the first of
# level 1 in each subject, subjects in alphabetical order.
#
# Six questions are too few for a number in a report (look at its interval below); they are enough to see
# that prompts, options, grading and ledger work with a model that nobody simulated.
#
# It is entered in the *same* ledger, at its list price of 0. But its rows stand in tables of their own:
# an answer that was thought up by a simulation and one that a model gave must never share an average.

# %%
easy = {t.subject: t for t in sorted(world_tasks, key=lambda t: t.id, reverse=True) if t.level == 1}
chosen = [easy[subject] for subject in sorted(easy)][: config.local_questions]
local_pool = load_pool(data_path("pools", "local.yaml"))
real = local_pool.reference
why_not = "" if config.local else "it was switched off (`local = False`)"
if config.local:
    try:
        local_llms = run.watch(connect(local_pool, store=ledger))
    except ConfigError as error:
        why_not = "it is not here: declined (LOCAL=0), or not fetched yet"
        print(error)
print(
    f"No real LLM is asked, as {why_not}" if why_not else f"{real} answers {len(chosen)} questions"
)

# %%
real_answers = None
if not why_not:
    held = roles.model_copy(update={"constrained": True})
    real_answers = await evaluate(base(real, local_llms, held), chosen, pool=local_pool, slots=1)
    shown = real_answers[["task_id", "extracted", "status", "prompt_tokens"]]
    shown = shown.assign(gold=[t.gold for t in chosen], seconds=real_answers["latency_s"])
    run.save_table(shown, "local", f"Answers of {real}, a real LLM.", simulated=False)
    run.save_table(
        ledger_table(ledger, local_pool.names),
        "ledger_local",
        "The ledger of the real LLM.",
        simulated=False,
    )
    display(presentable(shown), presentable(ledger_table(ledger, local_pool.names)))

# %% [markdown]
# ## What we saw

# %%
dear, cheap = prices.iloc[0], prices.iloc[-1]
alone = records.groupby("method")["correct"].mean()
more = (apart["common"] / apart["expected"]).median()
conclusions = [
    f"A usual call of {dear['llm']} costs {dear['reasoned_usd'] / cheap['reasoned_usd']:.0f} times as much "
    f"as one of {cheap['llm']}, at prices of {min(prices['date'])} to {max(prices['date'])}.",
    f"Records and ledger {'agree' if balanced else 'DISAGREE'} on ${in_ledger:.4f} for "
    f"{booked['made'].sum():,} calls and {booked['hits'].sum():,} hits; nothing was paid.",
    f"The budget of ${config.limit_usd} {'held' if within else 'did NOT hold'}: ${budget.spent_usd:.5f} spent.",
    f"Simulated ({config.difficulty}): from {alone.min():.0%} ({alone.idxmin()}) to {alone.max():.0%} "
    f"({alone.idxmax()}) right alone; pairs share {more:.1f} times as many mistakes as independent ones "
    f"would (median), and {apart['same'].median():.0%} of those are the same wrong answer.",
]
if real_answers is None:
    conclusions.append(f"No real LLM was asked, as {why_not}.")
else:
    right = wilson(real_answers["correct"].sum(), len(chosen))
    conclusions.append(
        f"{real} (real) was right on {real_answers['correct'].sum()} of {len(chosen)} easy questions, a "
        f"share of {right}, in {real_answers['latency_s'].sum():.0f} s, nothing paid. Guessing: 0.250."
    )
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. An LLM costs 0.10 dollars per million tokens read and 0.50 written. A call reads 2,000 tokens and
#    writes 400. What does it cost? Set `my_cost` and run the cell.
# 2. A call fails at its first attempt by a timeout, and is answered at the second. What should a
#    cautious budget charge? (Read `Budget.settle`, and say why it is more than one call.)
# 3. Set `limit_usd` to 0.001. How many calls are made, and why is the limit not used up?
# 4. Set `difficulty` to `hard`. Do the LLMs share more mistakes, or fewer?
#
# **With a real pool.** Copy `data/llm_pool.yaml`, put in your models and their prices *with the date*,
# and set the key's environment variable. `hieramas doctor` calls each once, for at most five cents. In
# other notebooks, set `pool` to the file and `budget_usd` to a limit; `hieramas calls` prints the ledger of
# all runs, with what may have been billed without an answer. Here, set `pool_file` to see its prices:
# its answers stay simulated, so that this notebook never costs anything.

# %%
my_cost = None  # such as 0.001
answer = (
    "not answered yet" if my_cost is None else abs(my_cost - (2000 * 0.1 + 400 * 0.5) / 1e6) < 1e-9
)
print("exercise 1:", answer)

# %%
tables = ["prices", "ledger_simulated", "mistakes"]
if real_answers is not None:
    tables += ["local", "ledger_local"]
print(run.finish(rows=planned, figures=["prices", "ability", "mistakes"], tables=tables))
