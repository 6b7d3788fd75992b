"""Measure grading: ``python tests/bench/bench_grading.py``.

Prints wall seconds, and for programs CPU seconds, with those of the processes that run them.
Nothing is asserted: figures depend on the machine and on what else it does.
"""

import resource
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.sandbox import WORKERS, shared_sandbox
from hieramas_lib.tasks.task import Task

Pair = tuple[Task, str]


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all its children that have ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


@contextmanager
def measured(what: str, count: int) -> Iterator[None]:
    """Print how long the block took."""
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    print(f"{what:<42}{count:>5} in {seconds:6.2f} s, {count / seconds:6.0f} a second")


def programs() -> Iterator[Pair]:
    """Yield an answer to every HumanEval problem, right and wrong in turn."""
    for number, task in enumerate(load_tasks("humaneval")):
        program = task.tempting[0] if number % 2 and task.tempting else task.gold
        yield task, f"```python\n{program}\n```"


def statements(benchmark: str, pattern: str) -> Iterator[Pair]:
    """Yield a right and a wrong answer to every task of a benchmark."""
    for task in load_tasks(benchmark):
        wrong = task.tempting[0] if task.tempting else ("B" if task.gold == "A" else "A")
        for answer in (task.gold, wrong):
            yield task, "Think. " * 100 + pattern.format(answer)


def grade_all(pairs: Iterable[Pair], workers: int = 1) -> None:
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda pair: grade(*pair), pairs))


def main() -> None:
    code = list(programs())
    started = cpu_seconds()
    with measured(f"programs, {WORKERS} workers, from a cold start", len(code)):
        grade_all(code, WORKERS)
    shared_sandbox().stop()  # the time of a process is known once it has ended
    print(f"{'':<42}{cpu_seconds() - started:.2f} s CPU, running each reference included")
    for benchmark, pattern in (("knowledge", "Answer: {}"), ("maths", "Answer: \\boxed{{{}}}")):
        pairs = list(statements(benchmark, pattern))
        for state in ("from a cold start", "seen before"):
            with measured(f"{benchmark}, {state}", len(pairs)):
                grade_all(pairs)


if __name__ == "__main__":
    main()
