"""Find and run the speed measurements in ``tests/bench``."""

import os
import subprocess
import sys
from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import ROOT


def bench_scripts() -> dict[str, Path]:
    """Return what can be measured: name and script."""
    scripts = sorted((ROOT / "tests" / "bench").glob("bench_*.py"))
    return {path.stem.removeprefix("bench_"): path for path in scripts}


def run_bench(name: str) -> int:
    """Run a measurement in a process of its own, with one thread; return its exit code.

    It prints figures beside their goals. Other work on the machine slows it down, so that a
    missed goal is no error.

    Raises:
        ConfigError: there is none of that name.
    """
    scripts = bench_scripts()
    if name not in scripts:
        known = ", ".join(scripts) or "none here: they are in tests/bench of a clone"
        raise ConfigError(f"no measurement {name!r}; there are {known}")
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run([sys.executable, str(scripts[name])], env={**os.environ, **one_thread})
    return done.returncode
