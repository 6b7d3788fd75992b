"""What a system that was trained on some subjects does on others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.preferences import choices
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds, mean_over_tasks, wilson
from hieramas_lib.methods.equal_budget import EqualBudget, EqualBudgetSettings
from hieramas_lib.methods.fixed import PolicyTeam, decision_alone, random_policy
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.single import base, cot, self_consistency
from hieramas_lib.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

OURS, PRIOR = "HieraMAS", "Untrained prior"
SEEN, UNSEEN = "seen", "unseen"

METHODS = 8
"""How many ways of answering :func:`answer_splits` compares."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What training brought in utility over the untrained prior.

    Attributes:
        seen, unseen: On questions of subjects that training saw, and did not see.
        carried: ``unseen`` minus ``seen``: below 0, something was learned by heart.
    """

    seen: Interval
    unseen: Interval
    carried: Interval


async def answer_splits(
    world: Benchmark,
    splits: Mapping[str, Sequence[Task]],
    settings: HieraMASSettings,
    llm: str,
    seed: int,
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Train on the world's training split and answer each of ``splits`` in all ways.

    Args:
        world: Where.
        splits: Questions by the name that their records get as ``split``.
        settings: Of HieraMAS.
        llm: Of the methods that have but one. Base at equal budget may spend what HieraMAS was
            measured to cost.
        seed: Of the training.

    Returns:
        Records of all methods, and the choices of the trained policy, with ``split`` and ``seed``.
    """
    import pandas as pd

    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    await system.fit(world.train)
    frames = [
        await _answer(method, world, splits, seed) for method in _methods(world, system, llm, seed)
    ]
    budget = EqualBudgetSettings(llm, float(frames[0]["cost_reference"].mean()))
    equal = EqualBudget(world.space.roles, world.llms, budget, seed)
    await equal.fit(world.train, world.val)
    frames.append(await _answer(equal, world, splits, seed))
    about = (system.policy, world.space, world.featurizer())
    chosen = [choices(*about, tasks).assign(split=name) for name, tasks in splits.items()]
    return (
        pd.concat(frames, ignore_index=True),
        pd.concat(chosen, ignore_index=True).assign(seed=seed),
    )


def gains(records: "pd.DataFrame") -> "pd.DataFrame":
    """Return the utility of HieraMAS minus that of each other method, by split and world.

    Columns: ``compared_with, split, seed, gain``.
    """
    import pandas as pd

    worth = records.pivot_table(
        index=["split", "seed"], columns="method", values="utility", sort=False
    )
    others = [method for method in worth.columns if method != OURS]
    frames = [
        (worth[OURS] - worth[other]).rename("gain").reset_index().assign(compared_with=other)
        for other in others
    ]
    return pd.concat(frames, ignore_index=True)[["compared_with", "split", "seed", "gain"]]


def brought(records: "pd.DataFrame") -> Brought:
    """Return what training brought, with intervals over worlds; of one world, over questions."""
    several = records["seed"].nunique() > 1
    over = "seed" if several else "task_id"
    worth = records.pivot_table(index=["split", over], columns="method", values="utility")
    gain = worth[OURS] - worth[PRIOR]
    if several:
        seen, unseen = (mean_over_seeds(gain[name].to_numpy()) for name in (SEEN, UNSEEN))
        return Brought(seen, unseen, mean_over_seeds((gain[UNSEEN] - gain[SEEN]).to_numpy()))
    seen, unseen = (
        mean_over_tasks(gain[name].to_numpy(), list(gain[name].index)) for name in (SEEN, UNSEEN)
    )
    # Questions of the two splits are independent of each other.
    more = unseen.estimate - seen.estimate
    half = math.hypot(seen.high - seen.estimate, unseen.high - unseen.estimate)
    return Brought(seen, unseen, Interval(more, more - half, more + half))


def beside_published(table: "pd.DataFrame", source: str) -> "pd.DataFrame":
    """Put rows of a comparison table below the paper's Table 3, each with its source.

    The intervals of the published rows are Wilson's, worked out from their numbers of questions.
    """
    import pandas as pd

    theirs = published_table("table3").frame
    intervals = [wilson(row.accuracy * row.n, row.n) for row in theirs.itertuples()]
    theirs = theirs.assign(
        source="published, real LLMs: " + theirs["backbone"],
        seeds=1,
        accuracy_low=[interval.low for interval in intervals],
        accuracy_high=[interval.high for interval in intervals],
    )
    columns = ["method", "source", "n", "seeds", "accuracy", "accuracy_low", "accuracy_high"]
    return pd.concat([theirs, table.assign(source=source)], ignore_index=True)[columns]


async def _answer(
    method: Method, world: Benchmark, splits: Mapping[str, Sequence[Task]], seed: int
) -> "pd.DataFrame":
    import pandas as pd

    frames = [
        await evaluate(method, tasks, pool=world.llms.pool, seed=seed, split=name)
        for name, tasks in splits.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _methods(world: Benchmark, system: HieraMAS, llm: str, seed: int) -> list[Method]:
    """Return all but Base at equal budget, the trained system first."""
    space, llms, features = world.space, world.llms, world.featurizer()
    prior, alone = system.untrained_policy(), (llm, llms, space.roles)
    return [
        system,
        PolicyTeam(PRIOR, space, llms, prior, features, sampled=False, seed=seed),
        random_policy(space, llms, features, seed),
        decision_alone(space, llms),
        base(*alone),
        cot(*alone),
        self_consistency(*alone, style="step by step"),
    ]
