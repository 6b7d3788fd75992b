"""Make splits: of any tasks, and those that ship (``python -m hieramas_lib.tasks.splits``).

Deterministic in the seed and the tasks. Splits have no task in common; most are stratified by
subject. Those of maths are stratified by subject and have no *template* in common, so that a
test problem is never a training problem with other numbers; the templates take turns by level.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.duplicates import near_duplicates
from hieramas_lib.tasks.load import BENCHMARKS, load_all
from hieramas_lib.tasks.split_file import Covers, SplitFile, content_hash
from hieramas_lib.tasks.task import Task

SEED = 2602

SIZES = {
    "default": {
        "knowledge": {"train": 72, "val": 28, "test": 100, "unseen": 80},
        "maths": {"train": 72, "val": 36, "test": 120},
        "humaneval": {"train": 60, "val": 24, "test": 80},
        "mmlu_redux": {"train": 100, "val": 50, "test": 125, "unseen": 25},
    },
    "paper": {
        "knowledge": {"train": 54, "val": 21, "test": 125, "unseen": 25},
        "maths": {"train": 72, "val": 36, "test": 90},
        "humaneval": {"train": 72, "val": 28, "test": 64},
    },
}
"""Sizes by layout and benchmark. The test and unseen sizes of "paper", and of MMLU-Redux, are
those that HieraMAS's percentages imply; it gives none for train and val."""

UNSEEN_SUBJECTS = {
    "knowledge": ("statistics", "ancient_history", "sociology", "nutrition"),
    "mmlu_redux": (
        "astronomy", "electrical_engineering", "nutrition", "sociology", "world_religions",
    ),
}  # fmt: skip

_TURNS = ("train", "test", "train", "test", "val", "train", "test")
"""Whose turn a subject's seven templates are, by level; each subject starts one later."""

Groups = Mapping[str, Sequence[str]]


def make_splits(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    seed: int,
    *,
    unseen_subjects: Collection[str] = (),
    covers: Covers = "content",
) -> SplitFile:
    """Draw splits, each with the subjects in the proportions of the whole.

    Of questions that are nearly the same (:mod:`.duplicates`) only the first is drawn from, so
    that none is trained on and tested. Save the result with ``SplitFile.save`` and give its
    path to :func:`~hieramas_lib.tasks.load.load_tasks`.

    Args:
        tasks: All tasks of one benchmark.
        sizes: Tasks in each split, such as ``{"train": 60, "val": 20, "test": 100}``. The
            split ``"unseen"`` is drawn from ``unseen_subjects``, all others from the rest.
        seed: What the lots depend on, beside the ids.
        unseen_subjects: Subjects for ``"unseen"`` alone.
        covers: What the hash is to cover, see :class:`SplitFile`.

    Raises:
        ConfigError: fewer tasks than asked for, tasks of several benchmarks, an unknown
            subject, or only one of ``"unseen"`` and ``unseen_subjects``.
    """
    _check_request(tasks, sizes, unseen_subjects)
    copies = {later for _, later, _ in near_duplicates(tasks)}
    groups = _by_subject([task for task in tasks if task.id not in copies])
    unseen = {name: ids for name, ids in groups.items() if name in unseen_subjects}
    rest = {name: ids for name, ids in groups.items() if name not in unseen_subjects}
    drawn = _stratified(rest, {n: s for n, s in sizes.items() if n != "unseen"}, seed)
    if "unseen" in sizes:
        drawn["unseen"] = _draw(unseen, sizes["unseen"], f"{seed}/unseen")
    return _file(tasks, {name: drawn[name] for name in sizes}, seed, covers)


def _check_request(
    tasks: Sequence[Task], sizes: Mapping[str, int], unseen_subjects: Collection[str]
) -> None:
    benchmarks = sorted({task.benchmark for task in tasks})
    if len(benchmarks) != 1:
        raise ConfigError(f"tasks: those of one benchmark are needed, not of {benchmarks}")
    if ("unseen" in sizes) != bool(unseen_subjects):
        raise ConfigError('sizes: "unseen" needs unseen_subjects, and the other way round')
    if unknown := set(unseen_subjects) - {task.subject for task in tasks}:
        raise ConfigError(f"unseen_subjects: no task has {', '.join(sorted(unknown))}")
    if negative := [name for name, size in sizes.items() if size < 0]:
        raise ConfigError(f"sizes.{negative[0]}: must not be negative")


def _file(
    tasks: Sequence[Task], splits: Mapping[str, Sequence[str]], seed: int, covers: Covers
) -> SplitFile:
    order = {task.id: place for place, task in enumerate(tasks)}
    ordered = {name: tuple(sorted(ids, key=order.__getitem__)) for name, ids in splits.items()}
    return SplitFile(
        benchmark=tasks[0].benchmark, seed=seed, covers=covers,
        hash=content_hash(ordered, tasks, covers), splits=ordered,
    )  # fmt: skip


def build_splits(benchmark: str, tasks: Sequence[Task], layout: str = "default") -> SplitFile:
    """Divide a benchmark's tasks as its shipped split file of that layout does."""
    sizes = SIZES[layout][benchmark]
    if benchmark == "maths":
        pools = _maths_pools(tasks)
        drawn = {name: _draw(pools[name], n, f"{SEED}/{name}") for name, n in sizes.items()}
        return _file(tasks, drawn, SEED, "content")
    unseen = UNSEEN_SUBJECTS.get(benchmark, ())
    covers: Covers = "content" if benchmark in BENCHMARKS else "ids"
    return make_splits(tasks, sizes, SEED, unseen_subjects=unseen, covers=covers)


def _by_subject(tasks: Sequence[Task]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(task.subject, []).append(task.id)
    return groups


def _stratified(groups: Groups, sizes: Mapping[str, int], seed: int) -> dict[str, list[str]]:
    """Draw splits one after another, the largest first, each from all that is left."""
    left = {name: list(ids) for name, ids in groups.items()}
    splits: dict[str, list[str]] = {}
    for split in sorted(sizes, key=lambda name: -sizes[name]):
        splits[split] = _draw(left, sizes[split], f"{seed}/{split}")
        taken = set(splits[split])
        left = {name: [i for i in ids if i not in taken] for name, ids in left.items()}
    return splits


def _maths_pools(tasks: Sequence[Task]) -> dict[str, dict[str, list[str]]]:
    """Deal each subject's templates out to the splits in turn, from easy to hard."""
    pools: dict[str, dict[str, list[str]]] = {"train": {}, "val": {}, "test": {}}
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
    """Share ``total`` out in proportion to ``sizes``: largest remainders, ties by lot.

    Raises:
        ConfigError: there are fewer.
    """
    everything = sum(sizes.values())
    if total > everything:
        raise ConfigError(f"{salt}: {total} tasks are asked for, there are {everything}")
    if not everything:
        return dict.fromkeys(sizes, 0)
    counts = {name: total * size // everything for name, size in sizes.items()}
    by_remainder = sorted(
        sizes, key=lambda name: (-(total * sizes[name] % everything), _lot(f"{salt}/{name}"))
    )
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def _lot(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def main(folder: Path = ROOT / "data" / "splits") -> None:
    """Write the split files of the benchmarks that ship."""
    for layout in SIZES:
        ending = "" if layout == "default" else f".{layout}"
        for benchmark in BENCHMARKS:
            file = build_splits(benchmark, load_all(benchmark), layout)
            file.save(folder / f"{benchmark}{ending}.json")


if __name__ == "__main__":
    main()
