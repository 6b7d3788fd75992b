"""Notebooks to execute, and the helpers of this folder and of ``tests/llms``."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "llms")]

from hieramas_lib.experiments.pairing import render  # noqa: E402

FIXTURES = HERE.parents[1] / "notebooks" / "fixtures"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The notebook ``90_tiny``, ready to be executed."""
    path = tmp_path / "90_tiny.ipynb"
    path.write_text(render(FIXTURES / "90_tiny.py"))
    return path
