"""What is installed and what can be used, said in lines; keys are named, never shown."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from hieramas_lib.experiments.commit import current_commit
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.paths import ROOT, data_path, results_path

_PACKAGES = (
    "hieramas-lib", "torch", "torch-geometric", "numpy", "pandas", "matplotlib", "papermill",
    "ipykernel", "openai", "anthropic", "xllamacpp",
)  # fmt: skip


def findings(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield one line for each thing checked.

    Raises:
        ConfigError: a pool file is missing or malformed.
    """
    yield f"python {platform.python_version()} on {platform.system()}; commit {current_commit()}"
    yield ", ".join(_version(name) for name in _PACKAGES)
    pools = [load_pool(data_path("llm_pool.yaml"))]
    pools += [load_pool(path) for path in sorted((ROOT / "data" / "pools").glob("*.yaml"))]
    for pool in pools:
        yield from _pool(pool, environment)
    yield f"results go to {results_path()}"


def _version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def _pool(pool: LLMPool, environment: Mapping[str, str]) -> Iterator[str]:
    unpriced = [spec.name for spec in pool.llms if spec.price is None]
    yield f"pool {pool.name!r}: {', '.join(pool.names)}" + (
        f"; without a price: {', '.join(unpriced)}" if unpriced else ""
    )
    for name in sorted({spec.key_env for spec in pool.llms if spec.key_env}):
        yield f"  key {name}: {'set' if environment.get(name) else 'not set'}"
    for spec in pool.llms:
        if spec.client == "local":
            there = (ROOT / spec.model).exists()
            fix = "" if there else ": `make setup` downloads it"
            yield f"  model file {spec.model}: {'there' if there else 'missing'}{fix}"
