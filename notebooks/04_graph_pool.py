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
# # 04 · Which graphs are there to choose from?
#
# **Question.** HieraMAS does not invent a graph for every question. It draws a *pool* of candidate
# graphs once and learns which of them fits which question. What does such a pool look like: how
# dense are its graphs, how alike, and which roles begin and end the conversation?
#
# An edge *u → v* means: the supernode with role *v* reads the message of the supernode with role
# *u*. Messages cannot go in circles, so a graph is a *DAG* (directed acyclic graph). A role that
# reads nobody is a *source*; a role that nobody reads is a *sink*.
#
# Reads: the role set `choice`. Writes: one run folder with four figures and two tables.
# About 10 seconds. No LLM is called, so nothing is spent, whatever pool you own.

# %% tags=["parameters"]
seed = 0  # of the random generator
graphs = 100  # size K of the pool
density_low = 0.3  # smallest share of forward edges, of n(n-1)/2
density_high = 0.7  # largest share of forward edges

# %%
from collections import Counter

import numpy as np
import pandas as pd
from IPython.display import display

from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.graph_drawing import draw_topology
from hieramas_lib.experiments.plots import density_histogram, jaccard_matrix
from hieramas_lib.experiments.runs import start_run
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.teams.graph_pool import reference_pool
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.topology import Topology, jaccard

run = start_run(
    "04_graph_pool",
    {
        "seed": seed,
        "graphs": graphs,
        "density_low": density_low,
        "density_high": density_high,
    },
)
config = run.config
print(run)

# %% [markdown]
# ## A pool small enough to check by hand
#
# Take three roles, *a*, *b* and *c*. The generator that the paper's code uses works like this:
#
# 1. shuffle the roles; this is the order in which they may speak;
# 2. every role but the first reads one earlier role, drawn at random, so that nobody is cut off;
# 3. add more forward edges, up to the wanted density.
#
# With three roles there are 3 forward pairs, and step 2 already uses 2 of them. With a density of
# at most 0.7 there may be ⌊0.7 · 3⌋ = 2 edges, so step 3 adds nothing. How many different graphs
# can come out? Either a chain (3! = 6 orders), or one role that two others read (3 choices of that
# role): **9 graphs**. Beyond what this generator reaches, two roles may be read by a third (3 graphs),
# and all three pairs may be joined (6 graphs). That makes 18 connected DAGs, so a pool of 100 cannot exist.
# (The published code tries a thousand times for every question, warns, and goes on with 9.) Ours
# holds all there are, and says so.

# %%
small = reference_pool(3, 100, density=(0.3, 0.7), seed=0)
print(len(small), "graphs.", small.note)
print(Counter(len(topology.edges) for topology in small), "edges: graphs")

# %% [markdown]
# Two graphs can be compared by the *Jaccard similarity* of their edge sets: edges in both, divided
# by edges in either. The chains *a → b → c* and *a → c → b* share no edge. The chain *a → b → c*
# and the fork *a → b, a → c* share one edge of three.

# %%
chain = Topology(3, ((0, 1), (1, 2)))
other_chain = Topology(3, ((0, 2), (2, 1)))
fork = Topology(3, ((0, 1), (0, 2)))
print(jaccard(chain, other_chain), jaccard(chain, fork))

# %% [markdown]
# The code refuses a graph that is no DAG, and says where the circle is. (The published code of
# HieraMAS does not: it falls back to the order of the role list and silently drops half of the
# edges.)

# %%
try:
    Topology(3, ((0, 1), (1, 2), (2, 0)))
except ValueError as error:
    print(error)

# %% [markdown]
# ## The pool for eight roles
#
# The multiple-choice team has eight roles. Its pool is drawn once with a fixed seed, and every
# graph has an id, so that "graph so-and-so was chosen 31 times" means the same thing tomorrow.

# %%
roles = load_roles("choice").names
density = (config.density_low, config.density_high)
pool = reference_pool(len(roles), config.graphs, density=density, seed=config.seed)
pool.save(run.folder / "graph_pool.json")
print(len(pool), "graphs over", len(roles), "roles.", pool.note)

# %% [markdown]
# **Density.** The paper reports edges / *n(n − 1)*, so a full DAG has density 0.5. In these units
# the three graphs most often selected in the paper have densities from 0.23 to 0.32.

# %%
densities = np.array([topology.density for topology in pool])
save_figure(
    run,
    density_histogram({"pool": densities}),
    "density",
    caption=f"Density of the {len(pool)} graphs of the pool, edges / n(n-1).",
    simulated=False,
    alt=f"Histogram of densities from {densities.min():.2f} to {densities.max():.2f}.",
)

