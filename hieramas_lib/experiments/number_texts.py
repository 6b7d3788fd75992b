"""How a table's columns are headed and their numbers written, by what a column is called.

Every kind has its number of decimals, the same down a column. Shares are in percent, money in
dollars without exponents, small p-values as "<0.001", missing values as a dash, and nothing is
ever "-0.0".
"""

from collections.abc import Iterable
from math import floor, isnan, log10
from typing import Any

_TITLES = {
    "n": "Tasks",
    "cost_usd": "Cost / item",
    "call_usd": "Cost",
    "as_if_usd": "Cost at list prices",
    "paid_usd": "Paid",
    "short_usd": "Usual call, answer only",
    "reasoned_usd": "Usual call, step by step",
    "total_usd": "Cost of all items",
    "training_usd": "Cost of training",
    "cost_reference": "Cost / item (reference calls)",
    "tokens": "Tokens / item",
    "calls": "Calls / item",
    "unpriced": "Unpriced calls",
    "wall_s": "Seconds",
    "waited_s": "Seconds of waiting",
    "accuracy_seed_sd": "SD over seeds",
    "p_mcnemar": "p (McNemar)",
    "p_holm": "p (Holm)",
    "humaneval_gpt": "HumanEval, GPT",
    "humaneval_qwen": "HumanEval, Qwen",
    "math_gpt": "MATH, GPT",
    "math_qwen": "MATH, Qwen",
    "mmlu_gpt": "MMLU, GPT",
    "mmlu_qwen": "MMLU, Qwen",
    "livecodebench": "LiveCodeBench",
    "humaneval": "HumanEval",
    "mmlu_pro": "MMLU-Pro",
    "aime2025": "AIME 2025",
    "aime2026": "AIME 2026",
    "hmmt": "HMMT",
    "beyond_aime": "BeyondAIME",
}
_WORDS = {"llm": "LLM", "llms": "LLMs", "cot": "CoT", "sc": "SC", "jaccard": "Jaccard"}
_POINTS = ("accuracy_gain", "accuracy_seed_sd")
"""Differences and spreads of percentages, which are in percentage points."""

_COUNTS = {
    "n", "seeds", "calls", "unpriced", "unparsed", "empty", "error", "questions", "subjects",
    "graphs", "edges", "sources", "sinks", "rows",
}  # fmt: skip
"""First words of counts and of their means."""

_DECIMALS = {
    "kept_roles": 1, "cost_reference": 2, "average": 2, "source_share": 2, "sink_share": 2,
    "density_mean": 2, "jaccard_mean": 2, "livecodebench": 2, "humaneval": 2, "mmlu_pro": 2,
    "aime2025": 2, "aime2026": 2, "hmmt": 2, "beyond_aime": 2, "messages": 2, "messages_easy": 2,
    "messages_hard": 2, "messages_more": 2,
}  # fmt: skip
_OTHER = 3


def title(name: str) -> str:
    """Return the heading of a column, with its unit."""
    words = (_WORDS.get(word, word) for word in name.split("_"))
    text = _TITLES.get(name) or " ".join(words)
    unit = " (points)" if name in _POINTS else " (%)" if _percent(name) else ""
    return text if text.startswith("p (") else text[:1].upper() + text[1:] + unit


def decimals(name: str, values: Iterable[Any]) -> int:
    """Return the decimals of a column: counts have one if not all of them are whole."""
    if name in _DECIMALS:
        return _DECIMALS[name]
    if _percent(name) or name == "seconds" or name.endswith("_s"):
        return 1
    if "tokens" in name:
        return 0
    if name.split("_")[0] in _COUNTS:
        numbers = [value for value in values if isinstance(value, float) and not isnan(value)]
        return 0 if all(number.is_integer() for number in numbers) else 1
    return 2 if name in _TITLES and name.endswith(("_gpt", "_qwen")) else _OTHER


def cell(name: str, value: Any, places: int) -> str:
    """Return the text of one value of column ``name``, a number with ``places`` decimals."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and isnan(value):
        return "–"
    if name.endswith("_usd") and not isinstance(value, str):
        return dollars(float(value))
    if not isinstance(value, float):
        return f"{value:,}" if hasattr(value, "__index__") else str(value)
    if name.startswith("p_") and value < 0.001:
        return "<0.001"
    return number(100 * value if _percent(name) else value, places)


def number(value: float, places: int) -> str:
    """Return a number with that many decimals."""
    # Adding 0 turns a rounded -0.0 into 0.0.
    return f"{round(value, places) + 0.0:,.{places}f}"


def dollars(usd: float) -> str:
    """Return an amount: in cents from $1 on, else with 5 decimals or two significant digits."""
    size = abs(usd)
    if size == 0:
        return "$0"
    places = 2 if size >= 1 else max(5, 1 - floor(log10(size)))
    return f"{'-' if usd < 0 else ''}${size:,.{places}f}"


def _percent(name: str) -> bool:
    """Whether a column holds shares, or differences of shares, printed times 100."""
    return name.startswith("accuracy")
