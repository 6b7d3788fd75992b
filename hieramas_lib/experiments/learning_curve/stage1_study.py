"""Train the policy of stage 1 in one world, in texts, watch it, and let it and rivals answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.records import evaluate
from hieramas_lib.learning.choice_trace import Choices, ChoiceTrace
from hieramas_lib.learning.policy_loss import call_prices
from hieramas_lib.methods.fixed import PolicyTeam, decision_alone, random_policy
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.single import base, cot

if TYPE_CHECKING:
    import pandas as pd

RANDOM: Final = "Random policy"
PRIOR: Final = "Untrained prior"
TRAINED: Final = "Trained policy"
DECISION: Final = "Decision LLM alone"
STRONGEST: Final = "Strongest LLM alone"
WAYS: Final = (RANDOM, PRIOR, TRAINED, DECISION, STRONGEST)
"""Ways in which every test question is answered; further single LLMs come on top."""


@dataclass(frozen=True, slots=True)
class Stage1Study:
    """One training.

    Attributes:
        system: With its trained policy and no classifier.
        trace: What the policy would do on the test questions, before training and during it.
        records: Of all ways to answer, see :func:`~hieramas_lib.experiments.records.evaluate`.
    """

    system: HieraMAS
    trace: tuple[Choices, ...]
    records: "pd.DataFrame"


async def study_stage1(
    world: Benchmark, settings: HieraMASSettings, seed: int, *, strongest: str,
    alone: Sequence[str] = (),
) -> Stage1Study:  # fmt: skip
    """Train on the training split of ``world``, and answer its test questions in all ways.

    Args:
        world: Where.
        settings: Of HieraMAS.
        seed: Of the training.
        strongest: LLM that answers alone, step by step.
        alone: Further LLMs that answer alone, at once.
    """
    import pandas as pd

    system = HieraMAS(world.space, world.llms, world.encoder, settings, seed)
    prices = call_prices(world.llms.pool, world.space.actions.llms)
    features = world.featurizer()(world.test)
    trace = ChoiceTrace(lambda: system.policy, features, prices, every=2)
    await system.fit_policy(world.train, on_step=trace)
    roles, llms = world.space.roles, world.llms
    methods = [
        *_policies(world, system),
        decision_alone(world.space, llms),
        cot(strongest, llms, roles, name=STRONGEST),
        *(base(llm, llms, roles, name=f"Base, {llm}") for llm in alone),
    ]
    frames = [await evaluate(m, world.test, pool=llms.pool, seed=seed) for m in methods]
    return Stage1Study(system, tuple(trace.entries), pd.concat(frames, ignore_index=True))


def utility_while_training(studies: Sequence[Stage1Study], passes: int) -> "pd.DataFrame":
    """Return the utility of sampled rollouts, means over one pass: one column a seed.

    The index is the number of rollouts so far. A single batch tells more about its questions than
    about the policy; so a value is the mean of as many batches as a pass has.
    """
    import pandas as pd

    history = pd.DataFrame(
        {study.system.seed: [s.utility for s in study.system.history] for study in studies},
        index=[step.rollouts for step in studies[0].system.history],
    )
    return history.rolling(max(1, len(history) // passes)).mean().dropna()


def _policies(world: Benchmark, system: HieraMAS) -> list[Method]:
    space, llms, features, seed = world.space, world.llms, world.featurizer(), system.seed
    start = system.untrained_policy()
    return [
        random_policy(space, llms, features, seed),
        PolicyTeam(PRIOR, space, llms, start, features, sampled=False, seed=seed),
        PolicyTeam(TRAINED, space, llms, system.policy, features, sampled=False, seed=seed),
    ]
