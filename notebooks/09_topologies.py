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
# # 09 · Which graph is worth its messages?
#
# **Question.** Eight roles could tell each other everything. Each message helps its reader or misleads
# it, tires it, and costs tokens. Is it better to leave all edges out, to put all in, or to choose a few
# with care? And what decides the answer?
#
# **Metric.** *Utility*: share of right final answers minus β = 0.01 for every *reference call* that the
# team costs (one usual call of the dearest LLM of the pool).
#
# An edge *u → v* says that role *v* reads the message of role *u*. At the end a *decision* LLM gives
# the answer. It reads either **all** messages, or only those of the **sinks**, the roles that nobody else
# reads. The difference matters: under `sinks` an edge also takes a message away from the decision.
#
# **Nothing is built in by naming the answer.** The aimed graph is *searched*: edge by edge, by utility
# alone. It is searched in some simulated worlds, and judged in other worlds on other questions. The
# graphs it is compared with get the same chance: the full graph its best order, the pool its best
# graph, both by the same search worlds.
#
# Reads: the shipped knowledge questions, the role set `choice`, and the simulated pool. Writes: one run
# folder with four figures and three tables. About 40 seconds. Offline and free; the LLMs are
# **simulated**, so nothing here is evidence about the real models whose names they carry.

# %% tags=["parameters"]
difficulties = ["hard", "mmlu-like"]  # simulated worlds; causes are looked for in the first
seeds = [0, 1, 2, 3, 4, 5]  # worlds to judge in
search_seeds = [100, 101, 102, 103]  # other worlds, to search in
versions = 1  # made-up variants of every shipped question, in addition to it
draws = 1  # repetitions of every question
llms = ["gemma-3-27b", "gpt-4o-mini", "qwen3-8b", "gpt-5-nano"]  # given to the roles in turn
decision = "gemma-3-27b"  # LLM that gives the final answer
graphs = 100  # size K of the reference pool
random_graphs = 4  # drawn for each number of edges

# %%
import pandas as pd
from tqdm import tqdm

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import check_plan
from hieramas_lib.experiments.effects.effect_plots import effect_curves, effect_points
from hieramas_lib.experiments.effects.seed_tables import gains_over, over_seeds
from hieramas_lib.experiments.effects.supernodes import open_world
from hieramas_lib.experiments.effects.topologies import (
    AIMED,
    BEST_FULL,
    BEST_OF_POOL,
    EMPTY,
    candidates,
    judge,
    plain_team,
    score_in,
    some_random_graphs,
    texts_read,
)
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topologies
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import mean_over_seeds
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.graph_pool import chain, empty, full, reference_pool, star
from hieramas_lib.teams.oracle.anchors import find_anchors
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import load_roles

# %%
run = start_notebook("09_topologies", globals())
config = run.config
check_plan(
    pool="simulated",
    benchmarks=["knowledge"],
    seeds=config.seeds,
    llms={"decision": config.decision} | {f"llms[{i}]": n for i, n in enumerate(config.llms)},
    at_least_one={
        "draws": config.draws,
        "graphs": config.graphs,
        "random_graphs": config.random_graphs,
        "search_seeds (how many)": len(config.search_seeds),
        "llms (how many)": len(config.llms),
    },
)
if shared := set(config.seeds) & set(config.search_seeds):
    raise ConfigError(f"search_seeds: {shared} are in seeds, too; judge in worlds not searched in")
print(run)

# %% [markdown]
# ## What a graph costs in reading: a count to check by hand
#
# Take four roles. Every edge is one message read by a role, and the decision reads some more: all
# four messages, or those of the sinks.
#
# * **empty**: no edge; everybody is a sink. 0 + 4 = 4 messages are read, either way.
# * **chain**: 3 edges, one sink. Sinks: 3 + 1 = 4. All: 3 + 4 = 7.
# * **star** (everybody reads the first): 3 edges, three sinks. Sinks: 3 + 3 = 6. All: 3 + 4 = 7.
# * **full**: 6 edges, one sink. Sinks: 6 + 1 = 7. All: 6 + 4 = 10.
#
# So the empty and the chain cost the same amount of reading under `sinks`, but who reads is another:
# in the empty graph one reader has to cope with four messages, in the chain each copes with one.

