"""Settings of every method in the result tables, in three sizes.

``tiny`` is for tests; ``quick`` for the notebooks' default runs, in which a method that learns sees
each training question a few times; ``full`` has the sizes of the papers, or where they are larger
those at which our version was measured to learn. Each function takes the benchmark, the LLM of a
method that has but one, and the effort.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.teams.utility import PRICE_OF_A_CALL

if TYPE_CHECKING:
    from hieramas_lib.learning.qmix.settings import QMixSettings, TrainingSettings
    from hieramas_lib.methods.aflow.settings import AFlowSettings
    from hieramas_lib.methods.debate import DebateSettings
    from hieramas_lib.methods.equal_budget import EqualBudgetSettings
    from hieramas_lib.methods.fixed_graphs import FixedGraphSettings, RandomGraphSettings
    from hieramas_lib.methods.gdesigner import GDesignerSettings
    from hieramas_lib.methods.gdesigner_code import GDesignerCodeSettings
    from hieramas_lib.methods.gtd import GTDSettings
    from hieramas_lib.methods.hieramas import HieraMASSettings
    from hieramas_lib.methods.masrouter_settings import MASRouterSettings
    from hieramas_lib.methods.mixture_of_agents import MixtureSettings
    from hieramas_lib.methods.shapes import TurnsSettings
    from hieramas_lib.methods.single import SingleSettings
    from hieramas_lib.methods.topodim import TopoDIMSettings

Effort = Literal["tiny", "quick", "full"]

VOTES = 5
"""Samples of self-consistency, as in the scripts of the HieraMAS authors."""


def base(world: Benchmark, llm: str, effort: Effort) -> "SingleSettings":
    """One call, answer only."""
    from hieramas_lib.methods.single import SingleSettings

    return SingleSettings("Base", llm, "answer only")


def cot(world: Benchmark, llm: str, effort: Effort) -> "SingleSettings":
    """One call, step by step."""
    from hieramas_lib.methods.single import SingleSettings

    return SingleSettings("CoT", llm, "step by step")


def sc(world: Benchmark, llm: str, effort: Effort) -> "SingleSettings":
    """Votes on answers only."""
    from hieramas_lib.methods.single import VOTE_TEMPERATURE, SingleSettings

    return SingleSettings("SC", llm, "answer only", VOTES, VOTE_TEMPERATURE)


def sc_cot(world: Benchmark, llm: str, effort: Effort) -> "SingleSettings":
    """Votes on answers step by step."""
    from hieramas_lib.methods.single import VOTE_TEMPERATURE, SingleSettings

    return SingleSettings("SC + CoT", llm, "step by step", VOTES, VOTE_TEMPERATURE)


def equal_budget(world: Benchmark, llm: str, effort: Effort) -> "EqualBudgetSettings":
    """Votes for two reference calls; replace ``reference_calls`` by what another method costs."""
    from hieramas_lib.methods.equal_budget import EqualBudgetSettings

    return EqualBudgetSettings(llm, reference_calls=2.0)


def debate(world: Benchmark, llm: str, effort: Effort) -> "DebateSettings":
    """Three agents, two rounds, each with its own chat."""
    from hieramas_lib.methods.debate import DebateSettings

    return DebateSettings(llm)


def debate_all_rounds(world: Benchmark, llm: str, effort: Effort) -> "DebateSettings":
    """Three agents, two rounds, with all that was said in each prompt."""
    from hieramas_lib.methods.debate import DebateSettings

    return DebateSettings(llm, memory="all rounds")


def mixture(world: Benchmark, llm: str, effort: Effort) -> "MixtureSettings":
    """Two layers of all LLMs of the pool, then ``llm``."""
    from hieramas_lib.methods.mixture_of_agents import MixtureSettings

    return MixtureSettings(world.space.actions.llms, aggregator=llm)


def single_call(world: Benchmark, llm: str, effort: Effort) -> "SingleSettings":
    """The shape of one call."""
    from hieramas_lib.methods.single import SingleSettings

    return SingleSettings("Shape: single call", llm, "step by step")


def chain_of_turns(world: Benchmark, llm: str, effort: Effort) -> "TurnsSettings":
    """The shape of three agents, each reading the one before."""
    from hieramas_lib.methods.shapes import TurnsSettings

    return TurnsSettings(llm, "chain")


def chat(world: Benchmark, llm: str, effort: Effort) -> "TurnsSettings":
    """The shape of a chat: five turns of three agents, each reading all."""
    from hieramas_lib.methods.shapes import TurnsSettings

    return TurnsSettings(llm, "round-robin chat", turns=5)


def full_graph(world: Benchmark, llm: str, effort: Effort) -> "FixedGraphSettings":
    """All roles on the complete DAG."""
    from hieramas_lib.methods.fixed_graphs import FixedGraphSettings

    return FixedGraphSettings(llm, "full")


def chain(world: Benchmark, llm: str, effort: Effort) -> "FixedGraphSettings":
    """All roles in a row."""
    from hieramas_lib.methods.fixed_graphs import FixedGraphSettings

    return FixedGraphSettings(llm, "chain")


def star(world: Benchmark, llm: str, effort: Effort) -> "FixedGraphSettings":
    """All roles reading the first."""
    from hieramas_lib.methods.fixed_graphs import FixedGraphSettings

    return FixedGraphSettings(llm, "star")


def random_graph(world: Benchmark, llm: str, effort: Effort) -> "RandomGraphSettings":
    """A graph of the pool for each question; seeds are draws."""
    from hieramas_lib.methods.fixed_graphs import RandomGraphSettings

    return RandomGraphSettings(llm)


def gdesigner(world: Benchmark, llm: str, effort: Effort) -> "GDesignerSettings":
    """GDesigner as its paper has it."""
    from hieramas_lib.methods.gdesigner import GDesignerSettings

    if effort == "full":
        return GDesignerSettings(llm)
    return GDesignerSettings(llm, passes=1, group=2)


def gdesigner_code(world: Benchmark, llm: str, effort: Effort) -> "GDesignerCodeSettings":
    """GDesigner as its code has it, faults included."""
    from hieramas_lib.methods.gdesigner_code import GDesignerCodeSettings

    return GDesignerCodeSettings(llm)


def topodim(world: Benchmark, llm: str, effort: Effort) -> "TopoDIMSettings":
    """TopoDIM in its small form."""
    from hieramas_lib.methods.topodim import TopoDIMSettings

    if effort == "full":
        return TopoDIMSettings(llm)
    return TopoDIMSettings(llm, passes=1, group=2)


def gtd(world: Benchmark, llm: str, effort: Effort) -> "GTDSettings":
    """GTD in its small form."""
    from hieramas_lib.methods.gtd import GTDSettings

    if effort == "full":
        return GTDSettings(llm)
    return GTDSettings(llm, random_graphs=1, epochs=2 if effort == "tiny" else 10, candidates=60)


def masrouter(world: Benchmark, llm: str, effort: Effort) -> "MASRouterSettings":
    """MASRouter; it chooses its LLMs itself, at the price that the tables put on a call.

    The paper's own price, 10 to 50 times as high, makes it take the cheapest LLMs.
    """
    from hieramas_lib.methods.masrouter_settings import MASRouterSettings

    paid = MASRouterSettings(cost_weight=PRICE_OF_A_CALL)
    if effort == "full":
        return paid
    if effort == "quick":
        return replace(paid, passes=4)
    return replace(paid, passes=1, group=2)


def hieramas(world: Benchmark, llm: str, effort: Effort) -> "HieraMASSettings":
    """HieraMAS; it chooses its LLMs itself."""
    from hieramas_lib.learning.stage1_settings import Stage1Settings
    from hieramas_lib.learning.stage2 import Stage2Settings
    from hieramas_lib.methods.hieramas import HieraMASSettings

    if effort != "tiny":
        return HieraMASSettings()
    return HieraMASSettings(
        stage1=Stage1Settings(passes=1, group=2), stage2=Stage2Settings(graphs_per_task=2, epochs=2)
    )


def aflow(world: Benchmark, llm: str, effort: Effort) -> "AFlowSettings":
    """AFlow with edits proposed by chance, at the price that the tables put on a call.

    In the paper cost does not count.
    """
    from hieramas_lib.methods.aflow.settings import AFlowSettings

    paid = AFlowSettings(llm, cost_weight=PRICE_OF_A_CALL)
    if effort == "full":
        return replace(paid, repeats=3)
    return paid if effort == "quick" else replace(paid, rounds=3)


def agent_qmix(world: Benchmark, llm: str, effort: Effort) -> "QMixSettings":
    """Agent Q-Mix over plain agents."""
    from hieramas_lib.learning.qmix.settings import QMixSettings

    training = _qmix_training(effort)
    return QMixSettings(llms=(llm,), rounds=_QMIX_ROUNDS, training=training)


def agent_qmix_on_supernodes(world: Benchmark, llm: str, effort: Effort) -> "QMixSettings":
    """Agent Q-Mix over supernodes of two proposers, one of them the decision LLM."""
    from hieramas_lib.learning.qmix.settings import QMixSettings

    proposers = (llm, world.space.decision)
    training = _qmix_training(effort)
    return QMixSettings(llms=(llm,), proposers=proposers, rounds=_QMIX_ROUNDS, training=training)


_QMIX_ROUNDS: Final = 3
"""Two choices each: with one, agents never see a graph that they made."""


def _qmix_training(effort: Effort) -> "TrainingSettings":
    from hieramas_lib.learning.qmix.settings import TrainingSettings

    if effort == "full":
        return TrainingSettings()
    if effort == "quick":
        return TrainingSettings(episodes=192)
    return TrainingSettings(episodes=16, batch=8, target_period=1)
