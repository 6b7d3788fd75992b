"""Train a policy in one world, and write down what it prefers and whether choosing pays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.preferences import (
    best_constant_team,
    choices,
    preference_logits,
    team_choices,
)
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.learning.policy import constant_policy
from hieramas_lib.methods.fixed import ConstantTeam, PolicyTeam
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.method import Method
from hieramas_lib.teams.team import Team

if TYPE_CHECKING:
    import pandas as pd

TRAINED, CONSTANT, BEST = "Trained policy", "Its constant team", "Best constant team found"


@dataclass(frozen=True, slots=True)
class PreferenceStudy:
    """What was found, each frame with columns ``benchmark`` and ``seed``.

    Attributes:
        choices: On the test questions, see :func:`~.preferences.choices`.
        logits: See :func:`~.preferences.preference_logits`.
        best: Filled positions of the best constant team found; empty for real LLMs.
        answers: Records of the policy, of its constant team, and of the best one found.
    """

    choices: "pd.DataFrame"
    logits: "pd.DataFrame"
    best: "pd.DataFrame"
    answers: "pd.DataFrame"


async def study_preferences(
    world: Benchmark, settings: HieraMASSettings, seed: int, *, variants: int = 0
) -> PreferenceStudy:
    """Train stage 1 in ``world`` and look at the policy on the test questions.

    Args:
        world: Where; its search for the best constant team needs simulated LLMs, and is left out
            for real ones.
        settings: Of HieraMAS.
        seed: Of the training.
        variants: Made-up versions of each question that the search works on as well.
    """
    import pandas as pd

    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    await system.fit_policy(world.train)
    about = (system.policy, world.space, world.featurizer(), world.test)
    best = best_constant_team(world, copies=variants) if world.llms.world is not None else None
    frames = [
        await evaluate(method, world.test, pool=world.llms.pool, seed=seed)
        for method in _methods(world, system, best, seed)
    ]
    place = {"benchmark": world.test[0].benchmark, "seed": seed}
    return PreferenceStudy(
        choices=choices(*about).assign(**place),
        logits=preference_logits(*about).assign(**place),
        best=(team_choices(best) if best else pd.DataFrame()).assign(**place),
        answers=pd.concat(frames, ignore_index=True),
    )


def join_studies(studies: Sequence[PreferenceStudy]) -> PreferenceStudy:
    """Put the frames of several studies below one another."""
    import pandas as pd

    return PreferenceStudy(
        **{
            field.name: pd.concat([getattr(s, field.name) for s in studies], ignore_index=True)
            for field in fields(PreferenceStudy)
        }
    )


def _methods(world: Benchmark, system: HieraMAS, best: Team | None, seed: int) -> list[Method]:
    space, llms, features = world.space, world.llms, world.featurizer()
    # The most frequent choice of every position, whatever the question.
    usual = torch.mode(system.actions(world.train), dim=0).values
    constant = constant_policy(space.actions, space.roles, usual)
    methods: list[Method] = [
        PolicyTeam(name, space, llms, policy, features, sampled=False, seed=seed)
        for name, policy in ((TRAINED, system.policy), (CONSTANT, constant))
    ]
    return methods if best is None else [*methods, ConstantTeam(BEST, best, llms)]
