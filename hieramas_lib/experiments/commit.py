"""The commit of the code that runs, for a run's provenance.

Running and saving a notebook changes its file without changing its code, so a notebook of which
only outputs or parameters changed counts as unchanged: a run's record holds its parameters.
"""

import json
import subprocess
from pathlib import Path

from hieramas_lib.paths import ROOT


def current_commit(root: Path = ROOT) -> str:
    """Return the short commit of the code, with ``+`` if it was changed; "no git" without one."""
    try:
        commit = _git(root, "rev-parse", "--short=7", "HEAD").strip()
        return commit + ("+" if _changed(root) else "")
    except (OSError, subprocess.CalledProcessError):
        return "no git"


def _changed(root: Path) -> bool:
    tracked = _git(root, "diff", "--name-only", "--relative", "HEAD").splitlines()
    new = _git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    return bool(new) or not all(_only_run(root, path) for path in tracked)


def _only_run(root: Path, path: str) -> bool:
    """Whether a file is a notebook whose code and texts are those of the commit."""
    if not path.endswith(".ipynb"):
        return False
    try:
        before = _git(root, "show", f"HEAD:./{path}")
        return _sources((root / path).read_text(encoding="utf-8")) == _sources(before)
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError):
        return False


def _sources(notebook: str) -> list[tuple[str, str]]:
    """Return kind and source of the cells, without the parameters cell and empty cells."""
    cells = [
        (cell["cell_type"], "".join(cell["source"]).strip())
        for cell in json.loads(notebook)["cells"]
        if "parameters" not in cell["metadata"].get("tags", [])
    ]
    return [(kind, source) for kind, source in cells if source]


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout
