"""What supernodes were seen to do, in sentences computed from the records of one world.

Frames are those of :mod:`.supernode_study`, restricted to one panel where only one is spoken of.
"""

from typing import TYPE_CHECKING

from hieramas_lib.experiments.effects.knobs import SHIPPED
from hieramas_lib.experiments.effects.seed_tables import paired_change
from hieramas_lib.experiments.statistics import Interval, mean_over_seeds

if TYPE_CHECKING:
    import pandas as pd


def best_widths(mixed: "pd.DataFrame") -> dict[str, int]:
    """Return the W of highest mean accuracy and of highest mean utility, as shipped."""
    shipped = mixed[mixed["series"] == SHIPPED]
    means = shipped.groupby("width")[["accuracy", "utility"]].mean()
    return {name: int(means[name].idxmax()) for name in means}


def proposer_sentences(mixed: "pd.DataFrame", panel: str) -> list[str]:
    """Say where more proposers stop helping, and what is left without the causes."""
    here = mixed[mixed["panel"] == panel]
    peaks, last = best_widths(here), int(here["width"].max())
    peak = peaks["accuracy"]
    return [
        f"In the {panel}, accuracy is highest with {peak} proposers and utility (β = 0.01) with "
        f"{peaks['utility']}. From none to there accuracy gains "
        f"{_change(here, SHIPPED, 'width', 0, peak)}; from there to all {last} it changes by "
        f"{_change(here, SHIPPED, 'width', peak, last)}, and without fatigue by "
        f"{_change(here, 'no fatigue', 'width', peak, last)}.",
        "Without recognition and persuasion the same proposers bring "
        f"{_change(here, 'no recognition, no persuasion', 'width', 0, peak)}.",
    ]


def copies_sentence(copies: "pd.DataFrame", panel: str, copied: str, reader: str) -> str:
    """Say what copies of one LLM do to a reader, with persuasion and without."""
    here = copies[copies["panel"] == panel]
    last = int(here["width"].max())
    return (
        f"{last} copies of {copied} change the accuracy of {reader} by "
        f"{_change(here, SHIPPED, 'width', 0, last)}; without persuasion by "
        f"{_change(here, 'no persuasion', 'width', 0, last)}."
    )


def company_sentence(company: "pd.DataFrame", panel: str) -> str:
    """Say what difference alone is worth, at equal cost."""
    here = company[company["panel"] == panel]
    ends = ("company", "3 copies of one LLM", "LLMs of 3 families")
    return (
        f"At equal cost, LLMs of three families beat three copies by "
        f"{_change(here, SHIPPED, *ends)} of accuracy; without families by "
        f"{_change(here, 'no families', *ends)}; without all three knobs by "
        f"{_change(here, 'neither, and one mistake only', *ends)}."
    )


def expert_sentence(experts: "pd.DataFrame", panel: str) -> str:
    """Say what an expert's role is worth in its own subjects and in others."""
    here = experts[experts["panel"] == panel]

    def worth(place: str) -> Interval:
        rows = here[here["place"] == place]
        return mean_over_seeds(rows.groupby("seed")["utility_gain"].mean())

    return (
        f"An expert changes utility by {worth(f'own subjects, {SHIPPED}')} in its own subjects and "
        f"by {worth(f'other subjects, {SHIPPED}')} in others; without fit by "
        f"{worth('own subjects, no fit')} and {worth('other subjects, no fit')}."
    )


def search_sentences(table: "pd.DataFrame", width: int) -> list[str]:
    """Say what the best supernode is worth over the best single LLM, for each world.

    ``table`` is that of :func:`~.supernode_study.search_table`, its last row a world the widest.
    """
    return [
        f"In the {world}, the best supernode with at most {width} proposers is worth "
        f"{found['gain']:+.3f} [{found['gain_low']:.3f}, {found['gain_high']:.3f}] utility more "
        "than the best single LLM, both chosen on half of the questions and judged on the other "
        "half."
        for world, found in table.groupby("world", sort=False).last().iterrows()
    ]


def _change(
    frame: "pd.DataFrame", series: str, column: str, start: object, end: object
) -> Interval:
    return paired_change(frame[frame["series"] == series], column, start, end, "accuracy")
