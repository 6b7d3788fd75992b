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
# # 13 · Agent Q-Mix: can agents learn whom to talk to?
#
# **Question.** A few agents work on one question in rounds. Before a round each of them chooses, by
# itself, one of six *actions*: stay silent, tell everybody, ask everybody, pair up, and so on. The six
# actions together are the graph of that round: who reads whom. Agent Q-Mix (arXiv 2604.00344) learns
# these choices from one number, paid when the question is answered: right or wrong, minus a price
# for the tokens. Do the agents learn to talk where it helps, and to be quiet where it does not?
#
# Three ways to learn from one shared number are compared: **QMIX** (a monotone network mixes the
# agents' values into the team's), **VDN** (their sum) and **independent** learners. Beside them stand
# the policies that need no learning at all, or hardly any: random actions, all silent, all
# broadcasting, and the *best constant joint action*, estimated from the very episodes that QMIX learned
# from. A learner that does not beat the last one has learned no more than a habit; in the published
# runs, what was learned *is* a constant (424 of 424 test items got one and the same joint action).
#
# Reads: a shipped benchmark, or one of your own, and the simulated pool. Writes: one run folder with
# three figures and five tables. A minute and a half. Offline and free; the LLMs are **simulated**, so the
# numbers say whether the learner works, and nothing about the real models whose names they carry.

# %% tags=["parameters"]
benchmark = "knowledge"  # knowledge, maths, humaneval, or the path of a benchmark.yaml
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1, 2, 3, 4]  # one new world and one training of each learner for each
agents = 3  # number of agents, N
rounds = 3  # rounds in which all of them speak, T
agent_llms = ["gemma-3-27b", "qwen3-8b", "gpt-4o-mini"]  # LLMs of the agents, in turn
decision = "gemma-3-27b"  # LLM that gives the final answer
mode = "synchronous"  # rounds read texts of the round before, or of the same one: reference
w_acc = 1.0  # what a right answer is worth
w_tok = 0.1  # what 10,000 tokens cost
episodes = 240  # rollouts that each learner learns from
scripted_episodes = 480  # the same in the scripted world
tests = 0  # questions of the test split, 0 for all

# %%
import json
import sys

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan, held_out, setting_of
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.plots import learning_curve
from hieramas_lib.experiments.qmix import study
from hieramas_lib.experiments.qmix.mixing_toy import fit_table
from hieramas_lib.experiments.qmix.qmix_plots import action_bars, round_graphs
from hieramas_lib.experiments.qmix.talk import action_shares, edge_shares, talk_table
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import comparison_table, paired_table, presentable
from hieramas_lib.learning.qmix.actions import graph_of
from hieramas_lib.learning.qmix.settings import QMixReward, QMixSettings, TrainingSettings
from hieramas_lib.paths import data_path

# %%
run = start_notebook("13_agent_qmix", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=[config.benchmark],
    seeds=config.seeds,
    llms={"decision": config.decision}
    | {f"agent_llms, place {i}": llm for i, llm in enumerate(config.agent_llms, start=1)},
    at_least_one={"agents": config.agents, "rounds": config.rounds - 1},
)
print(run)

# %%
settings = QMixSettings(
    llms=tuple(config.agent_llms),
    agents=config.agents,
    rounds=config.rounds,
    mode=config.mode,
    reward=QMixReward(config.w_acc, config.w_tok),
    training=TrainingSettings(episodes=config.episodes),
)
scripted = QMixSettings(training=TrainingSettings(episodes=config.scripted_episodes))

# %% [markdown]
# ## From a joint action to a graph, by hand
#
# Take three agents, 0, 1 and 2. *Broadcast* sends to everybody, *aggregate* reads everybody,
# *selective* sends to the next agent (and from the last to the first), *execute* to the next one without
# that turn, *debate* both ways with the agent half the circle away, *solo* does nothing. If agent 0
# broadcasts and the others are silent, two messages travel: 0→1 and 0→2. If all three
# broadcast, six do. If agent 0 debates, the pair is 0 and (0 + ⌊3/2⌋) mod 3 = 1: 0→1 and 1→0.
#
# When do they travel? Here a round is **synchronous**: it reads what was written in the round
# before. So every requested edge is delivered, mutual edges included; the price is that the first
# round has nothing to read, and nothing to choose. (T = 3 rounds are two choices.) The published mapping
# (`mode = "reference"`) lets a round read its own texts instead; then cycles are impossible, and an edge
# that would close one is dropped, the earlier agent winning. All-broadcast shrinks to 0→1, 0→2, 1→2.
# The column *refused* shows what is lost. (Only the way back of a debate escapes that rule, and comes
# too *late* to be read in the round.)

