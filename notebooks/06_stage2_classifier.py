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
# # 06 · Can a classifier pick the graph for a question?
#
# **Question.** Stage 1 decided who sits where. Stage 2 decides who reads whom. HieraMAS does not
# learn edge by edge: it runs a few whole graphs of the pool on every training question, notes which
# did better, and trains a *graph classifier* that scores whole graphs. Is the graph it picks better
# than a random one, and better than simply always using the one graph that did best in training?
#
# *Regret* is what not knowing costs: the utility of the best graphs, found by looking into the
# answers, minus the utility of the chosen ones. It can be measured here because the pool is
# simulated, so every graph can be run on every test question. With real models that is a fortune.
#
# The question is answered in two steps. First stage 2 as a user runs it: texts, 72 questions, five graphs
# each. That is too few to tell ways of choosing apart, and the interval will say so. Then the same
# learners on more labels, in several worlds, with the answers replayed instead of the texts.
#
# Reads: a shipped benchmark, or one of your own, and the simulated pool. Writes: one run folder with
# four figures and two tables. About a minute. Offline and free; the LLMs are **simulated**.

# %% tags=["parameters"]
benchmark = "knowledge"  # knowledge, maths, humaneval, or the path of a benchmark.yaml
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seeds = [0, 1]  # one new world and one training for each
width = 2  # proposers of a supernode, W
graphs = 30  # size K of the graph pool
graphs_per_task = 5  # graphs run on each training question, M
decision = "gemma-3-27b"  # LLM that gives the final answer
reads = "sinks"  # what the decision reads, sinks or all
rule = "pairwise"  # how labels are made, pairwise or top2
form = "convolution"  # network of the classifier, or the published one, reference
epochs = 20  # passes over the labels, at most
batch = 64  # questions of one step
filling = "all_roles"  # who sits where, all_roles or trained
tests = 30  # questions of the test split, 0 for all
worlds = [0, 1, 2, 3]  # simulated worlds of the larger comparison
labels_there = 288  # labelled questions in it
team = "cheap team, kappa 2"  # who sits there, a name of graph_selection.worlds.SETTINGS

# %%
import sys

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import (
    Benchmark,
    check_plan,
    held_out,
    open_benchmark,
    setting_of,
)
from hieramas_lib.experiments.effects.effect_plots import effect_points
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topologies
from hieramas_lib.experiments.graph_selection.quality import measure_quality
from hieramas_lib.experiments.graph_selection.selection import (
    CLASSIFIER,
    FIXED,
    SELECTORS,
    TRUE_FIXED,
    LabelPlan,
    regret_rows,
    with_settings,
)
from hieramas_lib.experiments.graph_selection.worlds import SETTINGS, shipped_world
from hieramas_lib.experiments.learning_plots import reliability_curves
from hieramas_lib.experiments.plots import anchors
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import (
    mean_over_seeds,
    mean_over_tasks,
    paired_difference,
)
from hieramas_lib.experiments.tables import presentable

# %%
from hieramas_lib.learning.classifier import GraphClassifier
from hieramas_lib.learning.labels import GraphLabels, pairwise_loss
from hieramas_lib.learning.policy import ActionSpace, constant_policy
from hieramas_lib.learning.stage2 import REFERENCE, Stage2Settings
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.teams.executor import Job, run_batch
from hieramas_lib.teams.graph_pool import GraphPool
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.topology import Topology
from hieramas_lib.teams.utility import utility

# %%
run = start_notebook("06_stage2_classifier", globals())
config = run.config
setting = setting_of(config)

# %%
check_plan(
    pool=config.pool,
    benchmarks=[config.benchmark],
    seeds=config.seeds,
    llms={"decision": config.decision},
    at_least_one={"width": config.width, "graphs": config.graphs, "tests": config.tests + 1},
)
stage2 = Stage2Settings(
    graphs_per_task=config.graphs_per_task,
    rule=config.rule,
    form=config.form,
    epochs=config.epochs,
    batch=config.batch,
)
settings = HieraMASSettings(stage2=stage2)
teams = {there.name: there for there in SETTINGS}
if config.team not in teams:
    raise ConfigError(f"team: {config.team!r} is not one of {', '.join(teams)}")
