"""Where the project's folders are, wherever a notebook or a script was started from."""

import os
from pathlib import Path

from hieramas_lib.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]


def data_path(*parts: str) -> Path:
    """Return the path of a shipped data file.

    Raises:
        ConfigError: the file is not there.
    """
    path = ROOT.joinpath("data", *parts)
    if not path.exists():
        raise ConfigError(
            f"{path} is missing. The library reads the project's data/ folder: "
            "install it from a clone with `pip install -e .`"
        )
    return path


def results_path(*parts: str) -> Path:
    """Return a path under the folder that runs write to.

    That is ``results/``, or what the environment variable ``HIERAMAS_RESULTS`` names.
    """
    root = os.environ.get("HIERAMAS_RESULTS")
    return (Path(root).resolve() if root else ROOT / "results").joinpath(*parts)


def call_store_path() -> Path:
    """Return the file in which calls to LLMs that are not simulated are kept.

    That is ``calls.sqlite`` in the results folder, or what the environment variable
    ``HIERAMAS_CALLS`` names: a file can be written from one machine at a time.
    """
    path = os.environ.get("HIERAMAS_CALLS")
    return Path(path).resolve() if path else results_path("calls.sqlite")
