"""Where a sweep stands while it runs, and how it ended."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a sweep stands; its text is the line shown to people."""

    planned: int
    complete: int
    running: int
    failed: int
    spent_usd: float
    seconds_left: float | None

    def __str__(self) -> str:
        parts = [f"{self.complete} of {self.planned} done", f"{self.running} running"]
        parts += [f"{self.failed} failed"]
        if self.spent_usd:
            parts.append(f"${self.spent_usd:.4f} spent")
        if self.seconds_left is not None:
            parts.append(f"about {duration(self.seconds_left)} left")
        return ", ".join(parts)


@dataclass
class SweepResult:
    """How a sweep ended.

    Attributes:
        planned: Runs of the sweep.
        skipped: Complete before.
        done: Completed now.
        failures: Label and message of each run that failed.
        not_started: Labels of those that the limit had no room for.
        spent_usd: By the runs of the sweep, in all its starts.
        seconds: Wall time of this start.
    """

    planned: int
    skipped: int
    spent_usd: float = 0.0
    seconds: float = 0.0
    done: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    not_started: list[str] = field(default_factory=list)

    @property
    def complete(self) -> int:
        """Runs that are complete now."""
        return self.skipped + self.done


def progress_of(result: SweepResult, running: int, left: int) -> Progress:
    """Return where a sweep stands with so many runs under way, and so many not ended yet."""
    ended = result.done + len(result.failures)
    seconds_left = result.seconds / ended * left if ended and left else None
    return Progress(
        planned=result.planned,
        complete=result.complete,
        running=running,
        failed=len(result.failures),
        spent_usd=result.spent_usd,
        seconds_left=seconds_left,
    )


def duration(seconds: float) -> str:
    """Return a time in the unit in which people would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
