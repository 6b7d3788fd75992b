"""One member of a team goes wrong: its texts are replaced on their way to the others.

For experiments on robustness (Agent Q-Mix paper, section on one adversarial agent). The member's
call is made and paid for as ever, so that costs stay comparable; only the text that the others
read is exchanged. Calls are stored as they came from the LLM, never exchanged ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args
from zlib import crc32

import numpy as np

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import Header, parse_sections, role_of
from hieramas_lib.llms.service import LLMService
from hieramas_lib.llms.simulated_answers import wrong_answers
from hieramas_lib.llms.simulated_texts import write_answer
from hieramas_lib.tasks.task import Task

FaultKind = Literal["wrong", "refusal", "noise"]
"""``wrong``: one and the same tempting wrong answer, given with confidence. ``refusal``: no
answer, marked as refused. ``noise``: words of the question in a senseless order, no answer."""

REFUSAL = "I cannot help with this."


@dataclass(frozen=True, slots=True)
class Fault:
    """Which member goes wrong, and how.

    Attributes:
        kind: What its texts become.
        roles: Names, as in the requests' headers, among which one is drawn for each task,
            uniformly; one name fixes the member.
        sample: Only requests of this sample index go wrong; None for all. For self-consistency,
            whose members differ in nothing else.
        seed: Of the draw; the same task has the same faulty member in every process.

    Raises:
        ConfigError: ``kind`` is unknown or ``roles`` is empty.
    """

    kind: FaultKind
    roles: tuple[str, ...]
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            known = ", ".join(get_args(FaultKind))
            raise ConfigError(f"fault: {self.kind!r} is not one of {known}")
        if not self.roles:
            raise ConfigError("fault: roles: name at least one member")

    def member(self, task: Task) -> str:
        """Return the role that goes wrong on ``task``."""
        return self.roles[crc32(f"{self.seed} {task.id}".encode()) % len(self.roles)]


class FaultyService(LLMService):
    """A service in which a member can be made to go wrong, for a while.

    It answers as the service it is made of, with the same pool, clients, store and budget, and
    exchanges texts only within ``with service.fault(...)``.
    """

    def __init__(self, llms: LLMService, tasks: Iterable[Task]) -> None:
        """Stand in front of ``llms``; ``tasks`` are all that may be asked while one goes wrong."""
        super().__init__(
            llms.pool, llms.clients, llms.store, llms.budget,
            origins=llms.origins, world=llms.world,
        )  # fmt: skip
        self._tasks = {task.statement: task for task in tasks}
        self._fault: Fault | None = None
        self.exchanged = 0

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """Let ``fault`` act on all requests made inside; ``exchanged`` counts from 0.

        Raises:
            ConfigError: another fault is acting.
        """
        if self._fault is not None:
            raise ConfigError("fault: one at a time; another is acting")
        self._fault, self.exchanged = fault, 0
        try:
            yield
        finally:
            self._fault = None

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; see :meth:`LLMService.complete`.

        Raises:
            ConfigError: the task of a faulty member's request is not among those given.
        """
        fault = self._fault
        completion = await super().complete(request)
        if fault is None or not self._hits(fault, request):
            return completion
        self.exchanged += 1
        return _exchanged(fault.kind, self._task(request), request, completion)

    def _hits(self, fault: Fault, request: ChatRequest) -> bool:
        if fault.sample not in (None, request.sample) or role_of(request) not in fault.roles:
            return False
        return role_of(request) == fault.member(self._task(request))

    def _task(self, request: ChatRequest) -> Task:
        statement = _statement(request)
        try:
            return self._tasks[statement]
        except KeyError:
            raise ConfigError(
                f"fault: the task {statement[:60]!r} was not given to FaultyService"
            ) from None


def _statement(request: ChatRequest) -> str:
    body = "\n".join(m.content for m in request.messages if m.role != "system")
    return next((s.text for s in parse_sections(body) if s.tag == "task"), "")


def _exchanged(
    kind: FaultKind, task: Task, request: ChatRequest, completion: Completion
) -> Completion:
    if kind == "refusal":
        return replace(completion, text=REFUSAL, finish_reason="refusal")
    if kind == "noise":
        return replace(completion, text=_shuffled(task), finish_reason="stop")
    header = Header(role_of(request), "alone")
    text = write_answer(task, wrong_answers(task)[0], header, "solver", wording=0.0)
    return replace(completion, text=text, finish_reason="stop")


def _shuffled(task: Task) -> str:
    """Return the words of the question in an order that depends on the task alone."""
    words: Sequence[str] = [word for word in task.prompt.split() if word.isalpha()]
    order = np.random.default_rng(crc32(task.id.encode())).permutation(len(words))
    return " ".join(words[index] for index in order) or "..."
