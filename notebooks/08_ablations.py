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
# # 08 · Which part of HieraMAS carries the gain?
#
# **Question.** HieraMAS learns who sits where (stage 1) and who reads whom (stage 2). It has several
# proposers a role, credit on two levels, labels of whole graphs, a prior, and text vectors underneath.
# If one of these is taken away, or set to another value, how much is lost, and at what cost? And do the
# two claims about credit, on which the paper rests its design, show where they can be measured?
#
# **Metric.** *Utility*: accuracy minus 0.01 for every reference call (one usual call of the dearest LLM).
# An ablation is a *difference*: the changed system minus the full one, trained on the same questions
# with the same seed, judged on the same held-out questions of the same world under equal luck.
#
# Reads: the shipped knowledge questions, the simulated pool, and the tables of the paper as published.
# Writes: one run folder with three figures and six tables. About a minute. Offline and free; our LLMs
# are **simulated**, so our numbers say which parts of the *method* matter in this world, and nothing
# about the real models of the paper.

# %% tags=["parameters"]
variants = ["graph", "llms", "width 6", "width 8", "graphs 500", "alpha 0", "texts"]  # changes
engine = "answers"  # answers for replayed simulated ones, or texts
benchmark = "knowledge"  # for texts, also maths, humaneval, or the path of a benchmark.yaml
pool = "simulated"  # for texts, also the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1, 2, 3]  # one world and one training for each
questions = 72  # training questions, up to 1152, for answers
width = 2  # proposers of a supernode in the full system, W
graphs = 100  # size K of its graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer
passes = 4  # times each training question is used
group = 4  # rollouts of a question in a batch
credit_questions = 8  # questions on which credit is compared with contribution
graph_labels = [72, 288]  # labelled questions for the second claim

# %%
import pandas as pd
from tqdm import tqdm

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations.ablation_tables import ablation_table, beside_paper
from hieramas_lib.experiments.ablations.replayed import replayed_records
from hieramas_lib.experiments.ablations.variants import (
    FULL,
    USUAL,
    System,
    named_variants,
    variant,
)
from hieramas_lib.experiments.ablations.with_texts import text_records
from hieramas_lib.experiments.benchmark import check_plan, held_out, open_benchmark, setting_of
from hieramas_lib.experiments.credit.agreement import agreement_rows
from hieramas_lib.experiments.credit.cases import (
    LEAVE_ONE_OUT,
    OURS,
    RAW,
    collect_cases,
    shipped_settings,
    sign_threshold,
)
from hieramas_lib.experiments.effects.effect_plots import effect_curves
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_selection.holistic import additive_regret, growth_rows
from hieramas_lib.experiments.graph_selection.worlds import SETTINGS, shipped_world
from hieramas_lib.experiments.learning_curve.lab import shipped_lab
from hieramas_lib.experiments.learning_curve.optimum import find_anchors
from hieramas_lib.experiments.learning_plots import ablation_bars
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.learning.rewards import PaperReward
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings

# %%
run = start_notebook("08_ablations", globals())
config = run.config
setting = setting_of(config)

# %%
check_plan(
    pool=config.pool,
    benchmarks=[config.benchmark],
    seeds=config.seeds,
    llms={"decision": config.decision},
    at_least_one={
        "graphs": config.graphs,
        "questions": config.questions,
        "credit_questions": config.credit_questions,
        "graph_labels (how many)": len(config.graph_labels),
    },
)
if config.engine not in ("answers", "texts"):
    raise ConfigError(f"engine: {config.engine!r} is neither 'answers' nor 'texts'")
if config.engine == "answers" and (config.pool, config.benchmark) != ("simulated", "knowledge"):
    raise ConfigError("engine: 'answers' replays the simulated pool on knowledge; use 'texts'")
stage1 = Stage1Settings(passes=config.passes, group=config.group)
full = System(HieraMASSettings(stage1=stage1), width=config.width, graphs=config.graphs)
names = named_variants(config.variants)
systems = {name: variant(full, name) for name in (FULL, *names)}
print(run)

