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
# # 01 · One question through a team
#
# **Question.** What happens, call by call, when a team of LLMs answers a question: who is asked what, who
# reads whom, what does it cost, and how long does it take?
#
# Everything later in this collection chooses *which* team answers *which* question. To follow that, one has
# to have seen one team at work. So we build a team by hand, let it answer, and read everything that was
# said.
#
# The same team runs twice: on the **simulated** pool, and on a **real** small LLM in this process
# (SmolLM2-135M-Instruct, if `make run` fetched it). The two are never mixed in one table.
#
# Reads: shipped questions. Writes: one run folder with a figure and two to four tables. About 40 seconds
# with the real model, 5 without. Offline, free.

# %% [markdown]
# ## The words
#
# They are those of the HieraMAS paper (arXiv 2602.20229).
#
# * A **role** is a job on the team with an instruction of its own, such as *Critic* or *Doctor*. It says
#   what to look at, not which LLM does it.
# * A **supernode** is a role with LLMs in its positions. Some **proposers** answer independently; they do
#   not see each other. Then one **synthesizer** reads their proposals and writes the *one* message of the
#   role. An empty position is called *SKIP*. Without a synthesizer the role is *pruned*: it neither acts
#   nor costs. What a role without proposers does, the paper leaves open; here its synthesizer answers
#   alone, like a plain agent.
# * A **topology** (or graph) says which role reads the message of which other. It has no cycles, so there
#   is an order in which everybody has read before they speak.
# * The **decision** is one more LLM without a role. It reads the roles' messages and gives the answer. This
#   answer is the team's, right or wrong.
#
# In symbols, for a question $q$ and a role $v$ with $W_v$ proposers:
#
# $$m_v = \text{Synth}_v\bigl(q,\ \{m_u : u \to v\},\ p_1, \dots, p_{W_v}\bigr), \qquad
# p_i = \text{Prop}_{v,i}\bigl(q,\ \{m_u : u \to v\}\bigr)$$
#
# where $m_v$ is the message of role $v$, $p_i$ its $i$-th proposal, and $u \to v$ an edge: $v$ reads $u$.
# The answer is Decide$(q, \{m_v\})$. So a team makes $1 + \sum_v (W_v + 1)$ calls, summed over the roles
# that act. For a role with two proposers and two roles with none that is 1 + 3 + 1 + 1 = **6 calls** where
# one LLM alone would make a single one. Five more calls have to earn their price: that is the question of
# the whole collection.

# %% tags=["parameters"]
question = "knowledge/medicine/13"  # shown in full, call by call
more_questions = ["knowledge/nutrition/06", "knowledge/astronomy/01"]  # asked as well
difficulty = "mmlu-like"  # simulated world, mmlu-like or hard
seed = 0  # of the simulated world
proposer_llms = ["qwen3-8b", "gemma-3-27b"]  # LLMs of the two proposers
synthesizer_llm = "gpt-4o-mini"  # LLM of the synthesizers
decision_llm = "gpt-5-mini"  # LLM of the decision

# %%
from IPython.display import Markdown, display

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topology
from hieramas_lib.experiments.rollout_tables import PromptLog, answer_table, ledger, transcript
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.single_questions import (
    find_questions,
    hand_made_team,
    simulated_llms,
)
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.paths import data_path
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.roles import load_roles

run = start_notebook("01_quickstart", globals())
config = run.config
print(run)

# %% [markdown]
# ## The price of a call, by hand
#
# Prices are per million tokens, apart for reading (prompt) and writing (completion). GPT-5-mini costs 0.25
# and 2.00 dollars: a call that reads 400 tokens and writes 450 costs (400 · 0.25 + 450 · 2.00) / 1,000,000
# = **0.001 dollars**. That is our unit of cost, the *reference call*. A team that costs "1.5" costs as much
# as one and a half such calls. The unit makes results from different days comparable: when all prices fall
# by half, dollars change and ratios do not.
#
# Two things follow from the formula. Writing is dearer than reading, for GPT-5-mini eight times, so a wordy
# LLM is a dear one, and thoughts that nobody sees are billed as writing. And every message is paid for
# again by each of its readers, as part of their prompts.

# %%
tasks = find_questions("knowledge", question=config.question, more_questions=config.more_questions)
llms = run.watch(simulated_llms("knowledge", config.difficulty, config.seed))
price = llms.pool["gpt-5-mini"].cost(400, 450)
print(f"${price:.6f}; the pool's reference call: ${llms.pool.reference_cost:.6f}")

