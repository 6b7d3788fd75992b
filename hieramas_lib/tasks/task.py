"""What is asked, and the verdict on an answer."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["choice", "maths", "code"]
"""How an answer is written, and so how it is graded."""

Status = Literal["correct", "wrong", "unparsed", "empty", "error"]
"""``empty`` and ``unparsed`` answers are never correct and are counted apart.

``error`` is a failure of ours (a call that did not come back, a grader that broke) and is
never counted as the model's mistake.
"""

LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True)
class CodeTests:
    """What a program is run against: ``check(entry_point)`` after executing ``program``.

    Attributes:
        entry_point: Name of the function that is tested.
        program: Python source that defines ``check``.
        time_limit_s: Wall seconds for all tests together. A task whose reference program is
            slow gives more, see :func:`hieramas_lib.tasks.grading.grade`.
    """

    entry_point: str
    program: str
    time_limit_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Task:
    """One question of a benchmark.

    Attributes:
        id: Unique name, ``"<benchmark>/..."``.
        benchmark: Name of the set, e.g. ``"knowledge"``.
        kind: Answer format, see :data:`Kind`.
        subject: Field the question belongs to, e.g. ``"economics"``; never empty.
        prompt: The question without its options.
        gold: A letter (choice), an expression (maths), or the reference program (code). Empty
            where it is not known: such a task can be answered and not graded.
        choices: Option texts in order A, B, ... (choice only).
        level: Difficulty from 1 to 5, or None where the benchmark gives none.
        tempting: Wrong answers people fall for, most tempting first, in the form of
            ``gold``. Only the simulated pool reads them.
        tests: How a program is tested (code only).
    """

    id: str
    benchmark: str
    kind: Kind
    subject: str
    prompt: str
    gold: str
    choices: tuple[str, ...] = ()
    level: int | None = None
    tempting: tuple[str, ...] = ()
    tests: CodeTests | None = None

    @property
    def statement(self) -> str:
        """The question as an LLM sees it: prompt, then one line an option."""
        options = [f"{LETTERS[i]}. {text}" for i, text in enumerate(self.choices)]
        return "\n".join([self.prompt, *options])


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one answer.

    Attributes:
        status: See :data:`Status`.
        extracted: What was read out of the answer: a letter, an expression or a program.
        detail: Why, in a few words (``"timeout"``, ``"AssertionError"``, ...), else empty.
    """

    status: Status
    extracted: str | None = None
    detail: str = ""

    @property
    def correct(self) -> bool:
        """Whether the answer is right."""
        return self.status == "correct"
