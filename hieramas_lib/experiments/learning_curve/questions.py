"""More questions than are shipped, for learning curves that end at a thousand of them."""

from dataclasses import dataclass

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.oracle.questions import more_questions, original_text

TRAIN_COPIES, JUDGE_COPIES, SEARCH_COPIES = 16, 20, 10
"""Of the 72 training questions: 1,152; of the 100 held-out ones: 2,000 and 1,000."""


@dataclass(frozen=True)
class Questions:
    """The questions of a learning curve, all of them copies.

    Attributes:
        train: To learn from, copy by copy of the training split.
        judge: Held-out questions of the same subjects.
        search: Others, on which the best constant team is searched.
        unseen: Held-out questions of subjects that are not in the training split.
    """

    train: tuple[Task, ...]
    judge: tuple[Task, ...]
    search: tuple[Task, ...]
    unseen: tuple[Task, ...]

    @classmethod
    def of(cls, benchmark: str) -> "Questions":
        """Copy the splits of a shipped ``benchmark``."""
        train, test, unseen = (load_tasks(benchmark, s) for s in ("train", "test", "unseen"))
        held_out = more_questions(test, JUDGE_COPIES + SEARCH_COPIES)
        judged = JUDGE_COPIES * len(test)
        return cls(
            train=tuple(more_questions(train, TRAIN_COPIES)),
            judge=tuple(held_out[:judged]),
            search=tuple(held_out[judged:]),
            unseen=tuple(more_questions(unseen, JUDGE_COPIES)),
        )

    @property
    def originals(self) -> tuple[Task, ...]:
        """One copy of each question in ``judge``: to a learner the others look the same."""
        texts = {original_text(task.prompt): task for task in reversed(self.judge)}
        return tuple(reversed(texts.values()))

    def training_set(self, size: int, seed: int) -> list[Task]:
        """Draw ``size`` training questions: whole copies of the split while it goes.

        Raises:
            ConfigError: there are fewer.
        """
        if not 0 < size <= len(self.train):
            raise ConfigError(f"sizes: 1 to {len(self.train)} training questions, got {size}")
        rng, split = np.random.default_rng(seed), len(self.train) // TRAIN_COPIES
        order = [
            self.train[copy * split + question]
            for copy in rng.permutation(TRAIN_COPIES)
            for question in rng.permutation(split)
        ]
        return order[:size]
