"""Train and judge the systems of an ablation in texts: any benchmark, any pool, real ones too."""

from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.ablations.replayed import everywhere
from hieramas_lib.experiments.ablations.variants import System
from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.learning.hashed_encoder import HashedWords
from hieramas_lib.methods.fixed import PolicyTeam
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.method import Method

if TYPE_CHECKING:
    import pandas as pd


async def text_records(world: Benchmark, system: System, name: str, seed: int) -> "pd.DataFrame":
    """Train ``system`` on the training split and return a row for each test question.

    Columns are those of :func:`~hieramas_lib.experiments.records.evaluate`, and ``variant``,
    ``world`` and ``accuracy`` as in :func:`~.replayed.replayed_records`.

    Args:
        world: Opened with the number of graphs and the width of ``system``.
        system: What to train.
        name: Written down as ``variant``.
        seed: Of the world and of the training.

    Raises:
        ConfigError: ``world`` was opened with another number of graphs, or another width.
    """
    opened = (len(world.space.graphs), world.space.actions.width)
    if opened[1] != system.width or opened[0] > system.graphs:
        raise ConfigError(
            f"{name}: needs {system.graphs} graphs and width {system.width}, the benchmark was "
            f"opened with {opened[0]} and {opened[1]}"
        )
    method = await _trained(world, system, name, seed)
    frame = await evaluate(method, world.test, pool=world.llms.pool, seed=seed)
    return frame.assign(variant=name, world=seed, accuracy=frame["correct"].astype(float))


async def _trained(world: Benchmark, system: System, name: str, seed: int) -> Method:
    encoder = HashedWords() if system.texts == "words" else world.encoder
    trained = HieraMAS(world.space, world.llms, encoder, system.settings, seed)
    if system.filling == "decision":
        trained.start(world.train, everywhere(world.space))
    else:
        await trained.fit_policy(world.train)
    if system.graph == "classifier":
        await trained.fit_graphs(world.train)
        return trained
    featurizer = trained.featurizer
    assert featurizer is not None  # both ways above have set it
    return PolicyTeam(
        name, world.space, world.llms, trained.policy, featurizer, sampled=False, seed=seed
    )
