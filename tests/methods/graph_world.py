"""One world for all learners of graphs: its structure matters, and is there to be learned.

Five roles in an order that is of no help: two experts who are nearly always out of their field and
mislead those who read them, a critic, a planner, and the one role that is good at everything, last.
Agreeing messages sway a reader strongly. All agents are one cheap LLM; the decision reads them all.
Simulated means over worlds 0 and 1, utility: random DAG .65 (sd .11), full in declared order .37,
chain .50, no edges .70, best found .80.

The world was fixed before any learner was run in it. Reported seeds are 0 to 4; settings of the
learners were chosen on seeds 100 to 102.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.run import run
from hieramas_lib.paths import data_path
from hieramas_lib.teams.graph_pool import uniform_pool
from hieramas_lib.teams.oracle.questions import more_questions
from hieramas_lib.teams.roles import RoleSet, load_roles
from hieramas_lib.teams.utility import utility

AGENT, DECISION = "qwen3-8b", "gemma-3-27b"
ROLES = ("Lawyer", "Psychologist", "Critic", "Mathematical Analyst", "Knowledgeable Expert")
COPIES = 2
"""Of the 100 test questions, so that a difference of some points is seen."""


def roles() -> RoleSet:
    """The five roles, taken from those that ship."""
    known = {role.name: role for name in ("choice", "maths") for role in load_roles(name).roles}
    five = tuple(known[name] for name in ROLES)
    return load_roles("choice").model_copy(update={"name": "graph world", "roles": five})


@cache
def graph_world(seed: int) -> Benchmark:
    """Open the world of ``seed``."""
    source = benchmark_source("knowledge")
    settings = load_settings("hard")
    settings = settings.with_knobs("reading", persuasion=3.0)
    settings = settings.with_knobs("fit", own=2.0, other=-4.0)
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    test = tuple(more_questions(source.test, COPIES))
    space = TeamSpace(
        roles(), ActionSpace(pool.names, 1), uniform_pool(len(ROLES), 100, seed=seed), DECISION
    )
    return Benchmark(
        source.train,
        (),
        test,
        llms=connect(pool, world=World((*source.train, *test), settings, pool, seed)),
        space=space,
        encoder=OriginalTexts(source.encoder()),
    )


def worth(method: Method, world: Benchmark) -> np.ndarray:
    """Return the utility of ``method`` on every test question."""
    rollouts = run(answer_all(method, world.test))
    assert all(r.requested_edges == r.delivered_edges or _failed(r) for r in rollouts)
    return np.array([utility(r, world.reference_cost) for r in rollouts])


def _failed(rollout) -> bool:
    """Whether a message was empty, which takes its edges with it."""
    return any(not call.readable for call in rollout.calls)


@dataclass(frozen=True)
class Paired:
    """Mean difference over seeds and the half-width of its 95 % interval (t, seeds - 1)."""

    mean: float
    half: float

    @classmethod
    def of(cls, differences: list[float]) -> "Paired":
        """One difference a seed, five seeds."""
        assert len(differences) == 5
        spread = float(np.std(differences, ddof=1)) / np.sqrt(5)
        return cls(float(np.mean(differences)), 2.776 * spread)

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.mean - self.half:+.3f}, {self.mean + self.half:+.3f}]"
