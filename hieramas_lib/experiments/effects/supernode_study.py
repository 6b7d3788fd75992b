"""What fills a supernode best, measured in one simulated world after another (design 7).

Each measurement takes the plan of a world and returns a frame with columns ``panel`` (the world's
difficulty), ``series`` (what is missing in it) and ``seed`` first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hieramas_lib.experiments.effects.experts import worth_of_experts
from hieramas_lib.experiments.effects.knobs import (
    without_difference,
    without_fit,
    without_reading,
)
from hieramas_lib.experiments.effects.seed_tables import gains_over, over_seeds
from hieramas_lib.experiments.effects.supernodes import (
    best_supernode,
    by_company,
    by_width,
    equal_llms,
    neutral_roles,
    open_world,
    rotations,
    supernode_results,
)
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import SKIP

if TYPE_CHECKING:
    import pandas as pd

ALL_EXPERTS = "all experts"
_CREW = ("synthesizer", "proposers")


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """A simulated world to measure in, not opened yet.

    Attributes:
        difficulty: A shipped one, see :func:`~.llms.world.load_settings`.
        seed: Of the world and of the luck of calls.
        tasks: The questions.
        pool: The LLMs, simulated.
        draws: Repetitions of every question.
    """

    difficulty: str
    seed: int
    tasks: tuple[Task, ...]
    pool: LLMPool
    draws: int

    @property
    def settings(self) -> WorldSettings:
        """Settings of the difficulty as shipped."""
        return load_settings(self.difficulty)

    def frame(self, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> "pd.DataFrame":
        """Label rows that were found, by series, with this world."""
        import pandas as pd

        place = {"panel": f"{self.difficulty} world"}
        return pd.DataFrame(
            [
                place | {"series": series, "seed": self.seed} | dict(row)
                for series, rows in found.items()
                for row in rows
            ]
        )


def plan_worlds(
    difficulties: Iterable[str], seeds: Sequence[int], *, versions: int, draws: int
) -> list[WorldPlan]:
    """Return plans for the shipped knowledge questions, seeds varying fastest.

    ``versions`` made-up variants of every question are asked besides it.
    """
    shipped = load_tasks("knowledge")
    tasks = (*shipped, *more_questions(shipped, versions))
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    return [WorldPlan(name, seed, tasks, pool, draws) for name in difficulties for seed in seeds]


def mixed_proposers(plan: WorldPlan, synthesizer: str) -> "pd.DataFrame":
    """Let the whole pool join as proposers one by one, in all rotations of a shuffled order."""
    return _by_width(plan, rotations(plan.pool.names, plan.seed), synthesizer)


def copied_proposers(plan: WorldPlan, copied: str, reader: str) -> "pd.DataFrame":
    """Let copies of one LLM join one by one, as many as the pool has LLMs."""
    return _by_width(plan, [(copied,) * len(plan.pool.names)], reader)


def _by_width(plan: WorldPlan, orders: Sequence[Sequence[str]], synthesizer: str) -> "pd.DataFrame":
    roles = neutral_roles("choice")
    world = open_world(plan.settings, plan.pool, roles, plan.tasks, plan.seed, draws=plan.draws)
    return plan.frame(
        {
            knobs: by_width(world.with_reading(settings), orders, synthesizer)
            for knobs, settings in without_reading(plan.settings).items()
        }
    )


def trios_by_company(plan: WorldPlan, like: str) -> "pd.DataFrame":
    """Compare trios of equally able LLMs, all of them ``like`` one, by what they share."""
    found, roles = {}, neutral_roles("choice")
    for knobs, settings in without_difference(plan.settings).items():
        pool, adapted = equal_llms(plan.pool, settings, like, families=3, members=3)
        world = open_world(adapted, pool, roles, plan.tasks, plan.seed, draws=plan.draws)
        found[knobs] = by_company(world)
    return plan.frame(found)


def lone_experts(plan: WorldPlan, expert: str, decision: str) -> "pd.DataFrame":
    """Let each expert's role by itself inform the decision, with fit and without.

    The column ``place`` names the subjects and the series: ``"own subjects, no fit"``.
    """
    found, roles = {}, load_roles("choice")
    for knobs, settings in without_fit(plan.settings).items():
        world = open_world(settings, plan.pool, roles, plan.tasks, plan.seed, draws=plan.draws)
        found[knobs] = worth_of_experts(world, settings, expert, decision)
    frame = plan.frame(found)
    frame["place"] = frame["place"] + ", " + frame["series"]
    return frame


def expert_table(experts: "pd.DataFrame") -> "pd.DataFrame":
    """Return utility and right messages over seeds, the mean of :data:`ALL_EXPERTS` first."""
    import pandas as pd

    group = ["panel", "series", "seed", "place"]
    average = experts.groupby(group, sort=False, as_index=False).mean(numeric_only=True)
    both = pd.concat([average.assign(role=ALL_EXPERTS), experts])
    return over_seeds(both, ["panel", "role", "place"], ["utility_gain", "message_right"])


def searched_supernodes(plan: WorldPlan, width: int) -> "pd.DataFrame":
    """Search the best supernode on half of the questions, and judge it on the other half.

    Returns:
        A row for each series ``"at most 0"`` to ``width``: accuracy, utility and cost on the other
        half, the ``synthesizer``, and the ``proposers``, a tuple.
    """
    roles, rows = neutral_roles("choice"), {}
    search, check = (
        open_world(plan.settings, plan.pool, roles, half, plan.seed, draws=plan.draws)
        for half in halves(plan.tasks, 0)
    )
    for most in range(width + 1):
        best = best_supernode(search, plan.pool.names, most)
        result = supernode_results(check, best).estimate()
        row = {"accuracy": result.accuracy, "utility": result.mean, "cost_reference": result.cost}
        crew = dict(zip(_CREW, (best.synthesizer, best.proposers), strict=True))
        rows[f"at most {most}"] = [row | crew]
    return plan.frame(rows)


def without_crews(searched: "pd.DataFrame") -> "pd.DataFrame":
    """Return the numbers of :func:`searched_supernodes` without who sits where."""
    return searched.drop(columns=list(_CREW))


def search_table(searched: "pd.DataFrame") -> "pd.DataFrame":
    """Return means over seeds by world and number of proposers, and the gain over none."""
    by = ["panel", "series"]
    table = over_seeds(searched, by, ["accuracy", "utility", "cost_reference"])
    gains = gains_over(searched, "series", "at most 0", ["panel", "seed"], ["utility"])
    over_one = over_seeds(gains, by, ["utility"])
    for end in ("", "_low", "_high"):
        table[f"gain{end}"] = over_one[f"utility{end}"]
    return table.rename(columns={"panel": "world", "series": "proposers"})


def seat_shares(searched: "pd.DataFrame", llms: Sequence[str], width: int) -> "pd.DataFrame":
    """Return the share of each LLM among the seats of the best supernodes, a row a position.

    An LLM that sits twice counts twice; an empty seat counts as :data:`~.supernode.SKIP`.
    """
    import pandas as pd

    shares = {}
    largest = searched[searched["series"] == f"at most {width}"]
    for panel, crews in largest.groupby("panel", sort=False):
        name = str(panel).removesuffix(" world")
        shares[f"{name} · proposers"] = crews["proposers"].explode().value_counts(normalize=True)
        shares[f"{name} · synthesizer"] = crews["synthesizer"].value_counts(normalize=True)
    return pd.DataFrame(shares).reindex([*llms, SKIP]).fillna(0.0).T


def effects_table(
    mixed: "pd.DataFrame", copies: "pd.DataFrame", company: "pd.DataFrame"
) -> "pd.DataFrame":
    """Put the gains of proposers, copies and company (:func:`.panel_gains`) below one another."""
    import pandas as pd

    table = pd.concat(
        [
            mixed.rename(columns={"width": "level"}).assign(effect="mixed proposers"),
            copies.rename(columns={"width": "level"}).assign(effect="copies"),
            company.rename(columns={"company": "level"}).assign(effect="company"),
        ]
    ).rename(columns={"panel": "world", "series": "knobs"})
    numbers = [f"{v}{end}" for v in ("accuracy", "utility") for end in ("", "_low", "_high")]
    return table[["effect", "world", "knobs", "level", *numbers]]
