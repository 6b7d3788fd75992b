"""The systems that an ablation compares: the full one, and it with one thing changed.

A variant is named by what is changed and its new value, such as ``"width 4"`` or ``"graph
random"``, so that a list of names is all that has to be written down. :data:`USUAL` has those of
the paper's tables and more; other numbers are named in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.policy import NO_PRIOR
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.methods.hieramas import HieraMASSettings

FULL: Final = "full system"

Filling = Literal["policy", "decision"]
Choice = Literal["classifier", "random"]
Texts = Literal["sentences", "words"]


@dataclass(frozen=True, slots=True)
class System:
    """One system, to be trained and judged.

    Attributes:
        settings: How both stages are trained.
        width: Proposers of a supernode, W.
        graphs: Size K of the pool.
        filling: Who sits where: what the policy learns, or the decision's LLM in every position,
            which is the paper's "without LLM selection".
        graph: The classifier's choice, or one of the pool at random for every question, which is
            the paper's "without graph scoring".
        texts: What the learners see of texts: vectors of a sentence model, or hashed words.

    Raises:
        ConfigError: a value is not one of these; names the field.
    """

    settings: HieraMASSettings = field(default_factory=HieraMASSettings)
    width: int = 2
    graphs: int = 100
    filling: Filling = "policy"
    graph: Choice = "classifier"
    texts: Texts = "sentences"

    def __post_init__(self) -> None:
        for name, known in (("filling", Filling), ("graph", Choice), ("texts", Texts)):
            if getattr(self, name) not in get_args(known):
                choices = ", ".join(get_args(known))
                raise ConfigError(f"{name}: {getattr(self, name)!r} is not one of {choices}")
        for name, least in (("width", 0), ("graphs", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: at least {least}, got {getattr(self, name)}")


USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "graph": ("random",),
    "llms": ("decision",),
    "width": ("1", "2", "4", "6", "8"),
    "graphs": ("10", "50", "200", "500"),
    "alpha": ("0", "0.25", "0.5", "0.75", "1"),
    "price": ("0", "1", "4"),
    "credit": ("final_only", "node_only", "reference"),
    "labels": ("top2",),
    "classifier": ("reference",),
    "prior": ("none",),
    "policy": ("paper",),
    "texts": ("words",),
}
"""What is usually changed, and to what. ``price`` is the factor lambda on cost in the loss."""


def named_variants(names: Sequence[str]) -> list[str]:
    """Return ``names``, with a part alone replaced by all its values of :data:`USUAL`."""
    given = [
        variants
        for name in names
        for variants in ([f"{name} {value}" for value in USUAL[name]] if name in USUAL else [name])
    ]
    return list(dict.fromkeys(given))


def variant(full: System, name: str) -> System:
    """Return ``full`` with what ``name`` changes.

    Args:
        full: The system to change.
        name: :data:`FULL`, or a part of :data:`USUAL` and its value.

    Raises:
        ConfigError: there is no such part, or it does not take this value; names the variant.
    """
    if name == FULL:
        return full
    part, _, value = name.partition(" ")
    try:
        return _changed(full, part, value)
    except ValueError as error:
        raise ConfigError(f"variants: {name!r}: {error}") from None


def _changed(full: System, part: str, value: str) -> System:
    settings = full.settings
    match part:
        case "graph" | "texts":
            return replace(full, **{part: value})  # type: ignore[arg-type]
        case "llms":
            return replace(full, filling=value)  # type: ignore[arg-type]
        case "width" | "graphs":
            return replace(full, **{part: int(value)})  # type: ignore[arg-type]
        case "policy":
            settings = replace(settings, form=value)  # type: ignore[arg-type]
        case "prior" if value == "none":
            settings = replace(settings, prior=NO_PRIOR)
        case "labels" | "classifier":
            field_name = {"labels": "rule", "classifier": "form"}[part]
            stage2 = replace(settings.stage2, **{field_name: value})  # type: ignore[arg-type]
            settings = replace(settings, stage2=stage2)
        case "alpha" | "price" | "credit":
            settings = replace(settings, stage1=_stage1(settings.stage1, part, value))
        case _:
            raise ConfigError(f"it changes none of {', '.join(USUAL)}, or to what it cannot be")
    return replace(full, settings=settings)


def _stage1(ours: Stage1Settings, part: str, value: str) -> Stage1Settings:
    if part != "credit":
        return replace(ours, **{part: float(value)})  # type: ignore[arg-type]
    if value == "reference":
        return Stage1Settings.published(passes=ours.passes * ours.group)  # as many rollouts
    return replace(ours, credit=value)  # type: ignore[arg-type]
