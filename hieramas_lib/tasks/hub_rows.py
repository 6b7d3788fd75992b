"""One row of each public benchmark, in the field layout it has on the hub, as a task.

A row becomes a task, or a :class:`LeftOut` with the reason, which the loader counts. A row
that is neither raises a ValueError: nothing is dropped in silence.
"""

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hieramas_lib.tasks.task import LETTERS, Kind, Task

Labels = Literal["ok", "corrected", "original"]
"""What is done about MMLU-Redux's label errors, see :class:`MmluReduxRow`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row comes from.

    Attributes:
        benchmark: Our name of the set, which begins every task id.
        part: The set's own split, under our name: ``"train"``, ``"val"`` or ``"test"``.
        config: The set's configuration, often a subject.
        row: Number in that configuration and part, from 0.
        labels: See :data:`Labels`.
    """

    benchmark: str
    part: str
    config: str
    row: int
    labels: Labels = "ok"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a row gives no task."""

    reason: str


class HubRow(BaseModel):
    """The fields of a row that are read; others are ignored, as hubs add columns."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    def task(self, at: Place) -> Task | LeftOut:
        """Return the row as a task, or why it gives none.

        Raises:
            ValueError: the row is not what this benchmark holds.
        """
        raise NotImplementedError


class MmluReduxRow(HubRow):
    """MMLU-Redux 2.0: MMLU questions that people looked at again.

    ``labels="ok"`` keeps the rows found without fault, by their key. ``"corrected"`` adds those
    whose only fault is a wrong key and that name one right option. ``"original"`` keeps all
    rows by MMLU's key, wrong or not: only to compare with figures that were made so.
    """

    question: str
    choices: tuple[str, ...] = Field(min_length=2, max_length=len(LETTERS))
    answer: int = Field(ge=0)
    error_type: str
    correct_answer: str | None = None

    def task(self, at: Place) -> Task | LeftOut:
        fault = self.error_type.strip().lower()
        answer: int | None = self.answer
        if at.labels != "original" and fault != "ok":
            answer = self._corrected() if fault == "wrong_groundtruth" else None
            if answer is None or at.labels == "ok":
                return LeftOut(fault)
        assert answer is not None
        name = f"{at.config}/{at.row}"
        return _choice_task(at, name, at.config, self.question, self.choices, answer)

    def _corrected(self) -> int | None:
        """Return the option that ``correct_answer`` names by number from 0, letter or text."""
        said = (self.correct_answer or "").strip()
        texts = [choice.strip() for choice in self.choices]
        numbers = [str(i) for i in range(len(texts))]
        for names in (numbers, list(LETTERS[: len(texts)]), texts):
            if names.count(said) == 1:
                return names.index(said)
        return None


class MmluProRow(HubRow):
    """MMLU-Pro: three to ten options."""

    question_id: int
    question: str
    options: tuple[str, ...] = Field(min_length=2, max_length=len(LETTERS))
    answer: str
    answer_index: int
    category: str

    def task(self, at: Place) -> Task | LeftOut:
        if not 0 <= self.answer_index < len(LETTERS) or LETTERS[self.answer_index] != self.answer:
            raise ValueError(f"answer: {self.answer!r} is not option {self.answer_index}")
        return _choice_task(
            at, str(self.question_id), self.category, self.question, self.options,
            self.answer_index,
        )  # fmt: skip


class HleRow(HubRow):
    """Humanity's Last Exam: its multiple-choice questions without a picture.

    The options stand at the end of the question, behind the line ``Answer Choices:``.
    """

    id: str
    question: str
    image: str | None = None
    answer: str
    answer_type: str
    category: str

    def task(self, at: Place) -> Task | LeftOut:
        if self.answer_type != "multipleChoice":
            return LeftOut("not multiple choice")
        if self.image:
            return LeftOut("has a picture")
        prompt, _, listed = self.question.rpartition("Answer Choices:")
        choices = _lettered(listed)
        gold = LETTERS.find(self.answer.strip())
        if not prompt.strip() or not self.answer.strip() or not 0 <= gold < len(choices):
            return LeftOut(f"options not readable as A to {LETTERS[-1]}")
        return _choice_task(at, self.id, self.category, prompt.strip(), choices, gold)


