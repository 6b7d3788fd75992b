"""A question as somebody types it into a chat, read as a task without a gold answer."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from hieramas_lib.llms.layout import parse_sections
from hieramas_lib.tasks.task import LETTERS, CodeTests, Kind, Task

_BY_LINE = re.compile(r"^[ \t]*\(?([A-J])[.):][ \t]+(?=\S)", re.MULTILINE)
_IN_LINE = re.compile(r"(?:^|(?<=\s))\(?([A-J])\)[ \t]+(?=\S)", re.MULTILINE)
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)


class QuestionReader:
    """Reads questions of one kind; one that is known is asked just as its benchmark words it.

    ``read`` gives tasks that can be answered and not graded: gold answer and tests are left out
    of known ones too, so that no answer can depend on them.
    """

    def __init__(self, kind: Kind, known: Iterable[Task] = ()) -> None:
        """Read questions of ``kind``; ``known`` are tasks that may be asked by their statement."""
        self.kind = kind
        self._known = {_normal(t.statement): _without_gold(t) for t in known if t.kind == kind}

    def read(self, text: str) -> Task:
        """Return the question in ``text``.

        Options are lines ``A. text``, ``A) text`` or ``(A) text``, or stand in one line as
        ``A) text B) text``; what follows them after an empty line counts as part of the
        question. A text in the layout of our own prompts is read by its task section.

        Raises:
            ValueError: it is empty, or has no options where there must be some.
        """
        task = next((s.text for s in parse_sections(text) if s.tag == "task"), text).strip()
        if not task:
            raise ValueError("the question is empty")
        prompt, choices = _options(task) if self.kind == "choice" else (task, ())
        tests = None
        if self.kind == "code" and (names := _FUNCTION.findall(task)):
            tests = CodeTests(names[-1], program="")
        question = Task(
            id=f"question/{_digest(task)}",
            benchmark="question",
            kind=self.kind,
            subject="unknown",
            prompt=prompt,
            gold="",
            choices=choices,
            tests=tests,
        )
        return self._known.get(_normal(question.statement), question)


def _options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split a question from its options."""
    for pattern in (_BY_LINE, _IN_LINE):
        marks = _last_run(list(pattern.finditer(text)))
        if len(marks) >= 2:
            ends = [mark.start() for mark in marks[1:]]
            last, _, after = text[marks[-1].end() :].partition("\n\n")
            middle = [text[m.end() : end].strip() for m, end in zip(marks, ends, strict=False)]
            parts = (text[: marks[0].start()].strip(), after.strip())
            return "\n\n".join(p for p in parts if p), (*middle, last.strip())
    raise ValueError("a multiple-choice question needs its options, as lines 'A) ...', 'B) ...'")


def _last_run(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the marks from the last A on, as far as they are A, B, C and so on."""
    starts = [i for i, mark in enumerate(marks) if mark[1] == "A"]
    run: list[re.Match[str]] = []
    for mark in marks[starts[-1] :] if starts else []:
        if mark[1] == LETTERS[len(run)]:
            run.append(mark)
    return run


def _without_gold(task: Task) -> Task:
    tests = replace(task.tests, program="") if task.tests else None
    return replace(task, gold="", tests=tests, tempting=())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def _normal(statement: str) -> str:
    return " ".join(statement.split())
