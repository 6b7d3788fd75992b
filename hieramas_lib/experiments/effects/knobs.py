"""What the simulated world is without one of its causes: knobs set to zero (design 7).

Each function returns settings by what is missing in them; the first are those given. What changes
nothing but the settings is a test of an explanation: the effect must go away with its cause.
"""

from typing import Final

from hieramas_lib.experiments.effects.supernodes import forgetful
from hieramas_lib.llms.world_settings import WorldSettings

SHIPPED: Final = "as shipped"
ROLES_ALIKE: Final = "no fit, no checking"

Settings = dict[str, WorldSettings]


def without_reading(settings: WorldSettings) -> Settings:
    """Take away what a text does to its reader: its effort, its sway, its help."""
    return {
        SHIPPED: settings,
        "no fatigue": settings.with_knobs("reading", fatigue=0.0),
        "no persuasion": settings.with_knobs("reading", persuasion=0.0),
        "no recognition": settings.with_knobs("reading", recognition=0.0),
        "no recognition, no persuasion": settings.with_knobs(
            "reading", recognition=0.0, persuasion=0.0
        ),
    }


def without_difference(settings: WorldSettings) -> Settings:
    """Take away what makes equally able LLMs differ: families, memory, ways to be wrong."""
    neither = forgetful(settings).with_knobs("difficulty", family_sd=0.0)
    return {
        SHIPPED: settings,
        "no families": settings.with_knobs("difficulty", family_sd=0.0),
        "no memory": forgetful(settings),
        "neither": neither,
        "neither, and one mistake only": neither.with_knobs("wrong", tempting=1.0),
    }


def without_fit(settings: WorldSettings) -> Settings:
    """Take away that a role is better in its own subjects and worse in others."""
    return {SHIPPED: settings, "no fit": settings.with_knobs("fit", own=0.0, other=0.0)}


def without_messages(settings: WorldSettings) -> Settings:
    """Take away what messages between roles do, one by one and together.

    Recognition goes for the critic too, who has a knob of its own. :data:`ROLES_ALIKE` leaves the
    messages and makes all roles equal.
    """
    alike = settings.with_knobs("fit", own=0.0, other=0.0)
    blind = settings.with_knobs("reading", recognition=0.0)
    blind = blind.with_knobs("checker", recognition=0.0)
    calm = {"persuasion": 0.0, "fatigue": 0.0}
    return {
        SHIPPED: settings,
        ROLES_ALIKE: alike.with_knobs("checker", production=0.0, recognition=0.0, persuasion=1.0),
        "no recognition": blind,
        "no persuasion": settings.with_knobs("reading", persuasion=0.0),
        "no fatigue": settings.with_knobs("reading", fatigue=0.0),
        "no persuasion, no fatigue": settings.with_knobs("reading", **calm),
        "messages do nothing": blind.with_knobs("reading", **calm),
    }
