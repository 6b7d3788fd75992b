"""How far credit and contribution agree in sign, and how they correlate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hieramas_lib.experiments.credit.cases import (
    RAW,
    Cases,
    CreditSetting,
    collect_cases,
)
from hieramas_lib.experiments.effects.seed_tables import over_seeds

if TYPE_CHECKING:
    import pandas as pd

NEAR_ZERO = 0.02
"""A contribution no larger than this has no sign worth agreeing with."""

MODES = {0.0: "final_only", 0.5: "multi_level", 1.0: "node_only"}
"""Names of some alphas in the ablation of credit modes."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one kind of credit with the contribution, where that is clear.

    Attributes:
        share: Cases of equal sign; a credit of 0 counts half.
        balanced: Mean of that over helpful and over harmful cases.
        correlation: Of credit and contribution, over all cases, the unclear ones included.
        punished: Harmful roles in right runs that get negative credit, as a share.
        clear: Share of the cases with a clear contribution.
        cases: Number of all cases.
    """

    share: float
    balanced: float
    correlation: float
    punished: float
    clear: float
    cases: int


def agreement(cases: Cases, kind: str, alpha: float) -> Agreement:
    """Compare the credit of ``kind`` at ``alpha`` with what roles contributed.

    A figure of cases of which there are none is NaN.
    """
    credit, worth = cases.credit[kind, alpha], cases.contribution
    clear = np.abs(worth) > NEAR_ZERO
    agrees = (1 + np.sign(credit) * np.sign(worth)) / 2
    helpful, harmful = clear & (worth > 0), clear & (worth < 0)
    return Agreement(
        share=_mean(agrees[clear]),
        balanced=(_mean(agrees[helpful]) + _mean(agrees[harmful])) / 2,
        correlation=_correlation(credit, worth),
        punished=_mean(credit[harmful & cases.final_right] < 0),
        clear=float(clear.mean()),
        cases=len(worth),
    )


def agreement_rows(cases: Cases) -> list[dict[str, object]]:
    """Return a row for each kind of credit and alpha."""
    rows: list[dict[str, object]] = []
    for kind, alpha in cases.credit:
        found = agreement(cases, kind, alpha)
        rows.append(
            {
                "credit": kind,
                "alpha": alpha,
                "mode": MODES.get(alpha, ""),
                "agreement": found.share,
                "balanced": found.balanced,
                "correlation": found.correlation,
                "punished": found.punished,
                "clear": found.clear,
                "cases": found.cases,
            }
        )
    return rows


async def agreement_in(
    setting: CreditSetting, seeds: Iterable[int], *, tasks: int, redraws: int
) -> "pd.DataFrame":
    """Return agreement and correlation of every kind of credit and alpha over several worlds.

    Columns ``credit, alpha, seeds`` and both with their intervals over worlds.

    Args:
        setting: Where teams come from.
        seeds: Of the worlds.
        tasks: Questions in each.
        redraws: Teams drawn to find what an answer contributes.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for seed in seeds:
        cases = await collect_cases(setting, seed, tasks=tasks, redraws=redraws)
        rows += [{"seed": seed, **row} for row in agreement_rows(cases)]
    return over_seeds(pd.DataFrame(rows), ["credit", "alpha"], ["agreement", "correlation"])


def sign_sentence(table: "pd.DataFrame", threshold: float) -> str:
    """Say how often the published credit has the sign of the contribution, by alpha.

    Args:
        table: See :func:`agreement_in`.
        threshold: From which alpha on a masked error is punished.
    """
    shares = table[table["credit"] == RAW].set_index("alpha")["agreement"]
    return (
        f"R_eff agrees in sign with the expected contribution in {shares[0.0]:.0%} of the clear "
        f"cases with the final outcome alone, {shares[0.5]:.0%} at α = 0.5, {shares[1.0]:.0%} with "
        f"the own result alone; a masked error is punished from α = {threshold:.2f} on."
    )


def by_mode(records: "pd.DataFrame", value: str = "agreement") -> "pd.DataFrame":
    """Return ``value`` of the named modes over worlds, for ``effect_points``.

    Args:
        records: Rows of :func:`agreement_rows` with the columns ``setting`` and ``seed`` added.
        value: Column to average.
    """
    named = records[records["mode"] != ""]
    table = over_seeds(named, ["setting", "mode", "credit"], [value])
    return table.rename(columns={"setting": "panel", "mode": "row", "credit": "series"})


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    if len(first) < 2 or first.std() == 0 or second.std() == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
