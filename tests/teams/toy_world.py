"""A simulated world simple enough to work out by hand who is right.

``strong`` knows every question and ``weak`` none, by a hair: without messages the margin decides,
and anything that is read outweighs it. A right answer that is read is recognised; a wrong one
that is read is believed, unless the right one is read too. Nobody is ever lucky.
"""

from datetime import date

from symbolic_cases import HARD

from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.pool import LLMPool, LLMSpec, Price
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.roles import Role, RoleSet
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.topology import Topology

EMPTY, FORWARD, BACK = Topology(2), Topology(2, ((0, 1),)), Topology(2, ((1, 0),))


def roles() -> RoleSet:
    """Two solvers; the second one's prompt is longer, and so its calls are dearer."""
    members = (("Short", "Solve."), ("Long", "Solve, with all the care in the world, and say how."))
    return RoleSet(
        name="toy", kind="choice", proposer="Propose.", synthesizer="Synthesize.",
        decision="Decide.", answer_format="Answer: X",
        roles=tuple(Role(name=n, duty="solver", profile="", instruction=i) for n, i in members),
    )  # fmt: skip


def settings() -> WorldSettings:
    """Accuracies near 1 and near 0, and every other source of difference next to nothing."""
    knobs = HARD.with_knobs(
        "difficulty", loading=(1e-6, 1e-6), subject_share=0.0, level_share=0.0,
        interaction_sd=0.0, residual=1e-3, family_sd=0.0, role_noise=0.0, call_noise=0.0,
    )  # fmt: skip
    knobs = knobs.with_knobs("replies", blank_rate=0.0).with_knobs("reading", doubt=0.0)
    targets = {"strong": {"choice": 0.985}, "weak": {"choice": 0.015}}
    return knobs.model_copy(update={"targets": targets})


def pool() -> LLMPool:
    """A usual call of ``strong`` is the unit of cost; one of ``weak`` is a tenth of it."""
    llms = tuple(
        LLMSpec(
            name=name, client="simulated", model=name, family=name, profile="",
            price=Price(input=price, output=price, date=date(2026, 11, 1), source="made up"),
            usual_tokens=(60, 400),
        )
        for name, price in (("strong", 1.0), ("weak", 0.1))
    )  # fmt: skip
    return LLMPool(name="toy", skip_profile="", reference="strong", llms=llms)


def tasks(count: int = 6) -> list[Task]:
    return [
        Task(f"toy/{i}", "toy", "choice", f"field {i % 2}", f"Question {i}?", "A",
             choices=("ash", "beech", "cedar", "elm"))
        for i in range(count)
    ]  # fmt: skip


def questions(asked: list[Task] | None = None, *, draws: int = 2) -> SymbolicTeams:
    """The toy tasks in the toy world; who is right alone is checked first."""
    asked = asked or tasks()
    world = World((), settings(), pool(), 1)
    header = Header("Decision Maker", "decision")
    assert all(0 < world.margin("strong", task, header) < 0.1 for task in asked)
    assert all(-0.1 < world.margin("weak", task, header) < 0 for task in asked)
    return SymbolicTeams(world, pool(), roles(), asked, draws=draws)


def options(decision: str = "weak") -> TeamOptions:
    """One proposer a role, any graph over the two."""
    return TeamOptions(roles(), ("strong", "weak"), 1, (EMPTY, FORWARD, BACK), decision)