if config.filling not in ("all_roles", "trained"):
    raise ConfigError(f"filling: {config.filling!r} is neither 'all_roles' nor 'trained'")
print(run)

# %% [markdown]
# ## A convolution to check by hand
#
# The classifier lets messages run along the edges, as texts do in the team: a node adds up what its
# predecessors hold. Take three roles in a chain *a → b → c* with the numbers 1, 10 and 100, and set
# both weights of the layer to 1: each node becomes itself plus its predecessors.
#
# * *a* reads nobody: 1
# * *b* reads *a*: 10 + 1 = 11
# * *c* reads *b*: 100 + 10 = 110
#
# Reverse the edges and the result changes: 1 + 10, 10 + 100, 100. (The published code passes the
# matrix the wrong way round, so its messages run from readers to the read. Ours has a second set of
# weights for that way, as whether anybody reads a role decides what reaches the decision.)

# %%
toy = GraphPool(3, (Topology(3, ((0, 1), (1, 2))), Topology(3, ((1, 0), (2, 1)))))
layer = GraphClassifier(dim=2, graphs=toy, seed=0, hidden=1).convolutions[0]
for parameter in layer.parameters():
    torch.nn.init.constant_(parameter, 1.0 if parameter.ndim == 2 else 0.0)
numbers = torch.tensor([[1.0], [10.0], [100.0]]).expand(2, 3, 1)
incoming = torch.stack([torch.from_numpy(t.adjacency()).float().T for t in toy])
print(layer(numbers, incoming).squeeze(-1).tolist())

# %% [markdown]
# **Ties teach nothing.** Two graphs were run on one question, one scored higher than the other. If
# both did equally well the loss is 0, whatever the scores: such a question has no opinion. If they
# differ by 0.9 in utility (one right, one wrong) the pair weighs 90 times as much as a pair that
# differs by 0.01 in cost: below, two questions disagree with the scores, and only one of them matters. (The published rule marks the best two of five as positive even if all
# five were right, so most labels are noise.)


# %%
def loss_of(worth: list[list[float]], scores: list[list[float]]) -> float:
    """Return the loss of scores for two graphs on some questions."""
    utilities = torch.tensor(worth)
    labels = GraphLabels(torch.tensor([[0, 1]] * len(worth)), utilities, utilities > 0.5)
    return round(pairwise_loss(torch.tensor(scores), labels).item(), 3)


print("a tie:", loss_of([[0.7, 0.7]], [[0.0, 1.0]]))
print("right order:", loss_of([[0.0, 0.9]], [[0.0, 1.0]]))
print("wrong order:", loss_of([[0.9, 0.0]], [[0.0, 1.0]]))
print("wrong by 0.01, right by 0.90:", loss_of([[0.01, 0.0], [0.0, 0.9]], [[0.0, 1.0]] * 2))
print("wrong by 0.90, right by 0.01:", loss_of([[0.9, 0.0], [0.0, 0.01]], [[0.0, 1.0]] * 2))

# %% [markdown]
# The fourth number is close to the second and the fifth to the third: the large gap decides.

# %% [markdown]
# ## Label, train, and try every graph
#
# Who sits where is frozen. With `filling = "all_roles"` every role is kept, by one LLM, so that the
# graph is all there is to choose. A trained policy keeps some three of eight roles, and the fewer
# roles, the fewer edges are left that could matter. Set `filling = "trained"` to see that.


# %%
async def frozen_system(world: Benchmark, seed: int) -> HieraMAS:
    """Return a system with the policy that this notebook works with."""
    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    if config.filling == "trained":
        await system.fit_policy(world.train)
    else:
        system.start(world.train, constant_policy(*everybody(world)))
    return system


def everybody(world: Benchmark) -> tuple[ActionSpace, RoleSet, torch.Tensor]:
    """Return the actions that give every role one proposer and a synthesizer, the decision's LLM."""
    space, roles = world.space.actions, world.space.roles
    actions = torch.full((len(roles.roles), space.positions), space.skip)
    actions[:, 0] = actions[:, -1] = space.llms.index(config.decision)
    return space, roles, actions


# %% [markdown]
# For every test question, all graphs of the pool are run. That gives the table of utilities from
# which each way of choosing can be scored.


