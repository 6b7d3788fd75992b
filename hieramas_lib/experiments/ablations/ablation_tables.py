"""What each part is worth: variants minus the full system on the same questions."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Final

from hieramas_lib.experiments.ablations.variants import FULL, System, variant
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds, paired_difference
from hieramas_lib.experiments.utility_tables import verdict
from hieramas_lib.teams.oracle.anchors import Anchors

if TYPE_CHECKING:
    import pandas as pd

MEANS: Final = ("utility", "accuracy", "cost_reference", "kept_roles")
GAINS: Final = ("utility", "accuracy", "cost_reference")

PAPER: Final[Mapping[str, Mapping[object, str]]] = {
    "table2": {
        "HieraMAS": FULL,
        "without graph scoring": "graph random",
        "without LLM selection": "llms decision",
    },
    "table6": {proposers: f"width {proposers}" for proposers in (2, 6, 8)},
    "table7": {graphs: f"graphs {graphs}" for graphs in (50, 200, 500)},
}
"""Rows of the paper's tables of ablations, by their first column, and our variants."""


def ablation_table(records: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row a variant: means, and differences to the full system with intervals.

    A difference is taken on the same questions of the same world and training seed. With several
    worlds or seeds there is one difference each, and a t interval over them; with one, a bootstrap
    interval over its questions.

    Args:
        records: Columns ``variant, world, seed, task_id`` and those of :data:`MEANS`.
    """
    import pandas as pd

    names = list(dict.fromkeys(records["variant"]))
    keys = ["world", "seed", "task_id"]
    full = records[records["variant"] == FULL].set_index(keys)
    rows = []
    for name in names:
        part = records[records["variant"] == name].set_index(keys)
        row = {"variant": name, "runs": part.groupby(["world", "seed"]).ngroups}
        row |= {column: float(part[column].mean()) for column in MEANS}
        for column in GAINS:
            gain = _gain(part[column], full[column])
            row |= {
                f"{column}_gain": gain.estimate,
                f"{column}_gain_low": gain.low,
                f"{column}_gain_high": gain.high,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def _gain(ours: "pd.Series[float]", full: "pd.Series[float]") -> Interval:
    difference = ours - full.loc[ours.index]
    by_run = difference.groupby(level=["world", "seed"]).mean()
    if len(by_run) > 1:
        return mean_over_seeds(by_run)
    tasks = difference.index.get_level_values("task_id").tolist()
    return paired_difference(ours, full.loc[ours.index], tasks)


def change_sentence(table: "pd.DataFrame", name: str) -> str:
    """Say what a variant does to utility and cost.

    Args:
        table: See :func:`ablation_table`.
        name: One of its variants.
    """
    row = table.set_index("variant").loc[name]
    gain, low, high = (row[f"utility_gain{end}"] for end in ("", "_low", "_high"))
    word = verdict(Interval(gain, low, high), "gains", "costs", "does nothing measurable to")
    return (
        f"“{name}” {word} utility: {gain:+.3f} [{low:.3f}, {high:.3f}], at "
        f"{row['cost_reference_gain']:+.2f} reference calls a question."
    )


def anchor_means(anchors: Sequence[Anchors]) -> "pd.DataFrame":
    """Return utility, accuracy and cost of three anchors, means over worlds.

    A single row says so where none were evaluated, as in texts.
    """
    import pandas as pd

    if not anchors:
        return pd.DataFrame({"anchor": ["not with texts"]})
    names = {
        "random policy": "random",
        "decision LLM alone": "decision_alone",
        "strongest LLM alone": "strongest_alone",
    }
    rows = []
    for anchor, attribute in names.items():
        found = [getattr(of, attribute) for of in anchors]
        rows.append(
            {
                "anchor": anchor,
                "utility": sum(e.mean for e in found) / len(found),
                "accuracy": sum(e.accuracy for e in found) / len(found),
                "cost_reference": sum(e.cost for e in found) / len(found),
            }
        )
    return pd.DataFrame(rows)


def beside_paper(
    table: "pd.DataFrame", name: str, full: System, benchmark: str = "MMLU"
) -> "pd.DataFrame":
    """Return a table of the paper with our accuracy and cost of the same change beside it.

    Costs are relative to the first row's, as one is in dollars of real LLMs for a whole test set,
    and the other in reference calls a question. Ours is missing where the variant was not run.

    Args:
        table: See :func:`ablation_table`.
        name: ``"table2"``, ``"table6"`` or ``"table7"``.
        full: The full system: a variant that is the same is its row.
        benchmark: Of the paper, where its table has several.
    """
    import pandas as pd

    paper = published_table(name).frame
    if "benchmark" in paper:
        paper = paper[paper["benchmark"] == benchmark]
    first = str(paper.columns[0])
    changes = [PAPER[name][value] for value in paper[first]]
    same = [FULL if variant(full, change) == full else change for change in changes]
    ours = table.set_index("variant").reindex(same)
    return pd.DataFrame(
        {
            first: paper[first].astype(str).tolist(),
            "our_variant": same,
            "accuracy_paper": paper["accuracy"].tolist(),
            "accuracy_ours": ours["accuracy"].tolist(),
            "relative_cost_paper": _relative(paper.get("total_usd", paper["accuracy"] * nan)),
            "relative_cost_ours": _relative(ours["cost_reference"]),
        }
    )


def _relative(costs: "pd.Series[float]") -> list[float]:
    first = float(costs.iloc[0])
    return [float(cost) / first for cost in costs]
