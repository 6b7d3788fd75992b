"""What a call store says of all its past: totals by model, role or experiment, and loose ends."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.call_totals import Tally, Totals
from hieramas_lib.llms.chat import Completion
from hieramas_lib.llms.processes import is_alive

By = Literal["model", "role", "experiment"]

_COLUMNS: Final[Mapping[By, tuple[str, str]]] = {
    "model": ("calls.name", "calls.name"),
    "role": ("calls.role", "calls.role"),
    "experiment": ("calls.experiment", "hits.experiment"),
}
_FACTS = "calls.prompt_tokens, calls.completion_tokens, calls.cost_usd"
UNDER_WAY: Final = "under way"
DIED: Final = "its process ended"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Paid calls of one LLM, role and experiment with attempts that left no answer.

    Attributes:
        name, role, experiment: What they were for.
        outcome: How they ended: an error's kind, ``"answered at a later attempt"``, ``"its
            process ended"``, or ``"under way"`` for those of a process that still runs.
        calls: How many.
        most_usd: The most that the attempts without an answer can have cost in US dollars; None
            if a price is unknown.
    """

    name: str
    role: str
    experiment: str
    outcome: str
    calls: int
    most_usd: float | None


def summarise(store: CallStore, by: By) -> dict[str, Totals]:
    """Sum all calls made into the store or answered from it, in all processes, by group.

    Calls that came with a tape count where they were used. What a killed run used counts again
    when it is started again: without a store it would have been paid again. ``misses`` are not
    kept, and 0.
    """
    made, hit = _COLUMNS[by]
    tallies: dict[str, Tally] = {}
    for group, paid, *facts in store.rows(
        f"SELECT {made}, paid, {_FACTS} FROM calls WHERE NOT imported"
    ):
        tally = tallies.setdefault(group, Tally())
        tally.add(_call(*facts), made=True, paid=bool(paid))
    for group, times, *facts in store.rows(
        f"SELECT {hit}, times, {_FACTS} FROM hits JOIN calls ON calls.id = hits.call"
    ):
        tally = tallies.setdefault(group, Tally())
        tally.add(_call(*facts), made=False, paid=False, times=times)
    return {group: tallies[group].totals() for group in sorted(tallies)}


def unanswered(store: CallStore) -> list[Unanswered]:
    """Return the paid calls under way, and those that may have been billed without an answer.

    Attempts that a provider refused, and so did not bill, do not count. An answer that is bought
    later takes nothing away: both may have been billed.
    """
    groups: dict[tuple[str, str, str, str], list[float | None]] = {}
    alive: dict[str, bool] = {}
    for name, role, experiment, most_usd, process, outcome in store.rows(
        "SELECT name, role, experiment, most_usd, process, outcome FROM unanswered"
    ):
        if not outcome:
            if process not in alive:
                alive[process] = is_alive(process)
            outcome = UNDER_WAY if alive[process] else DIED
        groups.setdefault((name, role, experiment, outcome), []).append(most_usd)
    return [
        Unanswered(*group, calls=len(amounts), most_usd=_sum(amounts))
        for group, amounts in sorted(groups.items())
    ]


def listing(store: CallStore, by: By) -> Iterator[str]:
    """Yield :func:`summarise` and :func:`unanswered` as lines for people."""
    groups = summarise(store, by)
    if not groups:
        yield "no calls yet"
    else:
        yield from _table(groups, by)
    open_ends = unanswered(store)
    for title, under_way in (
        ("may have been billed, no answer kept", False),
        ("under way", True),
    ):
        found = [u for u in open_ends if (u.outcome == UNDER_WAY) == under_way]
        if found:
            yield ""
            yield f"{title}:"
            yield from (f"  {_describe(call)}" for call in found)


def _table(groups: Mapping[str, Totals], by: By) -> Iterator[str]:
    heads = (by, "calls", "made", "cached", "tokens in", "tokens out", "paid", "as if uncached")
    rows = [(group or "-", *_cells(totals)) for group, totals in groups.items()]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for first, *rest in (heads, *rows):
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells])


def _cells(totals: Totals) -> tuple[str, ...]:
    at_least = "at least " if totals.unpriced else ""
    note = f", {totals.unpriced:,} calls unpriced" if totals.unpriced else ""
    return (
        f"{totals.calls:,}",
        f"{totals.made:,}",
        f"{totals.hits:,}",
        f"{totals.prompt_tokens:,}",
        f"{totals.completion_tokens:,}",
        f"{at_least}${totals.paid_usd:.6f}",
        f"{at_least}${totals.as_if_usd:.6f}{note}",
    )


def _describe(call: Unanswered) -> str:
    who = ", ".join(part for part in (call.name, call.role, call.experiment) if part)
    most = "price unknown" if call.most_usd is None else f"at most ${call.most_usd:.6f}"
    word = "call" if call.calls == 1 else "calls"
    return f"{call.calls:,} {word} ({call.outcome}; {most}): {who}"


def _call(prompt_tokens: int, completion_tokens: int, cost_usd: float | None) -> Completion:
    return Completion("", "stop", prompt_tokens, completion_tokens, cost_usd, 0.0, False, "")


def _sum(amounts: list[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
