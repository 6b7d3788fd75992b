"""Tables of results: numbers with intervals and planned denominators, as CSV, HTML and LaTeX."""

from collections.abc import Collection, Iterable
from math import isnan
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.number_texts import cell, decimals, title
from hieramas_lib.experiments.statistics import holm, mcnemar, mean_over_tasks, paired_difference
from hieramas_lib.experiments.statistics import proportion as share

if TYPE_CHECKING:
    import pandas as pd

SIMULATED_NOTE = "Simulated LLMs: no evidence about any real model."
FAULTS = ("unparsed", "empty", "error")


def comparison_table(records: "pd.DataFrame") -> "pd.DataFrame":
    """Summarise records: one row a method and benchmark, in order of appearance.

    Columns: ``method, benchmark, n`` (planned tasks), ``seeds``, ``accuracy`` with its Wilson
    interval clustered by task, ``accuracy_seed_sd`` (over seeds, NaN for one), counts of answers
    ``unparsed, empty, error`` over all seeds, ``utility`` with a t interval over tasks, and means
    an item: ``cost_usd`` ("at least" if ``unpriced`` calls are not 0), ``cost_reference, tokens,
    calls``.

    Raises:
        ConfigError: simulated and real answers are mixed.
    """
    import pandas as pd

    _refuse_mixed(records)
    groups = records.groupby(["method", "benchmark"], sort=False)
    rows = [_comparison_row(method, benchmark, group) for (method, benchmark), group in groups]
    return pd.DataFrame(rows)


def paired_table(records: "pd.DataFrame", ours: str) -> "pd.DataFrame":
    """Compare method ``ours`` with every other one on the same items, for each benchmark.

    Columns: ``method, benchmark, n``, the differences ``accuracy_gain`` and ``utility_gain`` (ours
    minus the other) with bootstrap intervals over tasks, ``p_mcnemar`` (exact, on the first seed
    of both) and ``p_holm`` (adjusted across the table).

    Raises:
        ConfigError: simulated and real answers are mixed, ``ours`` has no records, or two methods
            were not asked the same items: a pairing would drop planned ones without a word.
    """
    import pandas as pd

    _refuse_mixed(records)
    rows = []
    for benchmark, group in records.groupby("benchmark", sort=False):
        if ours not in (methods := sorted(set(group["method"]))):
            raise ConfigError(f"no records of method {ours!r} on {benchmark}; there are {methods}")
        mine = group[group["method"] == ours]
        for method, other in group[group["method"] != ours].groupby("method", sort=False):
            rows.append(_paired_row(str(method), str(benchmark), mine, other))
    table = pd.DataFrame(rows)
    if len(table):
        table["p_holm"] = holm(table["p_mcnemar"].tolist())
    return table


