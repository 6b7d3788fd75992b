"""The YAML file of a sweep: one notebook, and the parameters of many runs of it."""

import itertools
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.yaml_file import read_yaml

Values = dict[str, Any]


class SweepFile(BaseModel):
    """What ``hieramas sweep`` reads.

    Attributes:
        notebook: Number, name or path; a path is relative to this file.
        base: Parameters of every run; the rest are the notebook's defaults.
        grid: Parameter name to a list of values; every combination is a run. A parameter that is a
            list itself needs a list of lists.
        runs: Further runs, each with the parameters that differ from ``base``.
        exclude: Combinations of the grid to leave out; each names some of its parameters.
        budget_usd: Limit on what all runs spend together, in all starts of the sweep.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    notebook: str
    base: Values = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    runs: tuple[Values, ...] = ()
    exclude: tuple[Values, ...] = ()
    budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _not_empty(cls, content: Any) -> Any:
        if not content:
            raise ValueError("it is empty; a sweep has at least `notebook:` and `grid:` or `runs:`")
        return content

    def values(self) -> list[Values]:
        """Return the parameters of each run: the grid, its last parameter first, then ``runs``.

        Raises:
            ConfigError: an entry of ``exclude`` leaves out nothing.
        """
        combinations = [
            dict(zip(self.grid, chosen, strict=True))
            for chosen in itertools.product(*self.grid.values())
        ]
        for entry in self.exclude:
            if not any(_matches(combination, entry) for combination in combinations):
                raise ConfigError(f"exclude: {entry} leaves out nothing; it must be in the grid")
        kept = [c for c in combinations if not any(_matches(c, entry) for entry in self.exclude)]
        listed = kept if self.grid or not self.runs else []
        return [self.base | values for values in [*listed, *self.runs]]


def read_sweep(path: Path) -> SweepFile:
    """Read the file of a sweep.

    Raises:
        ConfigError: the file is missing, empty or malformed; names the file and every such field.
    """
    return read_yaml(path, SweepFile)


def _matches(combination: Values, entry: Values) -> bool:
    return all(name in combination and combination[name] == entry[name] for name in entry)
