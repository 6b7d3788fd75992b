"""The shipped pool on the shipped tasks: accuracies against their targets, and subjects' spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.calibration.twin import Twin
from hieramas_lib.llms.pool import LLMPool, load_pool
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks

GOAL: Final = 0.02
"""Largest difference of an accuracy from its target that counts as agreement."""

WORLDS: Final = 20
_SETS = ("knowledge", "maths", "humaneval")


@dataclass(frozen=True)
class PoolAccuracy:
    """One simulated LLM on one task set, asked alone.

    Attributes:
        tasks: Name of the task set.
        llm: Name of the LLM.
        target: The accuracy that is aimed at.
        accuracy: Mean over worlds.
        subject_sd: Standard deviation of its accuracy over subjects, without sampling noise.
    """

    tasks: str
    llm: str
    target: float
    accuracy: float
    subject_sd: float


def pool_accuracies(settings: WorldSettings) -> tuple[PoolAccuracy, ...]:
    """Return accuracy and spread over subjects of the shipped pool, on every shipped task set."""
    pool = load_pool(data_path("llm_pool.yaml"))
    return tuple(row for name in _SETS for row in _on_set(name, pool, settings))


def subject_variance(right: NDArray[np.bool_], subjects: Sequence[str]) -> float:
    """Return the variance of an accuracy over subjects, less what sampling adds; may be negative.

    Args:
        right: Of one LLM, shape ``[questions]``.
        subjects: The subject of each question, each at least twice.
    """
    index = np.unique(np.asarray(subjects), return_inverse=True)[1]
    size = np.bincount(index)
    mean = np.bincount(index, weights=right) / size
    sampling = mean * (1 - mean) / (size - 1)
    return float(mean.var(ddof=1) - sampling.mean())


def _on_set(name: str, pool: LLMPool, settings: WorldSettings) -> list[PoolAccuracy]:
    tasks = load_tasks(name)
    kind, subjects = tasks[0].kind, [task.subject for task in tasks]
    targets = {spec.name: settings.targets[spec.name][kind] for spec in pool.llms}
    families = [spec.family for spec in pool.llms]
    right = np.array(
        [Twin(targets, families, tasks, settings, s).right() for s in range(1, WORLDS + 1)]
    )
    rows = []
    for number, (llm, target) in enumerate(targets.items()):
        of_llm = right[:, number]
        variance = fmean(subject_variance(world, subjects) for world in of_llm)
        sd = sqrt(max(variance, 0.0))
        rows.append(PoolAccuracy(name, llm, target, float(of_llm.mean()), sd))
    return rows
