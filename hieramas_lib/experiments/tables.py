"""Tables of results: numbers with intervals and planned denominators, as CSV, HTML and LaTeX."""

from math import isnan
from typing import TYPE_CHECKING, Any

from hieramas_lib.errors import ConfigError
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
    faults; shares are printed in percent, their differences in percentage points, money in dollars,
    and a cost with unpriced calls as "at least". A row's cost is called ``cost_usd`` where the row
    is about items, ``call_usd`` where it is about one call.
    """
    import pandas as pd

    columns: dict[str, list[str]] = {}
    faults = [name for name in FAULTS if set(FAULTS) <= set(table.columns)]
    for name in table.columns:
        base = str(name).removesuffix("_low").removesuffix("_high")
        if (base != name and base in table.columns) or name in faults[1:]:
            continue
        if name in faults:
            counts = table[faults].itertuples(index=False)
            columns[_title(", ".join(faults))] = [", ".join(map(str, row)) for row in counts]
            continue
        if name == "unpriced" and not table[name].any():
            continue
        values = [_text(str(name), value) for value in table[name]]
        if f"{name}_low" in table.columns and f"{name}_high" in table.columns:
            ends = zip(values, table[f"{name}_low"], table[f"{name}_high"], strict=True)
            values = [_with_interval(str(name), *end) for end in ends]
        if name == "cost_usd" and "unpriced" in table.columns:
            bounds = zip(values, table["unpriced"], strict=True)
            values = [f"at least {text}" if missing else text for text, missing in bounds]
        columns[_title(str(name))] = values
    return pd.DataFrame(columns)


def full_caption(caption: str, simulated: bool) -> str:
    """Return the caption, with the note on simulated LLMs where it applies."""
    return f"{caption} {SIMULATED_NOTE}" if simulated else caption


def to_html(table: "pd.DataFrame", caption: str, *, simulated: bool) -> str:
    """Return a table as an HTML element with a caption; all text is escaped."""
    from html import escape

    markup = presentable(table).to_html(index=False, border=0, justify="left")
    head, rest = str(markup).split(">", 1)
    return f"{head}>\n  <caption>{escape(full_caption(caption, simulated))}</caption>{rest}"


def to_latex(table: "pd.DataFrame", caption: str, *, simulated: bool) -> str:
    """Return a table as LaTeX with booktabs rules; all text is escaped."""
    shown = presentable(table)
    escaped = shown.map(_latex).rename(columns=_latex)
    text = escaped.to_latex(
        index=False, caption=_latex(full_caption(caption, simulated)), position="tb"
    )
    return str(text)


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


_TITLES = {
    "n": "Tasks",
    "llm": "LLM",
    "cost_usd": "Cost / item",
    "call_usd": "Cost",
    "cost_reference": "Cost / item (reference calls)",
    "tokens": "Tokens / item",
    "calls": "Calls / item",
    "unpriced": "Unpriced calls",
    "accuracy_seed_sd": "SD over seeds",
    "p_mcnemar": "p (McNemar)",
    "p_holm": "p (Holm)",
}
_POINTS = ("accuracy_gain", "accuracy_seed_sd")
"""Differences and spreads of percentages, which are in percentage points."""


def _title(name: str) -> str:
    title = _TITLES.get(name, name.replace("_", " "))
    unit = " (points)" if name in _POINTS else " (%)" if _percent(name) else ""
    return title[:1].upper() + title[1:] + unit


def _percent(name: str) -> bool:
    """Whether a column holds shares, or differences of shares, printed times 100."""
    return name.startswith("accuracy")


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return f"{value:,}" if hasattr(value, "__index__") else str(value)
    if isnan(value):
        return "–"
    if _percent(name):
        return f"{100 * value:.1f}"
    if name.endswith("_usd"):
        return f"${value:.2g}" if 0 < abs(value) < 1e-4 else f"${value:,.5f}"
    # Adding 0 turns a rounded -0.0 into 0.0.
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0.0:.3f}"


def _with_interval(name: str, text: str, low: float, high: float) -> str:
    return text if isnan(low) else f"{text} [{_text(name, low)}, {_text(name, high)}]"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