# %%
roles = load_roles("choice")
four = roles.model_copy(update={"roles": roles.roles[:4]})
counts = {}
for reads in ("sinks", "all"):
    small = plain_team(four, config.llms, config.decision, reads)
    families = {"empty": empty(4), "chain": chain(4), "star": star(4), "full": full(4)}
    counts[reads] = {name: texts_read(small, graph) for name, graph in families.items()}
pd.DataFrame(counts)

# %% [markdown]
# ## The team, the worlds and the questions
#
# Who sits where is not the subject of this notebook, so it is fixed: every role is kept, by one LLM
# without proposers, four cheap LLMs in turn. There are four of them as a team of one LLM would share
# its blind spots, whatever the graph.
#
# One half of the questions is for searching, the other for judging. The shipped 280 are too few for
# effects of one point, so each gets made-up *versions*: questions of the same subject for which the
# simulated world draws anew how hard they are and who knows them. A seed is a world of its own, and
# the search worlds are not among those in which is judged.

# %%
shipped = load_tasks("knowledge")
search_half, judge_half = halves([*shipped, *more_questions(shipped, config.versions)], 0)
pool = load_pool(data_path("llm_pool.yaml")).simulated()
graph_pool = reference_pool(len(roles.roles), config.graphs, seed=0)
teams = {
    reads: plain_team(roles, config.llms, config.decision, reads) for reads in ("sinks", "all")
}
print({node.role: node.synthesizer for node in teams["sinks"].supernodes})


def open_worlds(settings, tasks, seeds):
    """Return worlds with these settings by seed."""
    return {s: open_world(settings, pool, roles, tasks, s, draws=config.draws) for s in seeds}


# %% [markdown]
# **The search.** `candidates` grows a graph: from no edges it adds the one edge, of up to 56, that
# raises utility most; then the next; until none helps. This graph and the best one of the pool are then
# improved: one edge is added, taken away or turned round, whichever helps most, until nothing does.
# The better end is the *aimed* graph. For the full graph, one role at a time is moved to a better
# place in the order, from two starts. All are greedy searches, so what they find is a lower bound. An order
# that is best in the search worlds need not be best elsewhere, so the declared order stands beside it.


# %%
def compare(searched, judged):
    """Search in some worlds and judge in others, for both ways to read."""
    rows, paths, aimed = [], {}, {}
    for reads, team in teams.items():
        found, grown = candidates(score_in(list(searched.values()), team), graph_pool)
        paths[reads], aimed[reads] = grown, found[AIMED]
        rows += [{"reads": reads} | row for row in judge(judged, team, found)]
    return pd.DataFrame(rows), paths, aimed


def open_both(settings):
    """Return the worlds to search in and those to judge in."""
    return (
        open_worlds(settings, search_half, config.search_seeds),
        open_worlds(settings, judge_half, config.seeds),
    )


def read_as(difficulty, settings):
    """Return the worlds of a difficulty with other knobs of reading; nothing else is drawn anew."""
    return [
        {seed: world.with_reading(settings) for seed, world in part.items()}
        for part in worlds[difficulty]
    ]


worlds = {name: open_both(load_settings(name)) for name in config.difficulties}
measured = {n: compare(*read_as(n, load_settings(n))) for n in tqdm(config.difficulties)}
main = pd.concat([rows.assign(difficulty=name) for name, (rows, *_) in measured.items()])
values = ["utility", "accuracy", "cost_reference"]
within = ["difficulty", "reads", "seed"]

# %% [markdown]
# ## Who wins?
#
# Without edges it makes no difference what the decision reads, so the empty graph is the common zero of
# the next figure: each point is the utility of a graph minus that of no graph, in the same world.

