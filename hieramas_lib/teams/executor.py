"""Run teams on tasks: what runs is exactly the graph that was chosen (design 6).

A supernode starts the moment its last predecessor is done. Its proposers answer in parallel
and read the same messages, not each other; its synthesizer then reads the messages and the
numbered proposals. The decision comes last.

Failures. A call that fails (:class:`CallError`) is recorded and its text is absent: a failed
proposer leaves no proposal; a failed synthesizer leaves its node without a message, even if
there are proposals, so the node's outgoing edges are not delivered; a failed decision ends
the rollout with status ``error``. An empty or refused text is absent in the same way, as there
is nothing in it to read; a truncated one is passed on as far as it goes.

Every other error (budget spent, call not on the tape, bad configuration, a bug) stops the run:
no further call starts, those that wait for their turn are dropped, those that went out come back
and are kept in the store; then the first such error is raised.

Cancellation (Ctrl-C, ``asyncio.timeout``, a kernel's stop button) stops a run in the same way,
and so takes as long as the calls in flight do. A second one drops these calls.

Rollouts that were finished by then were given to ``on_rollout``. Without it they are not lost
either: with the same call store, a second run gets all finished calls from there and goes on
where the first one stopped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from tqdm import tqdm

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.cancellation import run_to_end
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.execution import COPY_STRIDE, TEMPERATURE, Job, ask, execute
from hieramas_lib.teams.halt import Halt
from hieramas_lib.teams.rollout import Rollout
from hieramas_lib.teams.team import Team

__all__ = ["COPY_STRIDE", "TEMPERATURE", "Job", "ask", "run_batch", "run_jobs", "run_team"]


async def run_team(
    team: Team, task: Task, llms: LLMClient, *, sample: int = 0, grade_nodes: bool = False
) -> Rollout:
    """Answer ``task`` with ``team`` and grade the answer.

    Args:
        team: Who works how with whom.
        task: The question.
        llms: Where calls go.
        sample: Index of the repetition, 0 to 999; other samples are other calls.
        grade_nodes: Whether to grade the message of each kept role that answers, too.

    Raises:
        ConfigError: the roles are for another kind of task.
        BudgetExceeded: a call could have passed the spending limit.
        ReplayMiss: a call is not on the tape.
    """
    job = Job(team, task, sample)
    check_job(job)
    halt = Halt()
    return await run_to_end(execute(job, llms, grade_nodes, halt), halt.cancel)


async def run_batch(
    jobs: Sequence[Job],
    llms: LLMClient,
    *,
    slots: int = 64,
    grade_nodes: bool = False,
    progress: bool = False,
    on_rollout: Callable[[int, Rollout], None] = lambda index, rollout: None,
) -> list[Rollout]:
    """Run ``jobs``, at most ``slots`` at a time; the rollouts come in the order of the jobs.

    Args:
        jobs: What to run.
        llms: Where calls go.
        slots: Rollouts under way at once.
        grade_nodes: See :func:`run_team`.
        progress: Whether to draw a bar on stderr.
        on_rollout: Called with each finished rollout and the index of its job, as they finish.

    Raises:
        ConfigError: ``slots`` is below 1, or a job's roles do not fit its task; before any call.
        Exception: what :func:`run_team` raises. Notes on it, as on a cancellation, say which
            task it was and how many rollouts were finished by then.
    """

    def make(job: Job, halt: Halt) -> Awaitable[Rollout]:
        return execute(job, llms, grade_nodes, halt)

    return await run_jobs(
        jobs, make, check_job, slots=slots, progress=progress, on_rollout=on_rollout
    )


class TaskJob(Protocol):
    """A rollout to make."""

    @property
    def task(self) -> Task:
        """The question."""
        ...


AnyJob = TypeVar("AnyJob", bound=TaskJob)


async def run_jobs(
    jobs: Sequence[AnyJob],
    make: Callable[[AnyJob, Halt], Awaitable[Rollout]],
    check: Callable[[AnyJob], None],
    *,
    slots: int = 64,
    progress: bool = False,
    on_rollout: Callable[[int, Rollout], None] = lambda index, rollout: None,
) -> list[Rollout]:
    """Run jobs of any kind as :func:`run_batch` does.

    ``make`` makes one rollout; ``check`` raises ConfigError for a job that can't be run.

    Raises:
        ConfigError: ``slots`` is below 1, or what ``check`` raises; before any call.
        Exception: what ``make`` raises or reports to the ``Halt`` that it is given.
    """
    if slots < 1:
        raise ConfigError(f"slots: at least 1, got {slots}")
    for job in jobs:
        check(job)
    halt = Halt()
    results: dict[int, Rollout] = {}
    with tqdm(total=len(jobs), unit="rollout", disable=not progress) as bar:

        def finish(index: int, rollout: Rollout) -> None:
            results[index] = rollout
            bar.update()
            on_rollout(index, rollout)

        try:
            await run_to_end(_run_all(jobs, make, slots, halt, finish), halt.cancel)
        except (Exception, asyncio.CancelledError) as error:
            done = f"{len(results)} of {len(jobs)} rollouts finished"
            error.add_note(f"{done}; all calls that came back are kept in the call store")
            raise
    return [results[index] for index in range(len(jobs))]


async def _run_all(
    jobs: Sequence[AnyJob],
    make: Callable[[AnyJob, Halt], Awaitable[Rollout]],
    slots: int,
    halt: Halt,
    finish: Callable[[int, Rollout], None],
) -> None:
    queue = iter(enumerate(jobs))

    async def work() -> None:
        for index, job in queue:
            if halt.error is not None:
                return
            try:
                finish(index, await make(job, halt))
            except Exception as error:
                halt.report(error, job.task)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(slots, len(jobs))):
            group.create_task(work())
    halt.check()


def check_job(job: Job) -> None:
    """Raise ConfigError if the roles of ``job`` do not fit its task, or its sample is too high."""
    if job.team.roles.kind != job.task.kind:
        raise ConfigError(
            f"role set {job.team.roles.name!r} is for tasks of kind {job.team.roles.kind!r}; "
            f"task {job.task.id!r} is of kind {job.task.kind!r}"
        )
    if not 0 <= job.sample < COPY_STRIDE:
        raise ConfigError(f"sample: 0 to {COPY_STRIDE - 1}, got {job.sample}")