# %%
examples = {
    "all solo": (0, 0, 0),
    "0 broadcasts": (1, 0, 0),
    "all broadcast": (1, 1, 1),
    "all selective": (2, 2, 2),
    "1 aggregates": (0, 3, 0),
    "0 debates": (5, 0, 0),
}


def arrows(edges: tuple[tuple[int, int], ...]) -> str:
    """Write edges as people do."""
    return ", ".join(f"{u}→{v}" for u, v in edges) or "none"


pd.DataFrame(
    [
        {
            "joint action": name,
            "synchronous": arrows(graph_of(joint).edges),
            "reference": arrows(graph_of(joint, "reference").edges),
            "refused": arrows(graph_of(joint, "reference").refused),
            "late": arrows(graph_of(joint, "reference").late),
        }
        for name, joint in examples.items()
    ]
)

# %% [markdown]
# ## What a mixer can represent, by hand
#
# Two agents have two actions each, and the team's payoff is a table. In the first table both must do
# "1" to earn 8; one alone earns 1. VDN must write it as a sum, row value + column value. Row means
# are 0.5 and 4.5, as are column means, and the grand mean is 2.5; the best sum is row + column −
# grand mean: −1.5, 2.5, 2.5, 6.5. It is off by **1.5** everywhere, although the order is right.
#
# QMIX may bend the sum, as long as more value for an agent is never less for the team. Here the
# payoff depends on the number of ones alone (0 → 0, 1 → 1, 2 → 8), which rises: a monotone network fits
# it exactly. The second table is not monotone: agent 0 should do "0" if agent 1 does (8 against −4) and
# "1" if agent 1 does (6 against −12). No monotone mixer can hold that. Averaging over what the other
# might do, agent 0 finds (8 − 12) / 2 = −2 for "0" and (−4 + 6) / 2 = 1 for "1"; agent 1 finds
# (8 − 4) / 2 = 2 and (−12 + 6) / 2 = −3. So they do "1" and "0", and earn **−4**. Such tables arise when
# actions conflict, as the edges of the `reference` mapping do, where an agent's request is dropped
# because of what another one did. What helps is to see more before choosing, not to mix better.

# %%
tables = {
    "monotone": [[0, 1], [1, 8]],
    "not monotone": [[8, -12], [-4, 6]],
}
forms = ("qmix", "vdn")
mixed = {(name, form): fit_table(t, form) for name, t in tables.items() for form in forms}
pd.DataFrame(
    [
        {
            "payoffs": f"{name}: {tables[name]}",
            "mixer": form,
            "fitted": found.values.round(1).tolist(),
            "largest error": round(found.error, 2),
            "greedy pair": found.greedy,
            "earns": tables[name][found.greedy[0]][found.greedy[1]],
        }
        for (name, form), found in mixed.items()
    ]
)

# %% [markdown]
# ## What an episode pays
#
# One number, after the last round: `w_acc` · right − `w_tok` · tokens / 10,000, with all tokens that
# were read and written. A right answer that took 6,000 tokens earns 1 − 0.1 · 0.6 = 0.94; a wrong one
# −0.06. Silence saves the readers' tokens only: N · T + 1 calls are made whatever is chosen, because
# every agent speaks in every round, and the decision LLM at the end. So a message of 30 tokens costs
# 0.0003: at the paper's price talk is nearly free, and the question is only whether it helps.
#
# What an agent sees when it chooses: a text vector of the question, how well its role matches it, its
# number, the round, whether it gave an answer, **how many others gave the same**, its tokens so
# far, and its place in the last graph. A graph network passes that along the edges, a recurrent unit
# remembers it, and a small network gives a value to each of the six actions. The weights are shared by all
# agents.
#
# How is one number, paid at the end, turned into advice for three agents and two rounds? The mixer is the
# answer to "which agent?": during training it sees everything and adjusts all agents' values at
# once, so that their mixture predicts the reward; at test it is gone, and each agent takes its own
# best action. That this is also best for the team, within what the mixer can represent, is what
# monotonicity is for. The answer to "which round?" is *temporal differences*: the last choice is held
# against the reward, an earlier one against what the situation it led to is worth, as a slowly moving copy
# of the networks sees it. The published code leaves the last choice out of the loss, so that no reward
# ever arrives, and never moves the copy; both are tests here.