# %% [markdown]
# ## The team
#
# Eight roles are declared for multiple-choice questions. We keep three and prune the others. The Doctor has
# two proposers; the Knowledgeable Expert and the Critic have none. The Critic reads the other two: a critic
# who has read nobody has nothing to criticise.
#
# **How to read the figure.** Time runs from left to right. The two roles on the left read nobody, and so
# can start at once and side by side. The Critic has to wait for both. What is dashed and grey does not act.
# The decision is not drawn: it reads all three roles. If the arrows were turned round, the Critic would
# speak first, and the others would read an opinion on nothing.

# %%
roles = load_roles("choice")
edges = [("Knowledgeable Expert", "Critic"), ("Doctor", "Critic")]
proposers = {"Knowledgeable Expert": [], "Critic": [], "Doctor": config.proposer_llms}
team = hand_made_team(
    roles, proposers, edges, synthesizer=config.synthesizer_llm, decision=config.decision_llm
)
save_figure(
    run,
    draw_topology(
        team.topology, roles.names, pruned=[r for r in roles.names if r not in proposers]
    ),
    "team",
    caption="The team: the Critic reads the Doctor and the Knowledgeable Expert; five roles are pruned.",
    simulated=False,
    alt="Three connected roles, an arrow from each of two into the Critic; five pruned roles apart.",
)

# %% [markdown]
# ## On the simulated pool
#
# A simulated LLM reads the prompt as text, and answers in text. What it knows is drawn at random, by
# targets that are calibrated on real LLMs. So the *mechanics* below are real, and the *knowledge* is made
# up: do not conclude from it which model is good at medicine.
#
# Grading reads the letter from the final text and compares it with the key. The *requested* edges are those
# of the graph. The *delivered* ones were found in the prompts that went out. The two differ when a role's
# call fails, or comes back empty: then its readers get nothing, and the record says so, instead of
# crediting an edge along which nothing went.

# %%
log = PromptLog(llms)  # answers as the pool does, and keeps the prompts
rollouts = [await run_team(team, task, log, grade_nodes=True) for task in tasks]
task, rollout = tasks[0], rollouts[0]
print(task.statement)
print(f"\nanswer {rollout.grade.extracted}, gold {task.gold}: {rollout.grade.status}")
print("edges requested:", rollout.requested_edges)
print("edges delivered:", rollout.delivered_edges)

# %% [markdown]
# **The prompt.** Here is, word for word, what the Doctor's synthesizer was sent. Chat LLMs get a list of
# messages: *system* tells them who they are, *user* what to do now.
#
# In the system message, three header lines name role, position and style; then come the role's own
# instruction, the instruction of the position, and how an answer is to be given (this last line is what
# makes it readable for grading). In the user message each thing to read stands between tags. `<task>` is
# the question; `<proposal from="1">` is what a proposer wrote, with a number in place of the LLM's name; a
# message of another role would stand in `<message from="...">`. The Doctor reads no other role, so there is
# none here. The prompt is all that an LLM knows: it has no memory of earlier calls, and no idea of the
# graph.

# %%
doctor = next(
    call for call in rollout.calls if call.role == "Doctor" and call.position != "proposer"
)
print(log.prompt(doctor))

# %% [markdown]
# **The transcript.** Every reply, in the order of the declared roles, which is not that of time. Read it
# against the graph: the Doctor's synthesizer saw both proposals above; the Critic saw the messages of the
# two roles it reads, but not the proposals behind them; the decision saw three messages.
#
# In each reply, look at the last line first: the letter is all that grading and (simulated) readers go by.
# Do two members disagree? Then somebody along the way changed their mind, and the step at which the answer
# turned is the one to look at. If everybody agrees from the start, as on an easy question, the team was a
# waste: any one of them would have done.

# %%
display(Markdown(transcript(rollout)))

# %% [markdown]
# **The ledger.** Cost travels with each call, so the sum over calls is the cost of the question. Check one
# line: a synthesizer that is GPT-4o-mini (0.15 and 0.60 dollars a million), reads 250 tokens and writes
# 187, costs (250 · 0.15 + 187 · 0.60) / 1,000,000 = 0.00015 dollars. Then compare lines. A decision by a
# dear LLM can cost about as much as all the others together, and a proposer that is a small open model
# hardly shows. That is why a policy that may put any LLM anywhere has something to save.
#
# The time of the whole is not the sum: proposers work at the same time, and so do roles that do not read
# each other. Only the longest path counts. By hand, with a team like ours: the Expert takes 5 seconds, the
# Doctor's proposers 4 and 3, the Doctor's synthesizer 3, the Critic 5 and the decision 5. In sum that is 25
# seconds, but the answer is there after max(5, max(4, 3) + 3) + 5 + 5 = **17**. More edges make a path
# longer; more proposers hardly do.