# %% [markdown]
# ## A difference to check by hand
#
# Two systems answer the same four questions. The full one has utilities 0.95, 0.95, −0.05 and −0.05;
# without one of its parts they are 0.90, 0.90, −0.06 and −0.10. The means are 0.45 and 0.41, so the part
# is worth 0.04.
#
# Is that more than luck? Looked at separately, the four values of one system have a spread of half a
# point of utility: between right and wrong answers lies 1. A difference of 0.04 between two such means
# would be lost in it. But question by question the changed system is *always* a little worse: by 0.05,
# 0.05, 0.01 and 0.05. What makes a question hard for one makes it hard for the other, and cancels out.
# The mean of the four differences is −0.04, and its interval stays below 0. That is why everything here
# is *paired*, and why each changed system is trained in the same world as the full one.

# %%
pairs = {FULL: [0.95, 0.95, -0.05, -0.05], "part taken away": [0.90, 0.90, -0.06, -0.10]}
by_hand = pd.DataFrame(
    [
        {"variant": name, "world": 0, "seed": 0, "task_id": task, "utility": value}
        for name, values in pairs.items()
        for task, value in enumerate(values)
    ]
).assign(accuracy=0.5, cost_reference=1.0, kept_roles=1.0)
presentable(
    ablation_table(by_hand)[
        ["variant", "utility", "utility_gain", "utility_gain_low", "utility_gain_high"]
    ]
)

# %% [markdown]
# ## One change at a time
#
# Every variant is a name: the part, and its new value. Nothing else differs from the full system.
#
# | name | what it is |
# |---|---|
# | `graph random` | no stage 2: a random graph of the same pool for every question (the paper's "w/o graph scoring") |
# | `llms decision` | no stage 1: the decision's LLM in every position of every role ("w/o LLM selection") |
# | `width 4` | W proposers a role |
# | `graphs 50` | K graphs in the pool |
# | `alpha 0.5` | weight of a role's own result in its credit; 0 is `credit final_only`, 1 is `credit node_only` |
# | `price 1` | the factor λ on the price of a team in the loss |
# | `credit reference` | the update of the published code, its faults included, on as many rollouts |
# | `labels top2`, `classifier reference` | labels and network of stage 2 as published |
# | `prior none`, `policy paper`, `texts words` | no prior; the paper's policy network; hashed words instead of a sentence model |
#
# The parameter `variants` takes any of them, with any number; a part alone, such as `width`, stands for all
# its usual values below. The default is a selection that fits into a minute; the files `ablations_*.yaml` in
# `notebooks/configs` run them all, with more worlds.

# %%
pd.DataFrame({"part": list(USUAL), "usual values": [", ".join(v) for v in USUAL.values()]})

# %% [markdown]
# With `engine = "answers"` simulated teams are replayed on answers instead of texts: the same rules and
# the same tables as the text path (tests hold one against the other), some hundred times faster. So
# each system can be judged on 2,000 held-out questions, three times each. They are copies of 100 shipped
# questions, for which the world draws anew who knows them; a learner sees the original's text.


# %%
anchors = {}


async def records_of(seed: int) -> pd.DataFrame:
    """Train and judge every system in one world."""
    if config.engine == "answers":
        lab = shipped_lab(seed, difficulty=config.difficulty, decision=config.decision)
        train = lab.questions.training_set(config.questions, seed)
        anchors[seed] = find_anchors(lab)
        frames = [replayed_records(lab, s, name, train, seed) for name, s in systems.items()]
        return pd.concat(frames, ignore_index=True)
    frames = []
    for name, system in systems.items():
        world = open_benchmark(
            config.benchmark,
            pool=config.pool,
            budget_usd=config.budget_usd,
            difficulty=config.difficulty,
            seed=seed,
            graphs=system.graphs,
            width=system.width,
            decision=config.decision,
        )
        run.watch(world.llms)
        frames.append(await text_records(world, system, name, seed))
    return pd.concat(frames, ignore_index=True)