# %%
gains = gains_over(main, "graph", EMPTY, within, values)
gains["panel"], gains["series"] = gains["difficulty"] + " world", "decision reads " + gains["reads"]
shown = over_seeds(gains[gains["graph"] != EMPTY], ["panel", "graph", "series"], values)
save_figure(
    run,
    effect_points(
        shown.rename(columns={"graph": "row"}),
        "utility",
        xlabel="utility × 100, minus that of the empty graph",
        scale=100,
    ),
    "graphs",
    caption="Utility (β = 0.01) of graphs minus that of the empty graph. The last three were chosen in "
    f"{len(config.search_seeds)} other worlds on other questions. Means over {len(config.seeds)} "
    "worlds with 95 % intervals.",
    simulated=True,
    alt="Gains of seven graphs over the empty one, for a decision that reads the sinks or all, in "
    "each difficulty.",
)

# %% [markdown]
# Utilities by themselves, with what they must be seen against: a team drawn at random, the decision
# LLM without a team, and the strongest LLM of the pool alone. A graph may be the best of all graphs and
# the team still not worth its price.

# %%
options = TeamOptions(roles, pool.names, 0, graph_pool.topologies, config.decision)
rows = []
for difficulty, (_, judged) in worlds.items():
    for seed, world in judged.items():
        anchors = find_anchors(options, world, teams=20, seed=seed)
        for name, estimate in (
            ("random team", anchors.random),
            ("decision alone", anchors.decision_alone),
            ("strongest LLM alone", anchors.strongest_alone),
        ):
            numbers = (estimate.mean, estimate.accuracy, estimate.cost)
            rows.append(
                {"difficulty": difficulty, "reads": "–", "seed": seed, "graph": name}
                | dict(zip(values, numbers, strict=True))
            )
anchor_rows = pd.DataFrame(rows)
table = over_seeds(pd.concat([main, anchor_rows]), ["difficulty", "reads", "graph"], values)
table = table.drop(columns=["cost_reference_low", "cost_reference_high"])
caption = "Utility, accuracy and cost by graph, with anchors. 95 % intervals over worlds."
run.save_metrics(table)
run.save_table(table, "graphs", caption, simulated=True)
presentable(table)

# %% [markdown]
# ## How many edges?
#
# The search grows a graph one edge at a time. Here is every graph on the way, judged where it was not
# searched, beside random graphs with as many edges. If density were what counts, the two curves
# would be one.

# %%
first = config.difficulties[0]
_, paths, aimed = measured[first]
_, judged = worlds[first]
numbers = [0, 2, 4, 7, 10, 14, 19, 24, 28]
drawn = some_random_graphs(len(roles.roles), numbers, config.random_graphs, seed=0)
rows = []
for reads, team in teams.items():
    grown = {f"grown {len(g.edges)}": g for g in paths[reads]}
    rows += [
        {"reads": reads, "series": "grown edge by edge"} | r for r in judge(judged, team, grown)
    ]
    rows += [{"reads": reads, "series": "random"} | r for r in judge(judged, team, drawn)]
by_edges = pd.DataFrame(rows).assign(difficulty=first)
singles = main[
    (main["difficulty"] == first) & (main["graph"].isin([AIMED, BEST_OF_POOL, BEST_FULL]))
]
by_edges = pd.concat([by_edges, singles.assign(series=singles["graph"])])

# %%
zero = main[(main["difficulty"] == first) & (main["graph"] == EMPTY)]
edge_gains = gains_over(
    pd.concat([by_edges, zero.assign(series="zero")]), "series", "zero", within, ["utility"]
)
edge_gains = edge_gains[edge_gains["series"] != "zero"]
edge_gains["panel"] = "decision reads " + edge_gains["reads"]
edge_curves = over_seeds(edge_gains, ["panel", "series", "edges"], ["utility"])
save_figure(
    run,
    effect_curves(
        edge_curves,
        "edges",
        {"utility": "utility × 100, minus empty"},
        xlabel="edges of the graph (28 is full)",
        scale=100,
    ),
    "edges",
    caption=f"Utility (β = 0.01) minus that of the empty graph, against the number of edges; {first} "
    f"world. Random: {config.random_graphs} graphs for each number. Means over {len(config.seeds)} "
    "worlds with 95 % intervals.",
    simulated=True,
    alt="Two panels, the decision reading sinks or all. The grown graphs rise with their first edges "
    "above random graphs of equally many edges.",
)

