"""Build the split files: ``python -m hieramas_lib.tasks.splits``.

Deterministic in :data:`SEED` and the tasks' ids. Splits have no task in common; those of
knowledge and HumanEval are stratified by subject. Those of maths are stratified by subject and
have no *template* in common, so that a test problem is never a training problem with other
numbers; the templates take turns by level.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.load import BENCHMARKS, load_all
from hieramas_lib.tasks.split_file import SplitFile, content_hash
from hieramas_lib.tasks.task import Task

SEED = 2602
SIZES = {
    "knowledge": {"train": 72, "val": 28, "test": 100},
    "maths": {"train": 72, "val": 36, "test": 120},
    "humaneval": {"train": 60, "val": 24, "test": 80},
}
UNSEEN_SUBJECTS = ("statistics", "ancient_history", "sociology", "nutrition")
_TURNS = ("train", "test", "train", "test", "val", "train", "test")
"""Whose turn a subject's seven templates are, by level; each subject starts one later."""

Groups = Mapping[str, Sequence[str]]


def build_splits(benchmark: str, tasks: Sequence[Task]) -> SplitFile:
    """Divide a benchmark's tasks."""
    sizes = SIZES[benchmark]
    if benchmark == "maths":
        pools = _maths_pools(tasks)
        splits = {name: _draw(pools[name], size, name) for name, size in sizes.items()}
    else:
        seen = [task for task in tasks if task.subject not in UNSEEN_SUBJECTS]
        splits = _stratified(_by_subject(seen), sizes)
    if benchmark == "knowledge":
        splits["unseen"] = [task.id for task in tasks if task.subject in UNSEEN_SUBJECTS]
    order = {task.id: place for place, task in enumerate(tasks)}
    ordered = {name: tuple(sorted(ids, key=order.__getitem__)) for name, ids in splits.items()}
    return SplitFile(
        benchmark=benchmark, seed=SEED, hash=content_hash(dict(ordered), tasks), splits=ordered
    )


def _by_subject(tasks: Sequence[Task]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(task.subject, []).append(task.id)
    return groups


def _stratified(groups: Groups, sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """Draw splits one after another, the largest first, each from all that is left."""
    left = {name: list(ids) for name, ids in groups.items()}
    splits: dict[str, list[str]] = {}
    for split in sorted(sizes, key=lambda name: -sizes[name]):
        splits[split] = _draw(left, sizes[split], split)
        taken = set(splits[split])
        left = {name: [i for i in ids if i not in taken] for name, ids in left.items()}
    return {name: splits[name] for name in sizes}


def _maths_pools(tasks: Sequence[Task]) -> dict[str, dict[str, list[str]]]:
    """Deal each subject's templates out to the splits in turn, from easy to hard."""
    pools: dict[str, dict[str, list[str]]] = {name: {} for name in SIZES["maths"]}
    for place, (_, in_subject) in enumerate(groupby(tasks, key=lambda task: task.subject)):
        templates = groupby(in_subject, key=lambda task: template_of(task.id))
        for rank, (template, members) in enumerate(templates):
            split = _TURNS[(rank + place) % len(_TURNS)]
            pools[split][template] = [task.id for task in members]
    return pools


def template_of(task_id: str) -> str:
    """Return the part of a maths task's id that names its template."""
    return task_id.rsplit("/", 1)[0]


def _draw(groups: Groups, size: int, salt: str) -> list[str]:
    """Draw ``size`` ids, as many from each group as its share asks for."""
    counts = apportion(size, {name: len(ids) for name, ids in groups.items()}, salt)
    drawn: list[str] = []
    for name, ids in groups.items():
        drawn += sorted(ids, key=lambda i: _lot(f"{salt}/{i}"))[: counts[name]]
    return drawn


def apportion(total: int, sizes: Mapping[str, int], salt: str) -> dict[str, int]:
    """Share ``total`` out in proportion to ``sizes``: largest remainders, ties by lot."""
    everything = sum(sizes.values())
    if total > everything:
        raise ValueError(f"{total} tasks are asked for, there are {everything}")
    counts = {name: total * size // everything for name, size in sizes.items()}
    by_remainder = sorted(
        sizes, key=lambda name: (-(total * sizes[name] % everything), _lot(f"{salt}/{name}"))
    )
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def _lot(text: str) -> str:
    return hashlib.blake2b(f"{SEED}/{text}".encode(), digest_size=8).hexdigest()


def main(folder: Path = ROOT / "data" / "splits") -> None:
    """Write all split files."""
    for benchmark in BENCHMARKS:
        file = build_splits(benchmark, load_all(benchmark))
        text = file.model_dump_json(indent=1) + "\n"
        (folder / f"{benchmark}.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