# %%
test = held_out(config.benchmark)
planned = len(systems) * len(config.seeds) * len(test)
records = pd.concat([await records_of(seed) for seed in tqdm(config.seeds)], ignore_index=True)
run.save_records(records)
table = ablation_table(records)

# %% [markdown]
# ## What each part is worth
#
# Bars to the left of 0 in the first panel: the change hurts, so the part is worth something. The second
# panel says what the change does to the bill. Both have to be read together: a cheaper system with the same
# accuracy is a gain, and utility counts it as one.

# %%
caption = (
    f"Each variant minus the full system ({setting.text}); {len(test)} questions, "
    f"{len(config.seeds)} worlds."
)
save_figure(
    run,
    ablation_bars(
        table[table["variant"] != FULL],
        {
            "utility_gain": ("utility × 100", 100),
            "cost_reference_gain": ("cost (reference calls a question)", 1),
        },
        zero="the full system",
    ),
    "ablations",
    caption=caption + " Paired differences with 95 % intervals over worlds.",
    simulated=setting.simulated,
    alt="Bars of differences in utility and cost for each variant, with intervals, around zero.",
)

# %%
run.save_metrics(table)
run.save_table(table, "ablations", caption + " Intervals over worlds.", simulated=setting.simulated)
presentable(table)

# %% [markdown]
# Three anchors say what the utilities must be seen against: a team drawn at random for every question, the
# decision LLM without a team, and the strongest LLM of the pool alone. (The fourth, the best constant team,
# takes a search in every world: see notebook 05 and `hieramas bench learning`.)

# %%
anchor_rows = [
    {
        "anchor": anchor,
        "seed": seed,
        "utility": e.mean,
        "accuracy": e.accuracy,
        "cost_reference": e.cost,
    }
    for seed, found in anchors.items()
    for anchor, e in (
        ("random policy", found.random),
        ("decision LLM alone", found.decision_alone),
        ("strongest LLM alone", found.strongest_alone),
    )
]
shown_anchors = pd.DataFrame(anchor_rows or [{"anchor": "not with texts", "seed": 0}])
presentable(shown_anchors.drop(columns="seed").groupby("anchor", sort=False).mean().reset_index())

# %% [markdown]
# ## Beside the paper's tables
#
# Tables 2, 6 and 7 of the paper, as published, with our variant of the same name next to each row. The levels
# cannot agree: theirs are real models on 125 questions of MMLU, ours simulated ones on a harder set. What can
# be compared is the *direction*, and what a change does to the bill (relative to the first row of each table).
# Three questions out of 125 are 2.4 points; the paper prints no intervals. A dash means that the variant was
# not run: put it into `variants`.

# %%
for paper in ("table2", "table6", "table7"):
    run.save_table(
        beside_paper(table, paper, full),
        f"paper_{paper}",
        f"{published_table(paper).caption} Ours: {setting.text}, full system W = {config.width}, "
        f"K = {config.graphs}.",
        simulated=setting.simulated,
    )
presentable(beside_paper(table, "table2", full))

# %%
presentable(beside_paper(table, "table6", full))

# %%
presentable(beside_paper(table, "table7", full))

# %% [markdown]
# ## First claim: credit on two levels points the right way
#
# The paper states a theorem; its wording is not at hand, so what follows is **our reconstruction**. With
# R_eff = α · R_node + (1 − α) · R_final and a wrong role in a right run (R_node < 0 < R_final):
#
# > R_eff is negative exactly if α > R_final / (R_final − R_node). With α = 0 no error that teammates cover up
# > is ever punished, however large; a threshold below 1 always exists. Where teammates decide the outcome
# > whatever the role says, the expected gradient of the role is α times that of its own reward: it vanishes
# > at α = 0 and points to right answers at any α > 0.
#
# To test it, a role's **contribution** must be known. It is the expected change of the final answer if the
# role's answer is taken away, over newly drawn teammates, graphs and luck. (The change in the very same run
# would be useless: where it is not 0, its sign is that of the final outcome by construction.) Credit *agrees*
# if it has the sign of the contribution, where that is above 0.02 in size.

