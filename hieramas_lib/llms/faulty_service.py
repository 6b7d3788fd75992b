"""One member of a team goes wrong: its texts are replaced on their way to the others.

For experiments on robustness (Agent Q-Mix paper, section on one adversarial agent). The member's
call is made and paid for as ever, so that costs stay comparable; only the text that the others
read is exchanged. Calls are stored as they came from the LLM, never exchanged ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Which member goes wrong on which task, and how.

    Attributes:
        kind: What its texts become.
        members: Task id to the role that goes wrong, named as in the requests' headers. Nobody
            does on other tasks.
        sample: Only requests of this sample index go wrong; None for all. For self-consistency,
            whose members differ in nothing else.

    Raises:
        ConfigError: ``kind`` is unknown.
    """

    kind: FaultKind
    members: Mapping[str, str]
    sample: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            known = ", ".join(get_args(FaultKind))
            raise ConfigError(f"fault: {self.kind!r} is not one of {known}")


def draw_member(task_id: str, roles: Sequence[str], seed: int) -> str:
    """Draw one of ``roles`` uniformly; the draw depends on task and seed alone."""
    return roles[crc32(f"{seed} {task_id}".encode()) % len(roles)]


class FaultyService(LLMService):
    """A service in which a member can be made to go wrong, for a while.

    It answers as the service it is made of, with the same pool, clients, store and budget, and
    exchanges texts only within ``with service.fault(...)``.

    Attributes:
        exchanged: How many texts the fault that acts, or acted last, has exchanged.
    """

    def __init__(self, llms: LLMService, tasks: Iterable[Task]) -> None:
        """Stand in front of ``llms``; ``tasks`` are all that may be asked while one goes wrong."""
        super().__init__(
            llms.pool, llms.clients, llms.store, llms.budget,
            origins=llms.origins, world=llms.world,
        )  # fmt: skip
        self._tasks = {task.statement: task for task in tasks}
        self.exchanged = 0
        self._fault: Fault | None = None

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """Let ``fault`` act on all requests made inside.

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
            ConfigError: the task of a request made while a fault acts is not among those given.
        """
        fault = self._fault
        completion = await super().complete(request)
        if fault is None or fault.sample not in (None, request.sample):
            return completion
        task, role = self._task(request), role_of(request)
        if fault.members.get(task.id) != role:
            return completion
        self.exchanged += 1
        return _exchanged(fault.kind, task, role, completion)

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


def _exchanged(kind: FaultKind, task: Task, role: str, completion: Completion) -> Completion:
    if kind == "refusal":
        return replace(completion, text=REFUSAL, finish_reason="refusal")
    if kind == "noise":
        return replace(completion, text=_shuffled(task), finish_reason="stop")
    wrong = wrong_answers(task)[0]
    text = write_answer(task, wrong, Header(role, "alone"), "solver", wording=0.0)
    return replace(completion, text=text, finish_reason="stop")


def _shuffled(task: Task) -> str:
    """Return the words of the question in an order that depends on the task alone."""
    words: Sequence[str] = [word for word in task.prompt.split() if word.isalpha()]
    order = np.random.default_rng(crc32(task.id.encode())).permutation(len(words))
    return " ".join(words[index] for index in order) or "..."