# %%
async def open_and_train(seed: int) -> tuple[Benchmark, HieraMAS, GraphLabels]:
    """Open a new world and train stage 2 in it."""
    world = open_benchmark(
        config.benchmark,
        pool=config.pool,
        budget_usd=config.budget_usd,
        difficulty=config.difficulty,
        seed=seed,
        graphs=config.graphs,
        width=config.width,
        decision=config.decision,
        reads=config.reads,
    )
    run.watch(world.llms)
    system = await frozen_system(world, seed)
    labels = await system.fit_graphs(world.train)
    return world, system, labels


async def every_graph(system: HieraMAS, world: Benchmark) -> np.ndarray:
    """Return the utility of every graph on every test question, ``[tasks, graphs]``."""
    actions, count = system.actions(test), len(world.space.graphs)
    jobs = [
        Job(world.space.team(actions[i], graph), task)
        for i, task in enumerate(test)
        for graph in range(count)
    ]
    rollouts = await run_batch(jobs, world.llms)
    worth = [utility(rollout, world.reference_cost) for rollout in rollouts]
    return np.array(worth).reshape(-1, count)


# %%
async def choices(seed: int) -> tuple[GraphLabels, HieraMAS, pd.DataFrame]:
    """Return the labels, the trained system and the utility of every selector on every test task."""
    world, system, labels = await open_and_train(seed)
    every = await every_graph(system, world)
    fixed = labels.best_on_average(config.graphs)
    picked = system.graph_scores(test).argmax(dim=1).numpy()
    frame = pd.DataFrame(
        {
            "task_id": [task.id for task in test],
            "seed": seed,
            "random graph": every.mean(axis=1),
            "best graph in training": every[:, fixed],
            "classifier": every[np.arange(len(every)), picked],
            "best fixed graph in hindsight": every[:, every.mean(axis=0).argmax()],
            "best graph for each question": every.max(axis=1),
            "picked": picked,
        }
    )
    return labels, system, frame


# %%
test = held_out(config.benchmark)[: config.tests or None]
planned = len(config.seeds) * len(test)
print(f"{planned * config.graphs:,} rollouts for the table of utilities, cached calls included")
results = [await choices(seed) for seed in tqdm(config.seeds, desc="seeds", file=sys.stdout)]
systems = [system for _, system, _ in results]
contested = np.mean([labels.contested.float().mean() for labels, _, _ in results])
outcomes = pd.concat([frame for _, _, frame in results], ignore_index=True)
selectors = [name for name in outcomes.columns if name not in ("task_id", "seed", "picked")]
run.save_records(outcomes)
outcomes[selectors].mean().round(4)

# %% [markdown]
# ## Five ways to choose
#
# The last two rows look into the answers: no method may do that. They show how much there is to
# gain by one graph for all, and by a graph for each question. The latter is an upper bound that no
# learner reaches, as it also picks up luck: with many graphs, one of them is right by chance.

# %%
tasks = outcomes["task_id"].tolist()


def selector_row(name: str) -> dict[str, object]:
    """Utility of one selector and its regret against the best fixed graph in hindsight."""
    value = mean_over_tasks(outcomes[name], tasks)
    best = outcomes["best fixed graph in hindsight"].mean()
    return {
        "method": name,
        "n": outcomes["task_id"].nunique(),
        "seeds": outcomes["seed"].nunique(),
        "utility": value.estimate,
        "utility_low": value.low,
        "utility_high": value.high,
        "regret": best - value.estimate,
    }


table = pd.DataFrame([selector_row(name) for name in selectors])
caption = (
    f"Ways to choose a graph on {config.benchmark} ({setting.text}, "
    f"filling: {config.filling}, decision reads {config.reads})."
)
run.save_metrics(table)
run.save_table(
    table,
    "selectors",
    caption + " Regret: to the best fixed graph in hindsight.",
    simulated=setting.simulated,
)
save_figure(
    run,
    anchors(table),
    "selectors",
    caption=caption + " Intervals over test questions.",
    simulated=setting.simulated,
    alt="Utilities of five ways to choose a graph with intervals, best first.",
)

# %% [markdown]
# ## Which graphs does it choose?
#
# For one test question: the graph that scores highest, the next two, and the one at the bottom. A *source* reads
# nobody, a *sink* is read by nobody but the decision, so under `reads = "sinks"` the sinks are the voices
# that count. Whoever is read by somebody speaks through the reader only.

