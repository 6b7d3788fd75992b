"""What is to be run, checked as far as it can be before a kernel starts."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments import runs
from hieramas_lib.experiments.config import read_parameters, resolve, run_id
from hieramas_lib.experiments.execution.notebooks import LAST
from hieramas_lib.experiments.parameter_checks import KNOWN, check_parameters
from hieramas_lib.paths import results_path

_STARTED = re.compile(
    r"""^[^#\n]*\bstart_(?:run|notebook)\(\s*(["'])(?P<name>[^"'\n]*)\1""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A run whose names and types have been checked.

    Attributes:
        notebook: The file, with its whole path.
        values: The parameters that differ from the notebook's own, for papermill.
        parameters: All parameters.
        folder: Where the run goes.
        allotted_usd: What it may spend at most, whatever its ``budget_usd``.
        calls: Its call store; None for the one in the results folder.
    """

    notebook: Path
    values: dict[str, Any]
    parameters: dict[str, Any]
    folder: Path
    allotted_usd: float = math.inf
    calls: Path | None = None

    @property
    def experiment(self) -> str:
        """Name of the notebook."""
        return self.notebook.stem

    @property
    def up_to_date(self) -> bool:
        """Whether the run is complete and, for one that reads all others, the newest."""
        if runs.status(self.folder) != "complete":
            return False
        if self.experiment not in LAST:
            return True
        others = (p for p in results_path().glob("*/*/run.json") if p.parent != self.folder)
        own = (self.folder / "run.json").stat().st_mtime_ns
        return all(path.stat().st_mtime_ns < own for path in others)

    def check(self) -> None:
        """Check what the parameters stand for: see :mod:`~..parameter_checks`.

        Raises:
            ConfigError: names the notebook, the parameter and the fix.
        """
        check_parameters(self.experiment, self.parameters)

    @property
    def checked(self) -> str:
        """What :meth:`check` looks at: of runs that agree in it, one need be checked."""
        return json.dumps({name: self.parameters.get(name) for name in KNOWN})


def plan_run(notebook: Path, values: Mapping[str, Any]) -> Plan:
    """Check names and types of ``values`` and find out where the run goes.

    Raises:
        ConfigError: an unknown parameter, a wrong type, or a copy that starts the run of another
            notebook.
    """
    config = resolve(read_parameters(notebook), values, notebook.stem)
    _refuse_name_of_another(notebook)
    plain = config.plain()
    folder = results_path(notebook.stem, run_id(notebook.stem, config))
    return Plan(notebook.resolve(), {name: plain[name] for name in values}, plain, folder)


def _refuse_name_of_another(notebook: Path) -> None:
    """Raise ConfigError if the notebook, a copy as a rule, starts a run under another name."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    if (started := _STARTED.search(code)) and started["name"] != notebook.stem:
        raise ConfigError(
            f"{notebook.name}: it starts the run of {started['name']!r}. Fix: rename the first "
            f"argument of start_notebook to {notebook.stem!r}"
        )
