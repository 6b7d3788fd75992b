"""Which notebooks there are, and which one a name means."""

from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs

LAST = ("15_report",)
"""Notebooks that read the results of all others: run alone, at the end, and never out of date."""


def notebooks() -> list[Path]:
    """Return the collection in reading order."""
    return sorted(runs.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def find_notebook(name: str) -> Path:
    """Find a notebook by path, name (``05_stage1_policy``, ``my_05``) or number (``05``).

    Raises:
        ConfigError: there is none, or several.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.exists():
        return path
    own = sorted(runs.NOTEBOOKS.glob("my_*.ipynb"))
    found = [p for p in notebooks() if path.stem in (p.stem, p.stem[:2])]
    found += [p for p in own if path.stem == p.stem]
    if len(found) == 1:
        return found[0]
    there = ", ".join(p.stem for p in found or [*notebooks(), *own])
    raise ConfigError(f"no notebook {name!r}; there are {there or 'none'}")
