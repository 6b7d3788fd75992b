"""Public benchmarks, read through the ``datasets`` library when they are asked for.

Nothing of them ships. ``datasets`` is the optional extra ``hub``; it downloads a set once and
keeps it in its cache, from which ``HF_HUB_OFFLINE=1`` reads it without a network.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.hub_rows import Labels, LeftOut, Place
from hieramas_lib.tasks.hub_sets import HUB_SETS, HubSet
from hieramas_lib.tasks.task import Task

logger = logging.getLogger(__name__)


def hub_set(name: str) -> HubSet | None:
    """Return the description of a public benchmark, None where there is none of this name."""
    return next((each for each in HUB_SETS if each.name == name), None)


def load_hub(
    name: str,
    part: str | None = None,
    *,
    configs: Sequence[str] | None = None,
    labels: Labels = "ok",
    source: str | Path | None = None,
) -> tuple[Task, ...]:
    """Load a public benchmark; logs how many rows gave no task, and why.

    Args:
        name: See :data:`~hieramas_lib.tasks.hub_sets.HUB_SETS`.
        part: One of the set's own splits; None for all that it has.
        configs: Some of the set's configurations, such as subjects of MMLU-Redux or the
            release of LiveCodeBench (``release_v1`` is the default).
        labels: What to do about MMLU-Redux's label errors.
        source: A folder with a copy of the hub's repository; None for the hub itself.

    Raises:
        ConfigError: an unknown name, part or configuration; no ``datasets`` library; the set
            cannot be reached; a row that is not as described. Names the set and the fix.
    """
    chosen = hub_set(name)
    if chosen is None:
        names = ", ".join(each.name for each in HUB_SETS)
        raise ConfigError(f"no public benchmark {name!r}; there are {names}")
    for wanted in [] if part is None else [part]:
        _check_known(chosen, "part", wanted, chosen.parts)
    for wanted in configs or ():
        _check_known(chosen, "configuration", wanted, chosen.configs)
    tasks: dict[str, Task] = {}
    left_out: Counter[str] = Counter()
    for our_part in chosen.parts if part is None else (part,):
        for config in configs or chosen.default_configs:
            for number, row in enumerate(_rows(chosen, config, chosen.parts[our_part], source)):
                at = Place(name, our_part, config, number, labels)
                task = _task(chosen, row, at)
                if isinstance(task, LeftOut):
                    left_out[task.reason] += 1
                elif task.id in tasks:
                    raise ConfigError(f"{name}: {chosen.repo}: id {task.id!r} occurs twice")
                else:
                    tasks[task.id] = task
    _report(name, len(tasks), left_out)
    if not tasks:
        raise ConfigError(f"{name}: {chosen.repo} gave no task")
    return tuple(tasks.values())


def _check_known(chosen: HubSet, what: str, name: str, there: Collection[str]) -> None:
    if name not in there:
        names = ", ".join(there) or "none"
        raise ConfigError(f"{chosen.name!r} has no {what} {name!r}; it has {names}")


def _report(name: str, kept: int, left_out: Mapping[str, int]) -> None:
    if left_out:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
        total = kept + sum(left_out.values())
        logger.warning("%s: %d of %d rows left out: %s", name, total - kept, total, reasons)


def _task(chosen: HubSet, row: Mapping[str, Any], at: Place) -> Task | LeftOut:
    try:
        return chosen.row.model_validate(row).task(at)
    except ValidationError as error:
        fault = error.errors()[0]
        message = f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
    except Exception as error:
        message = str(error)
    config = f" {at.config}" if at.config else ""
    raise ConfigError(f"{at.benchmark}: {chosen.repo}{config}: row {at.row}: {message}")


def _rows(
    chosen: HubSet, config: str, split: str, source: str | Path | None
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows, with the fields that are read and no others (pictures stay packed)."""
    if source is not None and not Path(source).is_dir():
        raise ConfigError(f"source: no folder {source}; give one with a copy of {chosen.repo}")
    try:
        import datasets
    except ImportError:
        raise ConfigError(
            f"{chosen.name!r} is read with the library datasets, which is not installed: "
            "`pip install -c constraints.txt -e '.[hub]'`"
        ) from None
    place = str(source or chosen.repo)
    try:
        if chosen.files:
            root = place if source else f"hf://datasets/{place}"
            files = [f"{root}/{file}" for file in chosen.files[config]]
            table = datasets.load_dataset("json", data_files=files, split="train")
        else:
            table = datasets.load_dataset(place, config or None, split=split)
    except Exception as error:  # of many kinds: network, cache, gate, layout, a new hub client
        raise ConfigError(_unreachable(chosen, config, source, error)) from error
    wanted = [name for name in chosen.row.model_fields if name in table.column_names]
    yield from table.select_columns(wanted)


def _unreachable(chosen: HubSet, config: str, source: str | Path | None, error: Exception) -> str:
    """Say in one line what could not be loaded and what to do."""
    cause = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    what = f"{chosen.name!r} ({chosen.repo}{', ' + config if config else ''})"
    if source is not None:
        return f"{what} could not be read from {source} ({cause}): it is no copy of the hub's files"
    gate = " accept its terms on the hub and set HF_TOKEN;" if "gated" in chosen.licence else ""
    return (
        f"{what} could not be loaded from the hub ({cause}): check the network;{gate} or set "
        "HF_HUB_OFFLINE=1 where the cache holds it; or give source=FOLDER with a copy of the "
        "repository, or your own questions, load_tasks('FILE.jsonl')"
    )