# %% [markdown]
# **Likeness.** If all graphs were nearly the same, there would be nothing to choose. The matrix
# shows the Jaccard similarity of the first twelve graphs; the printed mean is over all pairs.

# %%
first = list(pool)[:12]
matrix = [[jaccard(a, b) for b in first] for a in first]
pairs = [jaccard(a, b) for i, a in enumerate(pool) for b in list(pool)[:i]]
mean_similarity = float(np.mean(pairs))
print(f"mean over {len(pairs)} pairs: {mean_similarity:.3f}")
save_figure(
    run,
    jaccard_matrix(matrix, labels=[str(i) for i in range(len(first))]),
    "jaccard",
    caption="Jaccard similarity of the edge sets of the first twelve graphs of the pool.",
    simulated=False,
    alt="Matrix of pairwise similarities, 1 on the diagonal and mostly below 0.4 elsewhere.",
)

# %% [markdown]
# **A sparse and a dense example.** Messages flow from left to right; sources and sinks are marked.

# %%
sparsest = pool[int(densities.argmin())]
densest = pool[int(densities.argmax())]
for name, topology in (("sparsest", sparsest), ("densest", densest)):
    edges = len(topology.edges)
    figure = save_figure(
        run,
        draw_topology(topology, roles),
        f"graph_{name}",
        caption=f"The {name} graph of the pool: {edges} edges, id {topology.id}.",
        simulated=False,
        alt=f"Drawing of a directed acyclic graph with {len(roles)} roles and {edges} edges.",
    )
    display(figure)

# %% [markdown]
# **Who begins, who ends.** By construction every graph has exactly one source. How often each role
# is a source or a sink shows whether the generator favours anybody.

# %%
ends = pd.DataFrame(
    {
        "role": roles,
        "source_share": [np.mean([i in t.sources for t in pool]) for i in range(len(roles))],
        "sink_share": [np.mean([i in t.sinks for t in pool]) for i in range(len(roles))],
    }
)
run.save_table(
    ends, "ends", "Share of the pool in which a role is a source or a sink", simulated=False
)
presentable(ends)

# %% [markdown]
# ## What we saw

# %%
edge_counts = [len(topology.edges) for topology in pool]
sources = [len(topology.sources) for topology in pool]
sinks = [len(topology.sinks) for topology in pool]
metrics = pd.DataFrame(
    {
        "graphs": [len(pool)],
        "edges_min": [min(edge_counts)],
        "edges_mean": [np.mean(edge_counts)],
        "edges_max": [max(edge_counts)],
        "density_mean": [densities.mean()],
        "jaccard_mean": [mean_similarity],
        "sources_mean": [np.mean(sources)],
        "sinks_mean": [np.mean(sinks)],
    }
)
run.save_metrics(metrics)
run.save_table(metrics, "pool", f"The graph pool of {len(roles)} roles", simulated=False)
conclusions = [
    f"The pool holds {len(pool)} distinct graphs with {min(edge_counts)} to {max(edge_counts)} edges "
    f"(mean {np.mean(edge_counts):.1f}); density {densities.min():.2f} to {densities.max():.2f}.",
    f"Two graphs share on average {mean_similarity:.0%} of their edges: "
    + ("there is something to choose." if mean_similarity < 0.5 else "they are much alike."),
    f"A graph has on average {np.mean(sources):.1f} sources and {np.mean(sinks):.1f} sinks.",
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. With five roles and densities from 0.3 to 0.75, how many edges can a graph have? Work it out from
#    the three steps above (the wanted number is rounded down), set `my_range`, and run the cell.
# 2. Set `density_high` to 1.0 and `graphs` to 200 and run again. Does the mean similarity rise or
#    fall, and why?
# 3. How many of the 18 graphs of three roles join all three pairs, and why is it that number?
#
# **With your own roles.** Write a role file like `data/roles/choice.yaml` and pass its path to
# `load_roles`; everything above works unchanged.

# %%
my_range = None  # such as (1, 9)
five = reference_pool(5, 200, density=(0.3, 0.75), seed=1)
seen = (min(len(t.edges) for t in five), max(len(t.edges) for t in five))
print("exercise 1:", "not answered yet" if my_range is None else my_range == seen)

# %%
print(
    run.finish(
        figures=["density", "jaccard", "graph_sparsest", "graph_densest"], tables=["ends", "pool"]
    )
)
