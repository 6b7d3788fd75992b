"""``hieramas run-local``: both stages trained on real models, with a report of its own.

Notebooks 05 (stage 1, and every model alone) and 06 (stage 2) run on easy shipped questions, with
the parameters of ``notebooks/configs/local_05.yaml`` and ``local_06.yaml``. Everything goes to
``results/local/``, its call store included, so that no simulated result stands beside it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.config import read_values
from hieramas_lib.experiments.execution.batch import run_several
from hieramas_lib.experiments.execution.kernel import environment
from hieramas_lib.experiments.execution.notebooks import find_notebook
from hieramas_lib.experiments.report import write_report
from hieramas_lib.experiments.runs import NOTEBOOKS, is_simulated
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.paths import results_path

NUMBERS = ("05", "06")
TITLE = "Learned teams of small real models"


def run_local(
    pool: Path | None = None,
    *,
    budget_usd: float = 0.0,
    force: bool = False,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Path:
    """Run the two notebooks, at the same time, and return the path of their report.

    Args:
        pool: A pool file of real LLMs; by default ``data/pools/local.yaml``. Its reference LLM
            gives the final answers.
        budget_usd: Spending limit of each notebook, if the pool has LLMs that cost money.
        force: Whether to run again what is complete.
        on_progress: Gets one line a notebook as it ends.

    Raises:
        ConfigError: the pool file is missing, malformed or simulated, or an LLM of it cannot be
            used.
        NotebookFailed: with one line for each notebook that failed.
    """
    chosen = [
        (find_notebook(number), plan(number, pool) | {"budget_usd": budget_usd})
        for number in NUMBERS
    ]
    with environment({"HIERAMAS_RESULTS": str(results_path("local"))}):
        run_several(chosen, force=force, on_progress=on_progress)
        return write_report(title=TITLE)


def plan(number: str, pool: Path | None = None) -> dict[str, Any]:
    """Return the parameters of a notebook, with the LLMs of another pool put in."""
    values = read_values(NOTEBOOKS / "configs" / f"local_{number}.yaml")
    return values if pool is None else values | _llms_of(pool, values)


def _llms_of(path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that name LLMs, for the pool file ``path``."""
    pool = load_pool(path)
    if is_simulated(pool):
        raise ConfigError(f"{path}: has simulated LLMs, and run-local is for real ones")
    named = {
        "pool": str(path.resolve()),
        "decision": pool.reference,
        "strongest": pool.reference,
        "alone": list(pool.names),
    }
    return {name: value for name, value in named.items() if name in values}