# %%
rows_of = {"right, 6,000 tokens": (1, 6000), "wrong, 6,000 tokens": (0, 6000)}
pd.Series(
    {
        name: settings.reward.w_acc * right - settings.reward.w_tok * used / 10_000
        for name, (right, used) in rows_of.items()
    }
)


# %% [markdown]
# ## A world where the right thing is known
#
# Before the shipped questions, a scripted world that can be worked out. Agents One, Two and Three answer
# *easy* and *hard* questions. Easy: everybody is right, but who reads another is confused and wrong.
# Hard: One is right, and so is who reads One. The decision is right if at least 1, 2 or 3 agents are, in
# turn. So silence is right in all easy questions and in a third of the hard ones: (1 + 1/3) / 2 = **2/3**.
# One's broadcast is right in all hard ones and in a third of the easy ones: 2/3 again. All-broadcast: (0 + 1) / 2.
# No joint action, taken always, gets more than 2/3; a policy that is silent on easy questions and lets One
# speak on hard ones gets everything. What tells the two apart is seen: after the first round agents agree
# on easy questions, and differ on hard ones.

# %%
seeds_bar = {"desc": "seeds", "file": sys.stdout}
solved = [await study.scripted_study(scripted, seed) for seed in tqdm(config.seeds, **seeds_bar)]
known = pd.concat([one.records for one in solved], ignore_index=True)
known_table = study.by_subject(known)
run.save_table(
    known_table,
    "scripted",
    f"Scripted world: share of right answers and messages delivered, 24 new questions, "
    f"{len(config.seeds)} seeds, {config.scripted_episodes} episodes.",
    simulated=True,
)
presentable(known_table)

# %% [markdown]
# Intervals are over trainings (seeds), as the questions are all alike. A learner that is stuck at 5 of 6
# has found who should speak on hard questions, and still lets one agent be confused on easy ones: a local
# optimum, from which no single agent gets away by changing only its own action.

# %%
known_gain = study.gain_over_seeds(known, "Agent Q-Mix", study.UNTRAINED)
known_over_constant = study.gain_over_seeds(known, "Agent Q-Mix", "Best constant actions")
known_talk = study.more_talk_over_seeds(known, "Agent Q-Mix")
print("QMIX minus untrained:", known_gain)
print("QMIX minus best constant:", known_over_constant)
print("more messages on hard questions:", known_talk)

# %% [markdown]
# ## The shipped questions: train and answer
#
# Now the real thing, where nobody knows the right policy. Every seed is a new world, in which other
# questions are hard. Training starts with random actions and ends with one in twenty. Training and
# evaluation make rollouts by the same function, choosing anew before each round.


# %%
async def in_world(seed: int) -> study.TalkStudy:
    """Open a new world, train in it, and answer the test questions in all ways."""
    world = open_for(run, config.benchmark, seed, graphs=1, width=1)
    return await study.talk_study(world, world.test[: config.tests or None], settings, seed)


# %%
test = held_out(config.benchmark)[: config.tests or None]
planned = len(config.seeds) * study.WAYS * len(test)
studies = {seed: await in_world(seed) for seed in tqdm(config.seeds, **seeds_bar)}
records = pd.concat([one.records for one in studies.values()], ignore_index=True)
run.save_records(records)
print(f"{planned:,} answers")

# %% [markdown]
# ## Learning curves
#
# Reward of the episodes while training, random actions included, as a running mean over 80 episodes.
# The band goes from the lowest to the highest seed. A curve that rises little is to be expected where
# even random talk is nearly as good as the best: the horizontal lines show how much there is to gain.
# One episode is right or wrong, so that a mean of 80 has a standard error of four points by itself; a
# difference of one point between two joint actions, the order of what is at stake here, would take some
# thousands of episodes *each* to be seen, and there are 216 of them. That is why a learner must share what
# it learns between situations, and why one should not be surprised if it cannot.

# %%
curves = study.reward_curves(studies)
learners = list(curves)
tokens = records["prompt_tokens"] + records["completion_tokens"]
records["reward"] = config.w_acc * records["correct"] - config.w_tok * tokens / 10_000
earned = records.groupby("method", sort=False)["reward"].mean()
save_figure(
    run,
    learning_curve(
        # Three bands would hide one another: the first learner's is drawn, of the others the mean.
        {n: f.to_numpy().T if n == learners[0] else f.mean(axis=1) for n, f in curves.items()},
        curves[learners[0]].index.to_numpy(),
        xlabel="training episodes",
        ylabel="reward of an episode",
        levels={n: earned[n] for n in ("All solo", "All broadcast", "Random actions")},
    ),
    "learning_curve",
    caption=f"Reward while training on {config.benchmark} ({setting.text}), running mean over 80 "
    f"episodes; mean of {len(studies)} seeds, for {learners[0]} with a band from lowest to highest. "
    "Lines: held-out questions.",
    simulated=setting.simulated,
    alt="Reward against episodes for three learners, with three horizontal levels.",
)

# %% [markdown]
# ## What the agents do
#
# Shares of the six actions before each round, over all agents, test questions and seeds. A policy that
# takes one action always would be a bar of one colour for each agent: the constant policy of the published
# runs. Compare with the untrained bars: what training changed is the difference between the two, and not
# the mixture of colours as such.

# %%
rollouts = {
    name: [rollout for one in studies.values() for rollout in one.rollouts[name]]
    for name in records["method"].unique()
}
shown = [*learners, study.UNTRAINED]
actions = {name: action_shares(rollouts[name]) for name in shown}
save_figure(
    run,
    action_bars(actions),
    "actions",
    caption=f"Share of each action before each round that has a choice, over agents, "
    f"{len(test)} test questions and {len(studies)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Stacked bars of six actions, one bar for each policy and round.",
)

# %% [markdown]
# And the graphs that come of it: how often (in percent of the questions) the agent at the arrow's
# head read the one at its tail. Nothing can be read in the first round of synchronous rounds.

# %%
names = studies[config.seeds[0]].learners[0].agents.cast.roles.names
graphs = {
    f"{title}, round {number + 1}": shares
    for title, name in (("trained", "Agent Q-Mix"), ("untrained", study.UNTRAINED))
    for number, shares in enumerate(edge_shares(rollouts[name], names))
    if shares.any()
}
save_figure(
    run,
    round_graphs(graphs, names),
    "round_graphs",
    caption="Who reads whom in each round under QMIX, trained and untrained, in percent of the "
    f"test questions over {len(studies)} seeds ({setting.text}).",
    simulated=setting.simulated,
    alt="Agents on a circle with arrows, one panel for each policy and round.",
)

# %% [markdown]
# ## The table
#
# Accuracy, utility, tokens and calls for each item. Two columns say how much was talked: tokens, and
# the messages delivered. The row to look at first is "All broadcast" against "All solo": that is what
# talk is worth here at most, and every learner has to be seen in relation to it. "Decision LLM alone" makes
# one call instead of N · T + 1; what the others add to it is what a team of agents is worth.

# %%
table = comparison_table(records)
spoken = records.groupby(["method", "benchmark"], sort=False)[["messages", "reward"]].mean()
table = table.merge(spoken.reset_index(), on=["method", "benchmark"]).drop(columns="cost_usd")
caption = f"Agent Q-Mix and its comparisons on {config.benchmark} ({setting.text}; seeds: {len(config.seeds)})."
run.save_table(table, "main", caption, simulated=setting.simulated)
run.save_metrics(table)
presentable(table)

# %%
differences = paired_table(records, "Agent Q-Mix")
run.save_table(
    differences,
    "differences",
    "Agent Q-Mix minus each method on the same questions; bootstrap intervals over questions, exact "
    "McNemar on the first seed, Holm across the table.",
    simulated=setting.simulated,
)
presentable(differences)

# %% [markdown]
# ## Do they talk less where it is easy?
#
# "Hard" has two meanings here. By *opening*: the agents differ in their first answers, which they can
# see. By *level*: the question's author thought it hard (4 or 5 against 1 or 2), which nobody tells them.
# Random actions cannot tell the two apart: their difference shows how large one has to be to count.