def _lettered(listed: str) -> tuple[str, ...]:
    """Split ``A. one\\nB. two`` at the letters in turn; empty where they are not in turn."""
    parts = re.split(r"(?m)^\s*([A-Z])[.):]\s+", listed)
    letters, texts = "".join(parts[1::2]), tuple(text.strip() for text in parts[2::2])
    in_turn = not parts[0].strip() and LETTERS.startswith(letters) and all(texts)
    return texts if in_turn else ()


class MathRow(HubRow):
    """MATH: the answer is the last box of the solution."""

    problem: str
    level: str
    type: str
    solution: str

    def task(self, at: Place) -> Task | LeftOut:
        gold = last_boxed(self.solution)
        if gold is None:
            raise ValueError("solution: no \\boxed{...} in it")
        name = f"{at.part}/{at.config}/{at.row}"
        # Two problems of the training part have "Level ?".
        level = re.search(r"[1-5]", self.level)
        return _maths_task(
            at, name, self.type, self.problem, gold, level=int(level[0]) if level else None
        )


class Math500Row(HubRow):
    """MATH-500: 500 problems of MATH's test part."""

    problem: str
    answer: str
    subject: str
    level: int = Field(ge=1, le=5)
    unique_id: str

    def task(self, at: Place) -> Task | LeftOut:
        return _maths_task(
            at, self.unique_id, self.subject, self.problem, self.answer, level=self.level
        )


class Gsm8kRow(HubRow):
    """GSM8K: the answer is the number behind ``####``."""

    question: str
    answer: str

    def task(self, at: Place) -> Task | LeftOut:
        _, mark, number = self.answer.rpartition("####")
        gold = re.sub(r"[,$\s]", "", number)
        if not mark or not re.fullmatch(r"-?\d+(\.\d+)?", gold):
            raise ValueError("answer: no number behind ####")
        return _maths_task(at, f"{at.part}/{at.row}", "word_problems", self.question, gold)


class ContestRow(HubRow):
    """AIME and HMMT as MathArena lays them out."""

    problem_idx: int
    problem: str
    answer: str
    problem_type: tuple[str, ...] | str | None = None

    def task(self, at: Place) -> Task | LeftOut:
        types = [self.problem_type] if isinstance(self.problem_type, str) else self.problem_type
        subject = types[0] if types else "contest"
        return _maths_task(at, str(self.problem_idx), subject, self.problem, self.answer)


class BeyondAimeRow(HubRow):
    """BeyondAIME: whole-number answers."""

    problem: str
    answer: str

    def task(self, at: Place) -> Task | LeftOut:
        return _maths_task(at, str(at.row), "contest", self.problem, self.answer)


def last_boxed(solution: str) -> str | None:
    """Return the content of the last ``\\boxed{...}``, ``\\fbox{...}`` or ``\\boxed x``."""
    boxes = list(re.finditer(r"\\(?:boxed|fbox)\s*", solution))
    if not boxes:
        return None
    start = boxes[-1].end()
    if solution[start : start + 1] != "{":
        bare = re.match(r"[^\s$.,;]+", solution[start:])
        return bare[0] if bare else None
    depth = 0
    for end in range(start, len(solution)):
        if solution[end] in "{}" and solution[end - 1] != "\\":
            depth += 1 if solution[end] == "{" else -1
        if depth == 0:
            return solution[start + 1 : end].strip() or None
    return None


def slug(subject: str) -> str:
    """Write a subject as the shipped tasks do: ``"Counting & Probability"`` in lower case."""
    words = subject.lower().replace("&", " and ")
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_") or "other"


def _choice_task(
    at: Place, name: str, subject: str, prompt: str, choices: tuple[str, ...], answer: int
) -> Task:
    if answer >= len(choices):
        raise ValueError(f"answer: there is no option {answer}")
    return _task(at, "choice", name, subject, prompt, LETTERS[answer], choices=choices)


def _maths_task(
    at: Place, name: str, subject: str, prompt: str, gold: str, level: int | None = None
) -> Task:
    return _task(at, "maths", name, subject, prompt, gold.strip(), level=level)


def _task(
    at: Place, kind: Kind, name: str, subject: str, prompt: str, gold: str,
    choices: tuple[str, ...] = (), level: int | None = None,
) -> Task:  # fmt: skip
    if not prompt.strip() or not gold:
        raise ValueError("question and answer must not be empty")
    return Task(
        id=f"{at.benchmark}/{name}", benchmark=at.benchmark, kind=kind, subject=slug(subject),
        prompt=prompt, gold=gold, choices=choices, level=level,
    )  # fmt: skip