# %%
reward = PaperReward()
turning = sign_threshold(reward(True, 1.0), reward(False, 1.0))
print(f"both at one reference call, a masked error is punished from alpha {turning:.2f} on")
case_setting = shipped_settings()[0]
agreements = []
for seed in tqdm(config.seeds):
    cases = await collect_cases(case_setting, seed, tasks=config.credit_questions, redraws=16)
    agreements += [{"seed": seed, **row} for row in agreement_rows(cases)]
credit_table = over_seeds(
    pd.DataFrame(agreements), ["credit", "alpha"], ["agreement", "correlation"]
)

# %% [markdown]
# Three kinds of credit: R_eff itself; R_eff minus the mean of the question's other rollouts (*leave one
# out*); and the *advantage* that our stage 1 trains with, where a role is compared with its own mean. The
# second row asks more than the sign: how well does credit correlate with the contribution?

# %%
kinds = {RAW: "R_eff", LEAVE_ONE_OUT: "leave one out", OURS: "advantage of stage 1"}
save_figure(
    run,
    effect_curves(
        credit_table.assign(panel=f"{case_setting.name}", series=credit_table["credit"].map(kinds)),
        "alpha",
        {"agreement": "agrees in sign", "correlation": "correlation"},
        xlabel="α (0: final outcome only, 1: own result only)",
        zero=False,
    ),
    "credit",
    caption="Agreement of a role's credit with its expected contribution, and their correlation, by "
    f"α; {config.credit_questions} questions in each of {len(config.seeds)} worlds, four random teams "
    "each, 95 % intervals over worlds.",
    simulated=True,
    alt="Agreement rises with alpha in a step near 0.5; correlation is highest in the middle or at 1.",
)

# %%
run.save_table(
    credit_table,
    "credit",
    "Credit against expected contribution by kind of credit and α, 95 % intervals over worlds.",
    simulated=True,
)

# %% [markdown]
# Agreement is nearly a tautology at α = 1: a right answer helps almost always. And a better sign is not a
# better policy: the bars of `alpha 0` and `alpha 1` above say what training makes of it.
#
# ## Second claim: whole graphs against single edges
#
# Again **our reconstruction**. A pool has K graphs of worth U(g); n runs with noise σ are given.
#
# > *Per edge*: every edge gets a worth, and the graph with the largest sum is taken. As n grows, this tends to
# > the best additive fit of U. Its regret then is max U − U(choice of that fit): **no number of runs removes
# > it**. It is 0 if edges add up.
# >
# > *Whole graphs*: the graph with the largest mean of its n / K runs is taken. Its expected regret is at most
# > 2σ √(2 ln(2K) K / n): it **vanishes**.
#
# So whole graphs win in the end, if edges do not add up; and edges win early, being fewer. Where is the
# crossing? It is measured with *one* graph for all questions, all eight roles kept.

# %%
each, growth, limits = 5, [], {}
for seed in tqdm(config.seeds):
    world = shipped_world(SETTINGS[-1], "all", seed, graphs=50)
    worth = world.testing(10).utility[:, :50].mean(axis=0)
    limits[seed] = additive_regret(worth, world.graphs)
    train = world.training_for(max(config.graph_labels), seed)
    rows = growth_rows(train, worth, world.graphs, config.graph_labels, each=each, seed=seed)
    growth += [{"seed": seed, **row} for row in rows]
growth_table = over_seeds(pd.DataFrame(growth), ["choice", "labels"], ["regret"])