# %%
question = 0
scores = systems[0].graph_scores([test[question]])[0]
order = scores.argsort(descending=True).tolist()
places = {"chosen": 0, "runner-up": 1, "third": 2, "last": len(order) - 1}
pool_of_graphs = systems[0].space.graphs
drawn = {
    f"{name}, score {float(scores[order[place]]):.2f}": pool_of_graphs[order[place]]
    for name, place in places.items()
    if place < len(order)
}
save_figure(
    run,
    draw_topologies(drawn, systems[0].space.roles.names, columns=1),
    "graphs",
    caption=f"Graphs for the question {test[question].id} by the classifier's score, seed "
    f"{config.seeds[0]}: ids {', '.join(graph.id for graph in drawn.values())} ({setting.text}).",
    simulated=setting.simulated,
    alt="Drawings of four graphs over the roles, with sources and sinks marked.",
)

# %% [markdown]
# ## More labels, more worlds, all the rivals
#
# A graph matters where roles are many and readers are easily swayed. So here eight roles are kept, filled by
# two cheap LLMs in turn, in a world where agreement persuades twice as much (the parameter `team`). Every
# graph is run on 1,000 test questions, copies of the shipped ones that the world takes for others. A way to
# choose sees only what a training would pay for: `labels_there` questions × 5 graphs.
#
# * **best for each subject** (an oracle) is where regret is counted from; **best fixed, true** is the best one
#   graph for all questions. Both look into the answers, on the other half of the questions.
# * **best fixed, same labels** is the rival to beat: one graph for all, from the same labels.
# * **edges** give every edge a worth of its own, by REINFORCE or by regression; with **similarity**, the worth
#   depends on how well reader and read match the question.
# * **top2** has the paper's labels, **reference** its network as well.
# * **random**, **full** and **densest** need no labels.

# %%
there, rows = teams[config.team], []
replayed = (config.benchmark, config.pool) == ("knowledge", "simulated")
if not replayed:
    print("left out: graphs are replayed on knowledge with the simulated pool only")
ways = dict(SELECTORS) | {CLASSIFIER: with_settings(stage2)}
plan = LabelPlan((config.labels_there,), each=config.graphs_per_task, seeds=1)
for seed in tqdm(config.worlds if replayed else [], file=sys.stdout):
    for reads_there in ("sinks", "all"):
        world = shipped_world(there, reads_there, seed, graphs=config.graphs)
        found = regret_rows(world, plan, test_copies=10, selectors=ways)
        rows += [{"reads": reads_there, "seed": seed, **row} for row in found]

# %%
regrets = pd.DataFrame(rows)
regret_table = pd.DataFrame()
if replayed:
    regret_table = over_seeds(regrets, ["reads", "selector", "queries"], ["utility", "regret"])
    regret_table = regret_table.drop(columns=["utility_low", "utility_high"])
    run.save_table(
        regret_table,
        "regret",
        f"Ways to choose a graph from {config.labels_there} labelled questions, {config.graphs} graphs, "
        f"{config.team}: regret to the best graph for each subject, 95 % intervals over worlds.",
        simulated=True,
    )
presentable(regret_table)

# %%
if replayed:
    shown = regret_table[regret_table["selector"] != "best for each subject"].copy()
    shown["panel"], shown["series"] = "decision reads " + shown["reads"], "regret"
    figure = effect_points(
        shown.rename(columns={"selector": "row"}), "regret", xlabel="regret × 100", scale=100
    )
    save_figure(
        run,
        figure,
        "regret",
        caption=f"Regret of ways to choose a graph, {config.labels_there} labelled questions, "
        f"{config.team}; {len(config.worlds)} worlds with 95 % intervals.",
        simulated=True,
        alt="Points of regret by way to choose, one panel for each way that the decision reads.",
    )

# %% [markdown]
# ## Can its scores be trusted?
#
# Take two graphs of one question, one that was right and one that was wrong. The difference of their scores,
# through a sigmoid, is the probability that the classifier gives to the true order. If it says 80 %, is the
# order right in 80 % of the cases? On the dotted line, it is; below it, the classifier is too sure. Dividing all
# scores by a *temperature*, fitted on questions that it was not trained on, changes no choice, only the trust.

