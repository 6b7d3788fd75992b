"""Make ``notebooks/NN_slug.ipynb`` from ``notebooks/NN_slug.py``, and check that they agree.

The percent-format ``.py`` is the source; the ``.ipynb`` is a pure function of it: no outputs, no
execution counts, kernel ``python3``, and cell ids that depend on the cell's text only, so that an
edit changes one id and a second call changes no byte.
"""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.runs import NOTEBOOKS, write_whole

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources(folder: Path = NOTEBOOKS) -> list[Path]:
    """Return the percent-format sources in reading order."""
    return sorted(folder.glob("[0-9][0-9]_*.py"))


def render(source: Path) -> str:
    """Return the text of the notebook that belongs to a percent-format source.

    Raises:
        ConfigError: the file cannot be read as a notebook.
    """
    import jupytext
    import nbformat

    try:
        notebook = jupytext.read(source, fmt="py:percent")
    except (OSError, ValueError, SyntaxError) as error:
        raise ConfigError(f"{source}: not a percent-format notebook: {error}") from None
    seen: Counter[str] = Counter()
    notebook.cells = [_cell(cell, seen) for cell in notebook.cells]
    notebook.metadata = nbformat.from_dict(_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def pair(source: Path) -> bool:
    """Write the notebook beside its source; return whether it changed."""
    text, target = render(source), source.with_suffix(".ipynb")
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return False
    write_whole(target, text.encode())
    return True


def _cell(cell: Any, seen: Counter[str]) -> Any:
    """Keep a cell's text and tags, nothing else."""
    digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
    seen[digest] += 1
    cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    tags = cell.metadata.get("tags")
    cell.metadata.clear()
    if tags:
        cell.metadata["tags"] = tags
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    return cell
