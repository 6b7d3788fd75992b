"""All systems of an ablation in one world, by either engine: replayed answers, or texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations.replayed import replayed_records
from hieramas_lib.experiments.ablations.variants import System
from hieramas_lib.experiments.ablations.with_texts import text_records
from hieramas_lib.experiments.learning_curve.lab import shipped_lab
from hieramas_lib.experiments.learning_curve.optimum import find_anchors
from hieramas_lib.experiments.pool_choice import SIMULATED
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import Run
from hieramas_lib.teams.oracle.anchors import Anchors

if TYPE_CHECKING:
    import pandas as pd

Engine = Literal["answers", "texts"]
REPLAYED = "knowledge"
"""The benchmark whose answers can be replayed."""


@dataclass(frozen=True, slots=True)
class WorldResult:
    """What was found in one world.

    Attributes:
        records: Of every system, see :mod:`.replayed` and :mod:`.with_texts`.
        anchors: What the utilities must be seen against; None in texts.
    """

    records: "pd.DataFrame"
    anchors: Anchors | None


def check_engine(engine: str, pool: str, benchmark: str) -> None:
    """Check that ``engine`` can run ``benchmark`` with ``pool``.

    Raises:
        ConfigError: it cannot, or there is no such engine.
    """
    if engine not in get_args(Engine):
        raise ConfigError(f"engine: {engine!r} is not one of {', '.join(get_args(Engine))}")
    if engine == "answers" and (pool, benchmark) != (SIMULATED, REPLAYED):
        raise ConfigError(
            f"engine: 'answers' replays the simulated pool on {REPLAYED}; use 'texts'"
        )


async def systems_in_world(run: Run, systems: Mapping[str, System], seed: int) -> WorldResult:
    """Train and judge every system in the world ``seed``.

    The run declares ``engine, benchmark, questions`` and what :func:`~..run_worlds.open_for` needs;
    ``questions`` holds for answers only, texts use the whole training split.

    Args:
        run: Whose parameters hold.
        systems: By the name that is written down.
        seed: Of the world, of the training questions, and of the training.
    """
    import pandas as pd

    values = run.config.plain()
    if values["engine"] == "answers":
        lab = shipped_lab(seed, difficulty=values["difficulty"], decision=values["decision"])
        train = lab.questions.training_set(values["questions"], seed)
        frames = [replayed_records(lab, s, name, train, seed) for name, s in systems.items()]
        return WorldResult(pd.concat(frames, ignore_index=True), find_anchors(lab))
    frames = []
    for name, system in systems.items():
        space = {"graphs": system.graphs, "width": system.width}
        world = open_for(run, values["benchmark"], seed, **space)
        frames.append(await text_records(world, system, name, seed))
    return WorldResult(pd.concat(frames, ignore_index=True), None)
