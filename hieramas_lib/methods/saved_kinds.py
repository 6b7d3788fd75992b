"""Which methods can be saved, and how each is built again from the parts in its folder.

The name in the file is looked up here and nowhere else: nothing is imported because a file
names it. A method's module is imported when a folder of that method is saved or opened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.service import LLMService
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.saved_parts import Parts


@dataclass(frozen=True, slots=True)
class Kind:
    """The class of a method's settings, and how the method is built untrained."""

    settings: type
    build: Callable[[Parts], Method]


_Learner = Callable[[TeamSpace, LLMService, Encoder, Any, int], Method]
"""The common constructor of methods that learn teams."""


def kind_of(name: str) -> Kind:
    """Return the methods whose class is called ``name``.

    Raises:
        ConfigError: none is, or they cannot be saved.
    """
    if name not in _KINDS:
        raise ConfigError(f"method: {name!r} is not one of {', '.join(_KINDS)}")
    return _KINDS[name]()


def _learner(create: _Learner, settings: type) -> Kind:
    def build(of: Parts) -> Method:
        return create(of.space, of.llms, of.encoder, of.settings, of.drawn)

    return Kind(settings, build)


def _aflow() -> Kind:
    from hieramas_lib.methods.aflow.aflow import AFlow
    from hieramas_lib.methods.aflow.settings import AFlowSettings

    return _learner(AFlow, AFlowSettings)


def _agent_qmix() -> Kind:
    from hieramas_lib.learning.qmix.settings import QMixSettings
    from hieramas_lib.methods.agent_qmix import AgentQMix

    return _learner(AgentQMix, QMixSettings)


def _debate() -> Kind:
    from hieramas_lib.methods.debate import Debate, DebateSettings

    return Kind(DebateSettings, lambda of: Debate(of.roles, of.llms, of.settings))


def _equal_budget() -> Kind:
    from hieramas_lib.methods.equal_budget import EqualBudget, EqualBudgetSettings

    return Kind(
        EqualBudgetSettings, lambda of: EqualBudget(of.roles, of.llms, of.settings, of.drawn)
    )


def _fixed_graph() -> Kind:
    from hieramas_lib.methods.fixed_graphs import FixedGraph, FixedGraphSettings

    return Kind(FixedGraphSettings, lambda of: FixedGraph(of.space, of.llms, of.settings))


def _gdesigner() -> Kind:
    from hieramas_lib.methods.gdesigner import GDesigner, GDesignerSettings

    return _learner(GDesigner, GDesignerSettings)


def _gdesigner_code() -> Kind:
    from hieramas_lib.methods.gdesigner_code import GDesignerCode, GDesignerCodeSettings

    return _learner(GDesignerCode, GDesignerCodeSettings)


def _gtd() -> Kind:
    from hieramas_lib.methods.gtd import GTD, GTDSettings

    return _learner(GTD, GTDSettings)


def _hieramas() -> Kind:
    from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings

    return _learner(HieraMAS, HieraMASSettings)


def _masrouter() -> Kind:
    from hieramas_lib.methods.masrouter import MASRouter
    from hieramas_lib.methods.masrouter_settings import MASRouterSettings

    return _learner(MASRouter, MASRouterSettings)


def _mixture() -> Kind:
    from hieramas_lib.methods.mixture_of_agents import MixtureOfAgents, MixtureSettings

    return Kind(MixtureSettings, lambda of: MixtureOfAgents(of.roles, of.llms, of.settings))


def _random_graph() -> Kind:
    from hieramas_lib.methods.fixed_graphs import RandomGraph, RandomGraphSettings

    return Kind(
        RandomGraphSettings, lambda of: RandomGraph(of.space, of.llms, of.settings, of.drawn)
    )


def _single() -> Kind:
    from hieramas_lib.methods.single import SingleLLM, SingleSettings

    return Kind(SingleSettings, lambda of: SingleLLM(of.roles, of.llms, of.settings))


def _topodim() -> Kind:
    from hieramas_lib.methods.topodim import TopoDIM, TopoDIMSettings

    return _learner(TopoDIM, TopoDIMSettings)


def _turns() -> Kind:
    from hieramas_lib.methods.shapes import Turns, TurnsSettings

    return Kind(TurnsSettings, lambda of: Turns(of.roles, of.llms, of.settings))


_KINDS: Final[Mapping[str, Callable[[], Kind]]] = {
    "AFlow": _aflow,
    "AgentQMix": _agent_qmix,
    "Debate": _debate,
    "EqualBudget": _equal_budget,
    "FixedGraph": _fixed_graph,
    "GDesigner": _gdesigner,
    "GDesignerCode": _gdesigner_code,
    "GTD": _gtd,
    "HieraMAS": _hieramas,
    "MASRouter": _masrouter,
    "MixtureOfAgents": _mixture,
    "RandomGraph": _random_graph,
    "SingleLLM": _single,
    "TopoDIM": _topodim,
    "Turns": _turns,
}
