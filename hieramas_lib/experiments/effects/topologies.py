"""What a graph is worth to a given team: search in some worlds, judge in others (design 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hieramas_lib.teams.graph_pool import GraphPool, chain, empty, full, layered, star
from hieramas_lib.teams.graph_search import GraphScore, best_full, grow, improve, random_graph
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import Supernode
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Reads, Team
from hieramas_lib.teams.topology import Topology

AIMED, EMPTY, BEST_FULL, BEST_OF_POOL = "aimed", "empty", "full, best order", "best of the pool"
"""Names of the graphs that are compared most."""


def plain_team(roles: RoleSet, llms: Sequence[str], decision: str, reads: Reads) -> Team:
    """Return a team that keeps every role, each one LLM: ``llms`` in turn, without edges."""
    nodes = tuple(
        Supernode(name, (), llms[node % len(llms)]) for node, name in enumerate(roles.names)
    )
    return Team(roles, nodes, Topology(len(nodes)), decision, reads)


def texts_read(team: Team, graph: Topology) -> int:
    """Return how many messages are read in a rollout with ``graph``, by roles and decision."""
    with_graph = replace(team, topology=graph)
    return len(with_graph.edges) + len(with_graph.informants)


def score_in(worlds: Sequence[SymbolicTeams], team: Team) -> GraphScore:
    """Return the mean utility of ``team`` with a graph, over ``worlds``; remembered by graph."""
    known: dict[Topology, float] = {}

    def score(graph: Topology) -> float:
        if graph not in known:
            with_graph = replace(team, topology=graph)
            known[graph] = float(
                np.mean([world.results(with_graph).utility.mean() for world in worlds])
            )
        return known[graph]

    return score


def candidates(
    score: GraphScore, pool: GraphPool, *, starts: int = 2
) -> tuple[dict[str, Topology], tuple[Topology, ...]]:
    """Return the graphs to compare, by name, and the graphs grown edge by edge on the way.

    Fixed families in declared order; and three that ``score`` chooses: the full graph in its best
    order, the best of ``pool``, and the aimed one. That is improved edge by edge from two starts,
    the last graph grown and the best of the pool.
    """
    size = pool.size
    grown, best = grow(size, score), max(pool, key=score)
    graphs = {
        EMPTY: empty(size),
        "chain": chain(size),
        "star": star(size),
        "two layers": layered(size),
        "full": full(size),
        BEST_FULL: best_full(size, score, starts=starts),
        BEST_OF_POOL: best,
        AIMED: max((improve(start, score) for start in (grown[-1], best)), key=score),
    }
    return graphs, grown


def judge(
    worlds: Mapping[int, SymbolicTeams], team: Team, graphs: Mapping[str, Topology]
) -> list[dict[str, object]]:
    """Return utility, accuracy and cost of ``team`` with each graph in each world, by seed."""
    rows: list[dict[str, object]] = []
    for seed, world in worlds.items():
        for name, graph in graphs.items():
            estimate = world.results(replace(team, topology=graph)).estimate()
            rows.append(
                {
                    "seed": seed,
                    "graph": name,
                    "edges": len(graph.edges),
                    "utility": estimate.mean,
                    "accuracy": estimate.accuracy,
                    "cost_reference": estimate.cost,
                }
            )
    return rows


def some_random_graphs(
    size: int, edges: Sequence[int], each: int, seed: int
) -> dict[str, Topology]:
    """Draw ``each`` random graphs for every number of edges, named by number of edges and draw."""
    rng = np.random.default_rng(seed)
    return {f"random {n}/{i}": random_graph(size, n, rng) for n in edges for i in range(each)}