# %% [markdown]
# ## Why? Take the causes away
#
# The world has a knob for everything that a message does. Each is set to zero in turn, and the whole
# search is done again in the changed world, as another world has another best graph.
#
# * **fatigue**: every text read costs its reader some ability;
# * **persuasion**: texts that agree sway their reader, right or wrong;
# * **recognition**: a right answer is easier to recognise than to find;
# * **fit and checking**: experts are better in their own subjects and worse in others, and the critic
#   recognises better than it answers. Without them all roles are equal.


# %%
ROLES_ALIKE = "no fit, no checking"


def ablations(settings):
    """Return the settings with causes set to zero, by what is missing."""

    def reading(**knobs):
        changed = settings.with_knobs("reading", **knobs)
        return changed.with_knobs("checker", recognition=0.0) if "recognition" in knobs else changed

    roles_alike = settings.with_knobs("fit", own=0.0, other=0.0)
    roles_alike = roles_alike.with_knobs("checker", production=0.0, recognition=0.0, persuasion=1.0)
    return {
        ROLES_ALIKE: roles_alike,
        "no recognition": reading(recognition=0.0),
        "no persuasion": reading(persuasion=0.0),
        "no fatigue": reading(fatigue=0.0),
        "no persuasion, no fatigue": reading(persuasion=0.0, fatigue=0.0),
        "messages do nothing": reading(recognition=0.0, persuasion=0.0, fatigue=0.0),
    }


parts = [main[main["difficulty"] == first].assign(knobs="as shipped")]
for knobs, settings in tqdm(ablations(load_settings(first)).items()):
    # Fit is part of what LLMs know, so that without it the worlds are others.
    both = open_both(settings) if knobs == ROLES_ALIKE else read_as(first, settings)
    rows, *_ = compare(*both)
    parts.append(rows.assign(difficulty=first, knobs=knobs))
causes = pd.concat(parts)

# %%
keys = ["knobs", "reads", "seed"]
against = {EMPTY: "aimed − empty", BEST_FULL: "aimed − full in its best order"}
gain_rows = []
for other, name in against.items():
    gained = gains_over(causes, "graph", other, keys, ["utility"])
    gain_rows.append(gained[gained["graph"] == AIMED].assign(series=name))
cause_gains = pd.concat(gain_rows)
cause_gains["panel"] = "decision reads " + cause_gains["reads"]
cause_table = over_seeds(cause_gains, ["panel", "knobs", "series"], ["utility"])
save_figure(
    run,
    effect_points(
        cause_table.rename(columns={"knobs": "row"}),
        "utility",
        xlabel="difference in utility × 100",
        scale=100,
    ),
    "causes",
    caption=f"Gain of the aimed graph with causes taken out of the {first} world; every row has its own "
    f"search. Means over {len(config.seeds)} worlds with 95 % intervals.",
    simulated=True,
    alt="Differences between the aimed graph and the empty or best full one, under seven settings; "
    "zero where messages do nothing.",
)

# %% [markdown]
# **How to read it** (at the default parameters). Each point is a difference within one setting: it says by
# how much one graph beats another there, not how good either is. Where messages do nothing, no graph
# beats another but by its price, and that is small: one message more is some tokens, not a call.
#
# Under **sinks**, the gain over no graph is gone once persuasion *and* fatigue are: a decision that
# neither tires nor gets talked into anything can as well read everybody itself. (The full graph may
# still lose a little: its decision reads one message only, and cannot recognise what is not in it.)
# Under **all**, an edge spares the decision nothing, and the gain over no graph has one cause: without
# persuasion the search finds no edge worth adding. Over the full graph in its best order, the aimed one
# gains as shipped under `sinks` only. Equal roles (no fit, no checking) and no recognition do **not** take the
# gain over no graph away, under either rule.
#
# ## What the aimed graphs look like

