"""The learning notebooks start from the library's defaults, written once more in their cells."""

from dataclasses import asdict
from typing import Any

import pytest

from hieramas_lib.experiments.config import read_parameters
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.paths import ROOT


def defaults(notebook: str) -> dict[str, Any]:
    declared = read_parameters(ROOT / "notebooks" / f"{notebook}.ipynb")
    return {parameter.name: parameter.default for parameter in declared}


@pytest.mark.parametrize(
    ("notebook", "settings", "names"),
    [
        ("05_stage1_policy", Stage1Settings(), {"passes", "group", "credit", "alpha", "price"}),
        (
            "06_stage2_classifier",
            Stage2Settings(),
            {"graphs_per_task", "rule", "form", "epochs", "batch"},
        ),
        ("08_ablations", Stage1Settings(), {"passes", "group"}),
    ],
)
def test_a_notebook_has_the_defaults_of_the_library(
    notebook: str, settings: Stage1Settings | Stage2Settings, names: set[str]
):
    ours, theirs = defaults(notebook), asdict(settings)
    assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
