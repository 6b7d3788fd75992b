"""The learning curve of a notebook: the optimum and a few trainings in each of some worlds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hieramas_lib.experiments.learning_curve.curve import Point, Way, learning_curve
from hieramas_lib.experiments.learning_curve.curve_tables import anchor_table, curve_table
from hieramas_lib.experiments.learning_curve.lab import shipped_lab
from hieramas_lib.experiments.learning_curve.optimum import Optimum, find_optimum
from hieramas_lib.learning.policy import PolicyPrior
from hieramas_lib.learning.stage1_settings import Stage1Settings

if TYPE_CHECKING:
    import pandas as pd

CURVE_WAYS: Final[tuple[Way, ...]] = ("HieraMAS", "constant", "reference")
_TRAINING_SEED: Final = 10


@dataclass(frozen=True, slots=True)
class WorldCurve:
    """What there is to be reached in one world, and what was reached by training."""

    world: int
    optimum: Optimum
    points: tuple[Point, ...]


def curve_in(
    world: int, sizes: Sequence[int], *, group: int, difficulty: str, decision: str
) -> WorldCurve:
    """Search the best constant team of a world, and train once on each number of questions.

    Args:
        world: Its seed.
        sizes: Numbers of training questions, each used in one pass.
        group: Rollouts of a question.
        difficulty, decision: Of the world, and the LLM that decides.
    """
    lab = shipped_lab(world, difficulty=difficulty, decision=decision)
    optimum = find_optimum(lab, subjects=False)
    points = learning_curve(
        lab,
        optimum,
        sizes=sizes,
        seeds=[_TRAINING_SEED],
        ways=lambda size: CURVE_WAYS,
        settings=Stage1Settings(passes=1, group=group),
        prior=PolicyPrior(),
    )
    return WorldCurve(world, optimum, tuple(points))


def tables_of_curves(curves: Sequence[WorldCurve]) -> dict[str, "pd.DataFrame"]:
    """Return the tables ``optimum`` and ``learning``; none if there is no curve."""
    if not curves:
        return {}
    points = [point for curve in curves for point in curve.points]
    optima = {curve.world: curve.optimum for curve in curves}
    return {"optimum": anchor_table(optima), "learning": curve_table(points)}


def way_sentences(curves: Sequence[WorldCurve]) -> list[str]:
    """Say how far each training of HieraMAS went from the random policy to the best team."""
    return [
        f"World {point.world}, {point.questions} questions: {point.from_random:.0%} of the way "
        f"from random to the best constant team, {point.gain:+.3f} utility over its own prior "
        "(one training)."
        for curve in curves
        for point in curve.points
        if point.way == "HieraMAS"
    ]
