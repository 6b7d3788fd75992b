"""Write a table for a report: LaTeX, CSV, HTML, or plain text for a terminal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, get_args

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.paper.tables import NUMBERS, PaperTable, paper_tables
from hieramas_lib.experiments.runs import write_whole
from hieramas_lib.experiments.tables import full_caption, presentable, to_html, to_latex

Format = Literal["text", "latex", "csv", "html"]

ENDINGS: Final = {"text": ".txt", "latex": ".tex", "csv": ".csv", "html": ".html"}


def print_tables(
    number: str, form: str, run_id: str | None = None, out: Path | None = None
) -> Iterator[str]:
    """Yield the lines to show for a table, ours and then the printed one.

    Args:
        number: Of the paper, or ``"all"``.
        form: See :data:`Format`.
        run_id: See :func:`~.tables.paper_tables`.
        out: Folder for files ``table<number>.<ending>``; what was written is yielded then.

    Raises:
        ConfigError: an unknown number or format, or no run for it. With ``"all"`` a table that
            has no run is a line that says so, and an error only if no table has one.
    """
    numbers = _numbers(number, form)
    missing = []
    for one in numbers:
        try:
            tables = paper_tables(one, run_id)
        except ConfigError as error:
            if len(numbers) == 1:
                raise
            missing.append(one)
            yield f"table {one}: {error}"
            continue
        for table in tables:
            text = printed(table, form)
            if out is None:
                yield text
            else:
                yield str(write_whole(out / f"{table.name}{ENDINGS[form]}", text.encode()))
    if len(missing) == len(numbers):
        raise ConfigError("there is no run for any table. Fix: `hieramas run-all`, then again")


def _numbers(number: str, form: str) -> tuple[int, ...]:
    if form not in ENDINGS:
        raise ConfigError(f"--format {form}: one of {', '.join(get_args(Format))}")
    if number == "all":
        return NUMBERS
    if not number.isdigit():
        raise ConfigError(f"table {number!r}: a number, one of {NUMBERS}, or all")
    return (int(number),)


def printed(table: PaperTable, form: str) -> str:
    """Return ``table`` in ``form``; CSV has the plain numbers, the others what people read."""
    if form == "latex":
        return to_latex(table.frame, table.caption, simulated=table.simulated)
    if form == "html":
        return to_html(table.frame, table.caption, simulated=table.simulated) + "\n"
    if form == "csv":
        return str(table.frame.to_csv(index=False, lineterminator="\n"))
    shown = presentable(table.frame).to_string(index=False)
    return f"{full_caption(table.caption, table.simulated)}\n\n{shown}\n"