# %%
calls = ledger(rollout)
run.save_table(
    calls, "ledger_simulated", f"Calls for {task.id} on the simulated pool.", simulated=True
)
print(f"cost ${rollout.usage.cost_usd:.5f} = ${calls['call_usd'].sum():.5f}, the sum over calls")
print(f"time {rollout.latency_s:.1f} s on the longest path, {calls['seconds'].sum():.1f} s in sum")
presentable(calls)

# %% [markdown]
# ## The same team on a real LLM
#
# SmolLM2-135M-Instruct has 135 million parameters and runs in this process on one core. It is tiny: it
# cannot reason in steps, and letters mean nothing to it. So its pool file shows it three examples and the
# bare question with what teammates chose, and the role set holds it to the option texts (`constrained`):
# each position answers with exactly one of them. Asked so, it was right on 27 of 46 of our easier questions
# (`make run-local`). What is real is everything else, too: prompts, messages, tokens and seconds. (One core
# answers one call at a time, so the calls' seconds add up here; the ledger's longest path is for LLMs that
# answer side by side.)
#
# One model in every position is a poor team, and that is worth seeing. Members who are one and the same
# make the same mistakes, and agree on them. When you read the replies, ask whether anybody ever contradicts
# anybody. A team can only gain where its members err on *different* questions; notebook 03 measures that.
#
# If the file is not there, this section says so and shows nothing. No simulated answer takes its place.

# %%
local_pool = load_pool(data_path("pools", "local.yaml"))
real = local_pool.llms[0].name
real_team = hand_made_team(
    roles.model_copy(update={"constrained": True}),
    proposers | {"Doctor": [real, real]},
    edges,
    synthesizer=real,
    decision=real,
)
try:
    local = run.watch(connect(local_pool))
except ConfigError as error:
    print("The real LLM is not here, so this section shows nothing.", error, sep="\n")
    real_rollouts = []
else:
    real_rollouts = [await run_team(real_team, task, local, grade_nodes=True) for task in tasks]
    display(Markdown(transcript(real_rollouts[0])))

# %%
tables = ["ledger_simulated", "simulated"]
if real_rollouts:
    calls = ledger(real_rollouts[0])
    caption = f"Calls for {tasks[0].id} on {real}."
    run.save_table(calls, "ledger_local", caption, simulated=False)
    real_table = answer_table(real_rollouts, tasks)
    run.save_table(real_table, "local", f"The same team on {real}, a real LLM.", simulated=False)
    tables += ["ledger_local", "local"]
    display(presentable(calls), presentable(real_table))

# %% [markdown]
# ## What we saw
#
# All questions through the simulated team, one a row. Three questions say nothing about how good a team is:
# right on 3 of 3 is compatible with a team that is right on 40 of 100. (A team that is right with
# probability 0.4 gets three of three right in 0.4³ = 6 % of tries.) What three questions *can* show is how
# a team works and what it costs, and that is all that is claimed here.

# %%
table = answer_table(rollouts, tasks)
run.save_table(table, "simulated", "The team on the simulated pool.", simulated=True)
run.save_metrics(table)
presentable(table)

# %%
agree = rollout.requested_edges == rollout.delivered_edges
conclusions = [
    f"Simulated pool: {sum(r.grade.correct for r in rollouts)} of {len(tasks)} right, "
    f"${table['cost_usd'].sum():.4f} at list prices.",
    f"Requested and delivered edges are the same: {'yes.' if agree else 'NO.'}",
    "The real LLM was declined (LOCAL=0) or is missing: nothing is shown for it.",
]
if real_rollouts:
    right = sum(r.grade.correct for r in real_rollouts)
    seconds = real_table["seconds"].sum()
    conclusions[-1] = (
        f"{real} (real): {right} of {len(tasks)} right, {seconds:.0f} s, nothing paid."
    )
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. How many calls would the team make if all three roles had two proposers? Set `my_calls`.
# 2. Let the Doctor read the Critic as well (add the edge to `edges`) and run again. What does the message
#    say, and why must it?
# 3. Put a weak LLM into `decision_llm`. Is the answer still right, and what did that save?
# 4. Print the prompt of the decision, too. How much of what it reads was written by the team, and who paid
#    for that text a second time?
#
# **With your own LLM.** Write a pool file as the README shows, set the LLM names above to its names, and
# pass `connect(load_pool(path), budget=Budget(usd=1.0))` to `run_team` instead of `llms`. Two things will
# look different: replies are real arguments, worth reading to the end, and now and then one of them has no
# last line to read a letter from. It is then `unparsed`, and counts as wrong.

# %%
my_calls = None  # such as 5
doubled = sum(2 + 1 for role in proposers) + 1
print("exercise 1:", "not answered yet" if my_calls is None else my_calls == doubled)

# %%
print(run.finish(figures=["team"], tables=tables))
