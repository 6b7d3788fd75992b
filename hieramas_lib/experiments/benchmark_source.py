"""Where a benchmark's questions, splits and roles come from: a shipped one, or one's own files.

A benchmark of one's own needs no code, only a YAML file that names its parts; see
``examples/own_benchmark``. Paths in it are relative to the file.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import Encoder, MiniLM, SentenceEncoder, save_vectors
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import RoleKnobs, WorldSettings
from hieramas_lib.llms.yaml_file import read_yaml
from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.load import BENCHMARKS, load_tasks
from hieramas_lib.tasks.splits import make_splits
from hieramas_lib.tasks.task import Task
from hieramas_lib.tasks.user_file import SUFFIXES
from hieramas_lib.teams.roles import RoleSet, load_roles

ENDING = ".yaml"

Tasks = tuple[Task, ...]


class OwnBenchmark(BaseModel):
    """The YAML file that describes a benchmark of one's own.

    Attributes:
        questions: A ``.jsonl`` or ``.csv`` file (:mod:`hieramas_lib.tasks.user_file`), or the
            name of a benchmark that ships or is on the hub, to try other roles on it.
        splits: The split file; may be left out for a benchmark that has one.
        roles: A role file like ``data/roles/choice.yaml``; by default the shipped roles for
            this kind of question.
        vectors: Text vectors of the questions and roles, made by ``hieramas prepare``. Without
            them the texts are embedded in each run, which takes the ``embed`` extra.
        experts: Subjects in which a role is at home. It matters to simulated LLMs alone, which
            know of a role no more than its duty and this; real ones read its instruction.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: str
    splits: str | None = None
    roles: str | None = None
    vectors: str | None = None
    experts: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class BenchmarkSource:
    """The parts of a benchmark.

    Attributes:
        tasks: All questions, those in no split included.
        train, val, test: The splits.
        roles: The roles of a team on it.
        knobs: What simulated LLMs have to be told about roles that do not ship.
        subjects: Subjects of questions that do not ship; empty for those that do.
        vectors: File with vectors of texts that do not ship.
    """

    tasks: Tasks
    train: Tasks
    val: Tasks
    test: Tasks
    roles: RoleSet
    knobs: Mapping[str, RoleKnobs] = field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    vectors: Path | None = None

    def settings(self, difficulty: str) -> WorldSettings:
        """Return the settings of a simulated world in which these roles and subjects exist."""
        settings = load_settings(difficulty)
        subjects = dict(settings.subjects)
        if self.subjects:
            subjects[self.roles.kind] = self.subjects
        roles = {**settings.roles, **self.knobs}
        return settings.model_copy(update={"roles": roles, "subjects": subjects})

    def encoder(self) -> Encoder:
        """Return what turns the texts of questions and roles into vectors.

        Raises:
            ConfigError: the file of vectors is missing, or a text has no vector and the ``embed``
                extra is not installed.
        """
        if self.vectors is not None and not self.vectors.exists():
            raise ConfigError(f"{self.vectors} is missing; `hieramas prepare` makes it")
        encoder = MiniLM(self.vectors)
        unknown = [text for text in _texts(self.tasks, self.roles) if text not in encoder]
        if unknown and importlib.util.find_spec("sentence_transformers") is None:
            raise ConfigError(
                f"vectors: {len(unknown)} texts have none, such as {unknown[0][:60]!r}; run "
                '`pip install -e ".[embed]"`, and `hieramas prepare` to need it only once'
            )
        return encoder


def benchmark_source(name: str) -> BenchmarkSource:
    """Find a benchmark.

    Args:
        name: ``"knowledge"``, ``"maths"`` or ``"humaneval"``; or the path of a YAML file
            (:class:`OwnBenchmark`), relative to the project.

    Raises:
        ConfigError: there is none, or one of its files is missing or malformed; names file and
            field.
    """
    if name in BENCHMARKS:
        tasks = load_tasks(name)
        return BenchmarkSource(tasks, *_splits(name), roles=load_roles(tasks[0].kind))
    if not name.endswith(ENDING):
        raise ConfigError(
            f"benchmark: {name!r} is not one of {', '.join(BENCHMARKS)}, nor the path of a "
            f"{ENDING} file that describes one of your own"
        )
    return _own_source(ROOT / name)