# %%
titles = {
    f"decision reads {reads}: {len(graph.edges)} edges": graph for reads, graph in aimed.items()
}
save_figure(
    run,
    draw_topologies(titles, roles.names, columns=1),
    "aimed",
    caption=f"The aimed graphs of the {first} world, ids "
    + " and ".join(graph.id for graph in aimed.values())
    + ".",
    simulated=True,
    alt="Two directed acyclic graphs over the eight roles with sources and sinks marked.",
)

# %% [markdown]
# ## What we saw

# %%
records = pd.concat(
    {"main": main, "anchors": anchor_rows, "edges": by_edges, "causes": causes}, names=["part"]
).reset_index("part")
each = len(config.difficulties) * len(config.seeds)
planned = each * (2 * 8 + 3) + len(config.seeds) * 2 * (
    len(drawn) + 3 + 7 * 8
)  # and the grown graphs, as many as the search added
planned += len(config.seeds) * sum(len(path) for path in paths.values())
run.save_records(records)


def difference(frame, ours, theirs):
    """Return the utility of one graph minus that of another, over worlds."""
    by_graph = frame.pivot_table(index="seed", columns="graph", values="utility")
    return mean_over_seeds(by_graph[ours] - by_graph[theirs])


def verdict(gain):
    """Say what an interval shows."""
    return "beats" if gain.low > 0 else "falls below" if gain.high < 0 else "is on a par with"


# %%
conclusions = []
for (difficulty, reads), frame in main.groupby(["difficulty", "reads"], sort=False):
    graph = measured[difficulty][2][reads]
    sentences = [
        f"{verdict(gain)} {name} ({gain})"
        for name, other in (
            ("the empty one", EMPTY),
            ("the full one in its best order", BEST_FULL),
            ("the best of the pool", BEST_OF_POOL),
        )
        for gain in [difference(frame, AIMED, other)]
    ]
    conclusions.append(
        f"{difficulty} world, decision reads {reads}: the aimed graph, with {len(graph.edges)} of 28 "
        f"edges, {', '.join(sentences)}; differences in utility, β = 0.01."
    )
for knobs in (ROLES_ALIKE, "no persuasion, no fatigue", "messages do nothing"):
    frame = causes[(causes["knobs"] == knobs) & (causes["reads"] == "sinks")]
    conclusions.append(
        f"Reading sinks, {first} world, {knobs}: aimed minus empty {difference(frame, AIMED, EMPTY)}, "
        f"aimed minus best full {difference(frame, AIMED, BEST_FULL)}."
    )
aimed_row, strongest = (
    table[(table["difficulty"] == first) & (table["graph"] == name)].iloc[0]["utility"]
    for name in (AIMED, "strongest LLM alone")
)
conclusions.append(
    f"The team with the aimed graph reaches {aimed_row:.3f} in the {first} world, the strongest LLM "
    f"alone {strongest:.3f}: "
    + (
        "the graph makes the team worth its price."
        if aimed_row > strongest
        else "a good graph does not make up for a team of cheap LLMs."
    )
)
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %%
cause_table = cause_table.rename(columns={"panel": "decision", "series": "difference"})
run.save_table(
    cause_table,
    "causes",
    "Differences in utility with causes taken away, with 95 % intervals over worlds.",
    simulated=True,
)
edge_table = edge_curves.rename(columns={"panel": "decision", "series": "graphs"})
run.save_table(
    edge_table,
    "edges",
    "Utility minus that of the empty graph by number of edges, 95 % intervals over worlds.",
    simulated=True,
)

# %% [markdown]
# ## Exercises
#
# 1. How many messages are read in a full graph of eight roles if the decision reads the sinks? Work it
#    out as in the count above, set `my_count`, and run the cell.
# 2. Set `llms` to one LLM, the decision's own. Do the edges matter more or less, and why?
# 3. Set `decision` to `gpt-5-mini`. Is there still a graph that is worth its messages when it reads all?

# %%
my_count = None  # such as 20
right = texts_read(teams["sinks"], full(len(roles.roles)))
print("exercise 1:", "not answered yet" if my_count is None else my_count == right)

# %%
print(
    run.finish(
        rows=planned,
        figures=["graphs", "edges", "causes", "aimed"],
        tables=["graphs", "causes", "edges"],
    )
)
