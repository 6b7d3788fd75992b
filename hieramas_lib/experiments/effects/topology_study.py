"""Graphs searched in some simulated worlds and judged in others, for two ways to decide (design 7).

Who sits where is the same throughout; what is compared is who reads whom.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.effects.supernodes import open_world
from hieramas_lib.experiments.effects.topologies import (
    AIMED,
    candidates,
    judge,
    plain_team,
    score_in,
)
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.graph_pool import GraphPool, reference_pool
from hieramas_lib.teams.oracle.anchors import find_anchors
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Reads, Team
from hieramas_lib.teams.topology import Topology

if TYPE_CHECKING:
    import pandas as pd

WAYS: Final[tuple[Reads, ...]] = ("sinks", "all")
NO_TEAM: Final = "–"
"""What stands for ``reads`` in rows of the anchors."""

STRONGEST: Final = "strongest LLM alone"


@dataclass(frozen=True, slots=True)
class Worlds:
    """Open worlds of one kind by seed: some to search in, others to judge in."""

    settings: WorldSettings
    searched: Mapping[int, SymbolicTeams]
    judged: Mapping[int, SymbolicTeams]

    def with_reading(self, settings: WorldSettings) -> "Worlds":
        """Return the same worlds with readers of another kind; nothing is drawn anew."""
        searched, judged = (
            {seed: world.with_reading(settings) for seed, world in part.items()}
            for part in (self.searched, self.judged)
        )
        return Worlds(settings, searched, judged)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a search found, and how it did where it was judged.

    Attributes:
        rows: A row for each way to read, world and graph, see :func:`~.topologies.judge`.
        grown: Graphs on the way of the search, by way to read.
        aimed: The aimed graph, by way to read.
    """

    rows: "pd.DataFrame"
    grown: Mapping[Reads, tuple[Topology, ...]]
    aimed: Mapping[Reads, Topology]


@dataclass(frozen=True, slots=True)
class GraphStudy:
    """What stays the same while graphs are compared.

    Attributes:
        teams: The team by what its decision reads, without edges.
        graphs: The pool whose best graph is among those compared.
        llms: The simulated pool.
        search, judge: Questions to search and to judge with.
        search_seeds, seeds: Of the worlds to search and to judge in.
        draws: Repetitions of every question.
    """

    teams: Mapping[Reads, Team]
    graphs: GraphPool
    llms: LLMPool
    search: tuple[Task, ...]
    judge: tuple[Task, ...]
    search_seeds: tuple[int, ...]
    seeds: tuple[int, ...]
    draws: int

    @property
    def roles(self) -> RoleSet:
        """The role set of the teams."""
        return self.teams["all"].roles

    def open(self, settings: WorldSettings) -> Worlds:
        """Open worlds with these settings."""

        def opened(tasks: Sequence[Task], seeds: Sequence[int]) -> dict[int, SymbolicTeams]:
            return {
                seed: open_world(settings, self.llms, self.roles, tasks, seed, draws=self.draws)
                for seed in seeds
            }

        return Worlds(
            settings, opened(self.search, self.search_seeds), opened(self.judge, self.seeds)
        )

    def changed(self, worlds: Worlds, settings: WorldSettings) -> Worlds:
        """Return ``worlds`` with other settings, drawn anew only where these need it.

        Fit is part of what LLMs know, so that with another fit the worlds are others.
        """
        if settings.fit != worlds.settings.fit:
            return self.open(settings)
        return worlds.with_reading(settings)

    def compare(self, worlds: Worlds) -> Comparison:
        """Search in some of the ``worlds`` and judge in the others, for both ways to read."""
        import pandas as pd

        frames, grown, aimed = [], {}, {}
        for reads, team in self.teams.items():
            score = score_in(list(worlds.searched.values()), team)
            found, grown[reads] = candidates(score, self.graphs)
            aimed[reads] = found[AIMED]
            frames.append(_judged(worlds, team, found))
        return Comparison(pd.concat(frames, ignore_index=True), grown, aimed)

    def anchors(self, worlds: Worlds, *, teams: int = 20) -> "pd.DataFrame":
        """Return what a random team, the decision LLM and the strongest LLM reach by themselves.

        A row for each world to judge in and each anchor; ``teams`` teams are drawn at random.
        """
        import pandas as pd

        decision = self.teams["all"].decision
        options = TeamOptions(self.roles, self.llms.names, 0, self.graphs.topologies, decision)
        rows = []
        for seed, world in worlds.judged.items():
            found = find_anchors(options, world, teams=teams, seed=seed)
            named = {
                "random team": found.random,
                "decision alone": found.decision_alone,
                STRONGEST: found.strongest_alone,
            }
            rows += [
                {
                    "reads": NO_TEAM,
                    "seed": seed,
                    "graph": name,
                    "utility": estimate.mean,
                    "accuracy": estimate.accuracy,
                    "cost_reference": estimate.cost,
                }
                for name, estimate in named.items()
            ]
        return pd.DataFrame(rows)

    def by_edges(
        self, worlds: Worlds, found: Comparison, drawn: Mapping[str, Topology]
    ) -> "pd.DataFrame":
        """Judge the grown graphs and those ``drawn`` at random; ``series`` tells them apart."""
        import pandas as pd

        frames = []
        for reads, team in self.teams.items():
            grown = {f"grown {len(graph.edges)}": graph for graph in found.grown[reads]}
            for series, graphs in (("grown edge by edge", grown), ("random", drawn)):
                frames.append(_judged(worlds, team, graphs).assign(series=series))
        return pd.concat(frames, ignore_index=True)


def plan_graphs(
    llms: Sequence[str], decision: str, *, graphs: int, versions: int, draws: int,
    search_seeds: Sequence[int], seeds: Sequence[int],
) -> GraphStudy:  # fmt: skip
    """Plan a study of the shipped knowledge questions and the role set ``choice``.

    Args:
        llms: Given to the roles in turn.
        decision: LLM that gives the final answer.
        graphs: Size K of the reference pool.
        versions: Made-up variants of every question, in addition to it.
        draws: Repetitions of every question.
        search_seeds: Of the worlds to search in, which see one half of the questions.
        seeds: Of the worlds to judge in, which see the other.

    Raises:
        ConfigError: a world is in both lists.
    """
    if shared := set(seeds) & set(search_seeds):
        raise ConfigError(
            f"search_seeds: {shared} are in seeds, too; judge in worlds not searched in"
        )
    roles, shipped = load_roles("choice"), load_tasks("knowledge")
    search, check = halves([*shipped, *more_questions(shipped, versions)], 0)
    return GraphStudy(
        teams={reads: plain_team(roles, llms, decision, reads) for reads in WAYS},
        graphs=reference_pool(len(roles.roles), graphs, seed=0),
        llms=load_pool(data_path("llm_pool.yaml")).simulated(),
        search=tuple(search),
        judge=tuple(check),
        search_seeds=tuple(search_seeds),
        seeds=tuple(seeds),
        draws=draws,
    )


def _judged(worlds: Worlds, team: Team, graphs: Mapping[str, Topology]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([{"reads": team.reads} | row for row in judge(worlds.judged, team, graphs)])