def prepare(path: Path, sizes: Mapping[str, int], seed: int = 0) -> list[str]:
    """Make the files that a benchmark of one's own names: splits if missing, vectors anew.

    Args:
        path: The YAML file.
        sizes: Questions in each split; needed where the split file is missing.
        seed: What the splits are drawn with.

    Returns:
        What was done, a line for each file.

    Raises:
        ConfigError: a file is malformed, sizes are missing or too large, or the ``embed`` extra is
            not installed and vectors are named.
    """
    own = read_yaml(path, OwnBenchmark)
    tasks = load_tasks(_questions(path, own))
    roles = _roles(path, own, tasks)
    _check_experts(path, own, roles, tuple(sorted({task.subject for task in tasks})))
    splits = None if own.splits is None else path.parent / own.splits
    if splits is not None and not splits.exists():
        _check_sizes(path, splits, sizes, len(tasks))
    # Before anything is written: it is missing where the extra is.
    encoder = SentenceEncoder() if own.vectors is not None else None
    done = []
    if splits is not None and splits.exists():
        done.append(f"{splits}: kept; delete it to draw splits anew")
    elif splits is not None:
        make_splits(tasks, sizes, seed).save(splits)
        done.append(f"{splits}: {', '.join(f'{n} {split}' for split, n in sizes.items())}")
    if own.vectors is not None and encoder is not None:
        texts = _texts(tasks, roles)
        save_vectors(texts, encoder, path.parent / own.vectors)
        done.append(f"{path.parent / own.vectors}: vectors of {len(set(texts))} texts")
    return done


def _check_sizes(path: Path, splits: Path, sizes: Mapping[str, int], there: int) -> None:
    """Make sure that splits of these sizes can be drawn from ``there`` questions."""
    if not any(sizes.values()):
        raise ConfigError(f"{splits} is missing: say how many go to --train, --val and --test")
    if sum(sizes.values()) > there:
        raise ConfigError(
            f"{path}: {' + '.join(map(str, sizes.values()))} questions are asked for, and it has "
            f"{there}; take smaller --train, --val and --test"
        )


def _own_source(path: Path) -> BenchmarkSource:
    own = read_yaml(path, OwnBenchmark)
    questions, splits = _questions(path, own), "default"
    if own.splits is not None:
        splits = str(path.parent / own.splits)
        if not Path(splits).exists():
            raise ConfigError(
                f"{splits} is missing; draw it with `hieramas prepare {path} --train N --val N "
                "--test N`"
            )
    tasks = load_tasks(questions)
    roles = _roles(path, own, tasks)
    subjects = tuple(sorted({task.subject for task in tasks}))
    _check_experts(path, own, roles, subjects)
    knobs = {}
    if own.roles is not None or own.experts:
        for role in roles.roles:
            knobs[role.name] = RoleKnobs(duty=role.duty, subjects=own.experts.get(role.name, ()))
    return BenchmarkSource(
        tasks,
        *_splits(questions, splits),
        roles=roles,
        knobs=knobs,
        subjects=subjects if questions not in BENCHMARKS else (),
        vectors=path.parent / own.vectors if own.vectors else None,
    )


def _splits(questions: str, splits: str = "default") -> tuple[Tasks, Tasks, Tasks]:
    parts = {
        split: load_tasks(questions, split, splits=splits) for split in ("train", "val", "test")
    }
    for split, tasks in parts.items():
        if not tasks:
            raise ConfigError(
                f"{splits}: splits.{split}: there is no question in it; delete the file and run "
                f"`hieramas prepare` with --{split} above 0"
            )
    return parts["train"], parts["val"], parts["test"]


def _questions(path: Path, own: OwnBenchmark) -> str:
    return str(path.parent / own.questions) if own.questions.endswith(SUFFIXES) else own.questions


def _roles(path: Path, own: OwnBenchmark, tasks: Tasks) -> RoleSet:
    roles = load_roles(path.parent / own.roles if own.roles else tasks[0].kind)
    for task in tasks:
        if task.kind != roles.kind:
            raise ConfigError(
                f"{path}: roles: they are for questions of kind {roles.kind!r}, and {task.id!r} "
                f"is of kind {task.kind!r}; make a benchmark of each kind"
            )
    return roles


def _check_experts(
    path: Path, own: OwnBenchmark, roles: RoleSet, subjects: tuple[str, ...]
) -> None:
    for name, fields in own.experts.items():
        if name not in roles.names:
            known = ", ".join(roles.names)
            raise ConfigError(f"{path}: experts: there is no role {name!r}; there are {known}")
        for subject in fields:
            if subject not in subjects:
                raise ConfigError(
                    f"{path}: experts.{name}: no question has the subject {subject!r}; there are "
                    f"{', '.join(subjects)}"
                )


def _texts(tasks: Tasks, roles: RoleSet) -> list[str]:
    """Return the texts that the learners embed."""
    return [*(task.prompt for task in tasks), *(role.profile for role in roles.roles)]
