"""Each kind of world lacks what its name says, and nothing else."""

from typing import Any

import pytest

from hieramas_lib.experiments.effects.knobs import (
    ROLES_ALIKE,
    SHIPPED,
    without_difference,
    without_fit,
    without_messages,
    without_reading,
)
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import WorldSettings

HARD = load_settings("hard")


def changed(settings: WorldSettings) -> dict[str, set[str]]:
    """Return the names of the knobs that differ from the shipped ones, by section."""
    ours, theirs = settings.model_dump(), HARD.model_dump()
    found: dict[str, set[str]] = {}
    for section in (name for name in ours if ours[name] != theirs[name]):
        a, b = ours[section], theirs[section]
        if section == "difficulty":
            a, b = a["choice"], b["choice"]
        found[section] = {knob for knob in a if a[knob] != b[knob]}
    return found


@pytest.mark.parametrize(
    "worlds", [without_reading, without_difference, without_fit, without_messages]
)
def test_the_first_world_is_as_given(worlds: Any) -> None:
    assert next(iter(worlds(HARD))) == SHIPPED
    assert worlds(HARD)[SHIPPED] is HARD


def test_reading_loses_what_the_name_says() -> None:
    found = {name: changed(settings) for name, settings in without_reading(HARD).items()}
    assert found == {
        SHIPPED: {},
        "no fatigue": {"reading": {"fatigue"}},
        "no persuasion": {"reading": {"persuasion"}},
        "no recognition": {"reading": {"recognition"}},
        "no recognition, no persuasion": {"reading": {"recognition", "persuasion"}},
    }


def test_llms_lose_what_makes_them_differ() -> None:
    found = without_difference(HARD)
    assert changed(found["no families"]) == {"difficulty": {"family_sd"}}
    memory = changed(found["no memory"])["difficulty"]
    assert "residual" in memory
    assert "family_sd" not in memory
    assert changed(found["neither"])["difficulty"] == memory | {"family_sd"}
    assert found["neither, and one mistake only"].wrong.tempting == 1
    assert changed(found["neither, and one mistake only"])["wrong"] == {"tempting"}


def test_without_fit_a_role_is_a_label() -> None:
    assert changed(without_fit(HARD)["no fit"]) == {"fit": {"own", "other"}}


def test_recognition_goes_for_the_critic_too() -> None:
    found = without_messages(HARD)
    for name in ("no recognition", "messages do nothing"):
        assert found[name].reading.recognition == found[name].checker.recognition == 0
    nothing = changed(found["messages do nothing"])["reading"]
    assert nothing == {"recognition", "persuasion", "fatigue"}
    assert changed(found["no persuasion, no fatigue"]) == {"reading": {"persuasion", "fatigue"}}
    assert set(changed(found[ROLES_ALIKE])) == {"fit", "checker"}