# %%
if replayed:
    judged = shipped_world(there, config.reads, config.worlds[0], graphs=config.graphs)
    qualities = {
        name: measure_quality(judged, config.labels_there, of, test_copies=10, seed=0)
        for name, of in {"this classifier": stage2, "published": REFERENCE}.items()
    }
    curves = {}
    for name, found in qualities.items():
        curves[name] = [(b.confidence, b.accuracy, b.share) for b in found.curve]
    first = qualities["this classifier"]
    if first.temperature != 1.0:
        curves[f"this one, temperature {first.temperature:.1f}"] = [
            (b.confidence, b.accuracy, b.share) for b in first.curve_fitted
        ]
    save_figure(
        run,
        reliability_curves(curves),
        "reliability",
        caption="How often the likelier order of a right and a wrong graph is the true one, by its stated "
        f"probability; area: share of pairs. World {config.worlds[0]}, {config.labels_there} labels.",
        simulated=True,
        alt="Curves of accuracy against stated probability, and the diagonal.",
    )

# %% [markdown]
# ## What we saw


# %%
def compare(other: str) -> str:
    """Say how the classifier does against another selector, paired on the same questions."""
    gain = paired_difference(outcomes["classifier"], outcomes[other], tasks)
    if gain.low > 0:
        verdict = "better than"
    elif gain.high < 0:
        verdict = "worse than"
    else:
        verdict = "not distinguishable from"
    return f"The classifier is {verdict} “{other}”: utility difference {gain}."


def compare_there(reads_there: str) -> str:
    """Say how the classifier does against rivals over worlds, with the larger number of labels."""
    by_world = regrets[regrets["reads"] == reads_there].pivot_table(
        index="seed", columns="selector", values="regret"
    )
    parts = []
    for other in (FIXED, "edges x similarity", "full", "random"):
        gain = mean_over_seeds(by_world[other] - by_world[CLASSIFIER])
        word = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "level with"
        parts.append(f"{word} “{other}” ({gain})")
    mean = by_world.mean()
    return (
        f"{config.labels_there} labels, decision reads {reads_there}, {len(by_world)} worlds: the classifier's "
        f"regret is {mean[CLASSIFIER]:.3f}, that of the true best fixed graph {mean[TRUE_FIXED]:.3f}, ratio to "
        f"the best fixed from the same labels {mean[CLASSIFIER] / mean[FIXED]:.2f}; in utility it is "
        + ", ".join(parts)
        + "."
    )


# %%
room = outcomes["best graph for each question"].mean() - outcomes["random graph"].mean()
conclusions = [
    compare("random graph"),
    compare("best graph in training"),
    f"{contested:.0%} of the training questions had both right and wrong graphs among those run on "
    "them; on the rest, graphs differ in cost alone.",
    f"Between a random graph and the best graph for each question lie {room:.3f} of utility "
    "(luck included).",
]
if replayed:
    conclusions += [compare_there(reads_there) for reads_there in ("sinks", "all")]
    conclusions.append(
        f"AUC on pairs of a right and a wrong graph {first.auc:.2f} (published network and labels "
        f"{qualities['published'].auc:.2f}); calibration error {first.error:.3f}, with a fitted temperature "
        f"{first.error_fitted:.3f}."
    )
else:
    conclusions.append("The larger comparison was left out: it needs the simulated pool.")
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. In the chain checked by hand, two layers are applied one after the other. What does *c* hold
#    after the second? Set `my_c` and run the cell.
# 2. Set `rule` to `top2`, the paper's labels. What becomes of its regret in the larger comparison?
# 3. Set `filling` to `trained`. How much does the graph still matter?
#
# **With real models**, for each seed: the labels take 72 questions × 5 graphs × 17 calls, about 6,000
# calls, and the table of utilities 30 × 30 × 17, about 15,000. Set `tests` to a few questions and
# `budget_usd` to what you are willing to spend.

# %%
my_c = None  # such as 300
twice = layer(layer(numbers, incoming), incoming)[0, 2].item()
print("exercise 1:", "not answered yet" if my_c is None else my_c == twice)

# %%
figures = ["selectors", "graphs", *(["regret", "reliability"] if replayed else [])]
tables = ["selectors", *(["regret"] if replayed else [])]
print(run.finish(rows=planned, figures=figures, tables=tables))
