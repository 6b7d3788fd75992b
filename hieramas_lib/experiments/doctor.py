"""What is installed and what can be used, said in lines; keys are named, never shown."""

import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from hieramas_lib.experiments.commit import current_commit
from hieramas_lib.experiments.first_call import listens
from hieramas_lib.llms.pool import LLMPool, LLMSpec, load_pool, shipped_pools
from hieramas_lib.paths import ROOT, results_path
from hieramas_lib.tasks.load import BENCHMARKS, load_tasks

if TYPE_CHECKING:
    import pandas as pd

_PACKAGES = (
    "hieramas-lib", "torch", "torch-geometric", "numpy", "pandas", "matplotlib", "papermill",
    "ipykernel", "openai", "anthropic", "xllamacpp",
)  # fmt: skip


def findings(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield one line for each thing checked; nothing is called but servers on this machine.

    Raises:
        ConfigError: a pool file is missing or malformed.
    """
    yield f"python {platform.python_version()} on {platform.system()}; commit {current_commit()}"
    yield ", ".join(_version(name) for name in _PACKAGES)
    for path in shipped_pools():
        yield from _pool(load_pool(path), str(path.relative_to(ROOT)), environment)
    yield f"results go to {results_path()}"


def kernel_findings(executable: str, prefix: str, root: Path = ROOT) -> Iterator[str]:
    """Yield the interpreter behind a kernel, and what to do if it is not the project's own.

    Args:
        executable, prefix: ``sys.executable`` and ``sys.prefix`` of the kernel.
        root: The project's folder.
    """
    yield f"kernel: {os.path.relpath(executable, root)}"
    if not Path(prefix).resolve().is_relative_to(root.resolve()):
        yield (
            "This kernel is not of the project's .venv. If a later cell fails, start JupyterLab\n"
            "by `make lab`, or choose the kernel of .venv."
        )


def question_counts() -> "pd.DataFrame":
    """Read every shipped question, and count them: ``benchmark, questions, subjects``.

    Raises:
        ConfigError: a file of questions is missing or malformed.
    """
    import pandas as pd

    tasks = {name: load_tasks(name) for name in BENCHMARKS}
    return pd.DataFrame(
        {
            "benchmark": list(tasks),
            "questions": [len(some) for some in tasks.values()],
            "subjects": [len({task.subject for task in some}) for some in tasks.values()],
        }
    )


def _version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def _pool(pool: LLMPool, path: str, environment: Mapping[str, str]) -> Iterator[str]:
    unpriced = [spec.name for spec in pool.llms if spec.price is None]
    yield f"pool {pool.name!r} ({path}): {', '.join(pool.names)}" + (
        f"; without a price: {', '.join(unpriced)}" if unpriced else ""
    )
    for name in sorted({spec.key_env for spec in pool.llms if spec.key_env}):
        there = bool(environment.get(name, "").strip())
        yield f"  key {name}: {'set' if there else f'not set: run `export {name}=...`'}"
    for line in dict.fromkeys(_place(spec) for spec in pool.llms):
        if line:
            yield f"  {line}"


def _place(spec: LLMSpec) -> str:
    """Say whether a model file or a server of one's own is there; empty for what is elsewhere."""
    if spec.client == "local":
        there = (ROOT / spec.model).expanduser().exists()
        return (
            f"model file {spec.model}: {'there' if there else 'missing: `make setup` fetches it'}"
        )
    address = spec.own_address
    if address is None:
        return ""
    return f"server {address}: {'listens' if listens(address) else 'not running'}"