# %%
save_figure(
    run,
    effect_curves(
        growth_table.assign(panel="cheap team, strong persuasion", series=growth_table["choice"]),
        "labels",
        {"regret": "regret (utility)"},
        xlabel="labelled runs",
    ),
    "whole_or_edges",
    caption="Regret of one graph for all questions, chosen by whole graphs or by edges from the same runs; "
    f"K = 50, {len(config.seeds)} worlds, 95 % intervals.",
    simulated=True,
    alt="Regret against the number of labelled runs for whole graphs and two ways of scoring edges.",
)

# %%
run.save_table(
    growth_table,
    "whole_or_edges",
    "Regret of one graph for all questions by labelled runs, 95 % intervals over worlds.",
    simulated=True,
)
presentable(growth_table)

# %% [markdown]
# ## What we saw

# %%
gains = table.set_index("variant")


def told(name: str) -> str:
    """Say what a variant does to utility and cost."""
    row = gains.loc[name]
    low, high = row["utility_gain_low"], row["utility_gain_high"]
    verdict = "costs" if high < 0 else "gains" if low > 0 else "does nothing measurable to"
    return (
        f"“{name}” {verdict} utility: {row['utility_gain']:+.3f} [{low:.3f}, {high:.3f}], at "
        f"{row['cost_reference_gain']:+.2f} reference calls a question"
    )


def sign_share(kind: str, alpha: float) -> float:
    """Return the agreement in sign of one kind of credit."""
    here = (credit_table["credit"] == kind) & (credit_table["alpha"] == alpha)
    return float(credit_table[here]["agreement"].item())


# %%
most = max(config.graph_labels) * each
last = growth_table[growth_table["labels"] == most].set_index("choice")["regret"]
edges = last.drop("whole graphs")
holds = last["whole graphs"] < edges.min()
conclusions = [
    *(f"{told(name)}." for name in names),
    f"R_eff agrees in sign with the expected contribution in {sign_share(RAW, 0.0):.0%} of the clear cases "
    f"with the final outcome alone, {sign_share(RAW, 0.5):.0%} at α = 0.5, {sign_share(RAW, 1.0):.0%} with the "
    f"own result alone; a masked error is punished from α = {turning:.2f} on.",
    f"Whole graphs against edges at {most:,} labelled runs: regret {last['whole graphs']:.3f} against "
    f"{edges.min():.3f} ({edges.idxmin()}). The second claim "
    + ("shows here." if holds else "does not show here: edges do as well or better.")
    + f" The regret that edges can never lose is {sum(limits.values()) / len(limits):.3f} in these worlds.",
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# The limit of the edges is what the second claim needs: where it is near 0, edges add up well enough on this
# pool, and the theorem, though true, decides nothing. With `graph_labels = [72, 288, 1152, 18432]` both keep
# falling; tried once up to 92,160 runs, edge scores still did as well as whole graphs.
#
# ## Exercises
#
# 1. A role was wrong at a cost of 2 reference calls (R_node = −e^0.74), the run right with R_final = 0.5. From
#    which α on is the role punished? Work it out, set `my_alpha`, and run the cell.
# 2. Set `variants` to `["price"]`. Which roles are bought when prices are ignored?
# 3. Set `questions` to 288. Do the differences between credit modes grow or shrink?
#
# **With real models.** Set `engine` to `texts`, `pool` to a pool file, `decision` to one of its LLMs and
# `budget_usd` to what you are willing to spend. Every variant is trained anew: for each seed 1,152 rollouts
# of stage 1, 360 of stage 2 and the test questions, some 20,000 calls. Begin with two variants, one seed,
# `passes = 1` and `group = 2`. The two claims are measured in the simulated world whatever the pool is.

# %%
my_alpha = None  # such as 0.25
right = sign_threshold(0.5, reward(False, 2.0))
print("exercise 1:", "not answered yet" if my_alpha is None else abs(my_alpha - right) < 0.01)

# %%
print(
    run.finish(
        rows=planned,
        figures=["ablations", "credit", "whole_or_edges"],
        tables=[
            "ablations",
            "paper_table2",
            "paper_table6",
            "paper_table7",
            "credit",
            "whole_or_edges",
        ],
    )
)