def presentable(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table of texts for people.

    Columns ``x``, ``x_low``, ``x_high`` become one, "x [low, high]", and so do the counts of
    faults; a cost with unpriced calls is "at least". Numbers are written by the names of their
    columns (see :mod:`.number_texts`): a row's cost is called ``cost_usd`` where the row is about
    items, ``call_usd`` where it is about one call.
    """
    import pandas as pd

    columns: dict[str, list[str]] = {}
    faults = [name for name in FAULTS if set(FAULTS) <= set(table.columns)]
    for name in table.columns:
        base = _base(str(name))
        if (base != name and base in table.columns) or name in faults[1:]:
            continue
        if name in faults:
            counts = table[faults].itertuples(index=False)
            columns[title(", ".join(faults))] = [", ".join(map(str, row)) for row in counts]
            continue
        if name == "unpriced" and not table[name].any():
            continue
        places = decimals(str(name), table[name])
        values = [cell(str(name), value, places) for value in table[name]]
        if f"{name}_low" in table.columns and f"{name}_high" in table.columns:
            ends = zip(values, table[f"{name}_low"], table[f"{name}_high"], strict=True)
            values = [_with_interval(str(name), places, *end) for end in ends]
        if name == "cost_usd" and "unpriced" in table.columns:
            bounds = zip(values, table["unpriced"], strict=True)
            values = [f"at least {text}" if missing else text for text, missing in bounds]
        columns[title(str(name))] = values
    return pd.DataFrame(columns)


def only(table: "pd.DataFrame", names: Collection[str]) -> "pd.DataFrame":
    """Return the columns ``names`` of a table, each with its interval, in the table's order."""
    return table[[column for column in table if _base(str(column)) in names]]


def full_caption(caption: str, simulated: bool) -> str:
    """Return the caption, with the note on simulated LLMs where it applies."""
    return f"{caption} {SIMULATED_NOTE}" if simulated else caption


def to_html(table: "pd.DataFrame", caption: str, *, simulated: bool) -> str:
    """Return a table as an escaped HTML element with a caption, numbers to the right."""
    from html import escape

    shown, numbers = presentable(table), _numeric(table)
    marks = [' class="number"' if name in numbers else "" for name in shown.columns]

    def row(tag: str, texts: Iterable[str]) -> str:
        cells = zip(marks, texts, strict=True)
        return "".join(f"<{tag}{mark}>{escape(text)}</{tag}>" for mark, text in cells)

    lines = [f"<tr>{row('td', texts)}</tr>" for texts in shown.itertuples(index=False)]
    return "\n".join(
        [
            f"<table><caption>{escape(full_caption(caption, simulated))}</caption>",
            f"<thead><tr>{row('th', shown.columns)}</tr></thead><tbody>",
            *lines,
            "</tbody></table>",
        ]
    )


def to_latex(table: "pd.DataFrame", caption: str, *, simulated: bool) -> str:
    """Return a table as LaTeX with booktabs rules; all text is escaped."""
    shown, numbers = presentable(table), _numeric(table)
    sides = "".join("r" if name in numbers else "l" for name in shown.columns)
    escaped = shown.map(_latex).rename(columns=_latex)
    text = escaped.to_latex(
        index=False, caption=_latex(full_caption(caption, simulated)), position="tb",
        column_format=sides,
    )  # fmt: skip
    return str(text)


def _base(column: str) -> str:
    """Return the column that an end of an interval belongs to; any other column itself."""
    return column.removesuffix("_low").removesuffix("_high")


def _refuse_mixed(records: "pd.DataFrame") -> None:
    """Raise ConfigError if simulated and real answers stand in one frame."""
    if records["simulated"].nunique() > 1:
        raise ConfigError("simulated and real answers must not stand in one table: filter first")


def _comparison_row(method: str, benchmark: str, group: "pd.DataFrame") -> dict[str, Any]:
    tasks = group["task_id"].tolist()
    accuracy = share(group["correct"], tasks)
    utility = mean_over_tasks(group["utility"], tasks)
    by_seed = group.groupby("seed")["correct"].mean()
    faults = {name: int((group["status"] == name).sum()) for name in FAULTS}
    return {
        "method": method,
        "benchmark": benchmark,
        "n": group["task_id"].nunique(),
        "seeds": len(by_seed),
        "accuracy": accuracy.estimate,
        "accuracy_low": accuracy.low,
        "accuracy_high": accuracy.high,
        "accuracy_seed_sd": float(by_seed.std()),
        **faults,
        "utility": utility.estimate,
        "utility_low": utility.low,
        "utility_high": utility.high,
        "cost_usd": group["cost_usd"].mean(),
        "unpriced": int(group["unpriced"].sum()),
        "cost_reference": group["cost_reference"].mean(),
        "tokens": (group["prompt_tokens"] + group["completion_tokens"]).mean(),
        "calls": group["calls"].mean(),
    }


def _paired_row(
    method: str, benchmark: str, ours: "pd.DataFrame", theirs: "pd.DataFrame"
) -> dict[str, Any]:
    """Pair on task and seed; a method run with one seed is paired with every seed of the other."""
    _refuse_unequal(method, benchmark, ours, theirs)
    keys = ["task_id", "seed"] if set(ours["seed"]) == set(theirs["seed"]) else ["task_id"]
    pairs = ours.merge(theirs, on=keys, suffixes=("_a", "_b"))
    tasks = pairs["task_id"].tolist()
    accuracy = paired_difference(pairs["correct_a"], pairs["correct_b"], tasks)
    utility = paired_difference(pairs["utility_a"], pairs["utility_b"], tasks)
    once = pairs.drop_duplicates("task_id")
    return {
        "method": method,
        "benchmark": benchmark,
        "n": len(once),
        "accuracy_gain": accuracy.estimate,
        "accuracy_gain_low": accuracy.low,
        "accuracy_gain_high": accuracy.high,
        "utility_gain": utility.estimate,
        "utility_gain_low": utility.low,
        "utility_gain_high": utility.high,
        "p_mcnemar": mcnemar(once["correct_a"], once["correct_b"]),
    }


def _refuse_unequal(
    method: str, benchmark: str, ours: "pd.DataFrame", theirs: "pd.DataFrame"
) -> None:
    """Raise ConfigError unless both were asked the same tasks, with every seed."""
    mine, others = (dict(f.groupby("seed")["task_id"].agg(set)) for f in (ours, theirs))
    if set(mine) == set(others):
        pairs = [(mine[seed], others[seed]) for seed in mine]
    else:
        pairs = [(a, b) for a in mine.values() for b in others.values()]
    for a, b in pairs:
        if a != b:
            raise ConfigError(
                f"{method!r} and the method it is compared with have different items on "
                f"{benchmark}, {len(b)} against {len(a)} ({min(a ^ b)!r} is in one only): answer "
                "the same tasks with both, with every seed"
            )


def _numeric(table: "pd.DataFrame") -> set[str]:
    """Return the titles of the columns of numbers, which are aligned to the right."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    found = {
        title(str(name))
        for name in table.columns
        if is_numeric_dtype(table[name]) and not is_bool_dtype(table[name])
    }
    return found | {title(", ".join(FAULTS))}


def _with_interval(name: str, places: int, text: str, low: float, high: float) -> str:
    if isnan(low):
        return text
    return f"{text} [{cell(name, low, places)}, {cell(name, high, places)}]"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