# %%
talk = talk_table(records, [*learners, study.UNTRAINED, "Random actions"])
run.save_table(
    talk,
    "talk",
    f"Messages delivered on easy and on hard questions ({setting.text}); hard: the agents' first "
    "answers differ, or the question's level is 4 or 5. 95 % intervals over questions.",
    simulated=setting.simulated,
)
presentable(talk)

# %% [markdown]
# ## The paper's numbers
#
# Accuracies in percent from the paper's main table, for one backbone. They are **published, for real
# LLMs and other questions, and are not confirmed here**: nothing simulated could. Note how small the
# sets are (30 questions: one is 3.3 points), and that AutoGen leads one of them by 10 points.

# %%
printed = json.loads(data_path("published", "agent_qmix.json").read_text(encoding="utf-8"))
published = pd.DataFrame(printed["gpt_oss_120b"]["rows"])
run.save_table(
    published,
    "published",
    f"Published, not ours: {printed['gpt_oss_120b']['source']}. {printed['gpt_oss_120b']['remark']}",
    simulated=False,
)
presentable(published)

# %% [markdown]
# ## What we saw


# %%
def sentence(row: pd.Series) -> str:
    """Say what the paired difference in accuracy against one method shows."""
    low, high = row.accuracy_gain_low, row.accuracy_gain_high
    word = "beats" if low > 0 else "falls below" if high < 0 else "is not distinguishable from"
    return f"Agent Q-Mix {word} “{row.method}”: {100 * row.accuracy_gain:+.1f} points of accuracy [{100 * low:+.1f}, {100 * high:+.1f}]."


def verdict(text: str, gap: study.Interval) -> str:
    """Say whether a difference over seeds is one."""
    word = "above 0" if gap.low > 0 else "below 0" if gap.high < 0 else "not told apart from 0"
    return f"{text}: {gap}, over {len(config.seeds)} seeds, {word}."


conclusions = [
    verdict("Scripted world, share of right answers, QMIX minus untrained", known_gain),
    verdict("The same minus the best constant joint action", known_over_constant),
    verdict("Scripted world, messages of QMIX on hard minus on easy questions", known_talk),
    *(sentence(row) for _, row in differences.iterrows()),
    verdict(
        f"{config.benchmark}, messages of QMIX where first answers differ minus where they agree",
        study.more_talk_over_seeds(records, "Agent Q-Mix"),
    ),
]
largest = {name: frame.to_numpy().max() for name, frame in actions.items()}
conclusions.append(
    f"The most frequent action of QMIX in any round has a share of {largest['Agent Q-Mix']:.0%}; "
    f"a constant policy would have 100 % for each agent. {setting.text[0].upper()}{setting.text[1:]}."
)
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. How many messages does the joint action (aggregate, solo, debate) ask for with N = 3, and how many
#    are left in `reference` mode? Work it out on paper, set `my_counts`, and run the cell.
# 2. Give all agents one and the same LLM (`agent_llms = ["gemma-3-27b"]`). What is talking worth now,
#    by the rows "All solo" and "All broadcast"? Why?
# 3. Set `rounds = 2`. There is one choice then, and nothing for the memory to remember. Which
#    differences in the table survive?
#
# **With real models.** Set `pool` to the path of a pool file, `agent_llms` and `decision` to LLMs of it, and
# `budget_usd` to what you are willing to spend. A learner makes `episodes` × (N · T + 1) calls, 2,400 at
# the defaults, though equal calls are paid for once: the first round of a question is the same in all of
# its episodes. Three learners share these calls in part. Real messages have hundreds of tokens where the
# simulated ones have thirty, so talk is ten times as dear: `w_tok = 0.1` may then be enough to see
# an effect. Start with `seeds = [0]`, and compare with "All broadcast" before believing a learner.

# %%
my_counts = None  # such as (3, 2)
joint = (3, 0, 5)
counts = len(graph_of(joint).edges), len(graph_of(joint, "reference").edges)
print("exercise 1:", "not answered yet" if my_counts is None else my_counts == counts)

# %%
print(
    run.finish(
        rows=planned,
        figures=["learning_curve", "actions", "round_graphs"],
        tables=["scripted", "main", "differences", "talk", "published"],
    )
)
