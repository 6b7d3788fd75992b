"""How often a role's credit has the sign of its contribution, by credit mode and alpha.

Run ``hieramas bench credit``, or ``python tests/bench/bench_credit.py`` with ``--seeds 0 1 2 3 4
--tasks 100 --redraws 64 --out rows.csv`` for the whole table. It asserts nothing.
"""

import argparse
import asyncio
from pathlib import Path

import pandas as pd

from hieramas_lib.experiments.credit.agreement import agreement_rows
from hieramas_lib.experiments.credit.cases import collect_cases, shipped_settings, sign_threshold
from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.learning.rewards import PaperReward

GOAL = 0.9
"""Asked of R_eff at alpha 0.5."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--redraws", type=int, default=32)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def measure(args: argparse.Namespace) -> pd.DataFrame:
    """Return all rows; written to ``--out`` after every world."""
    rows: list[dict[str, object]] = []
    for setting in shipped_settings():
        for seed in args.seeds:
            cases = asyncio.run(
                collect_cases(setting, seed, tasks=args.tasks, redraws=args.redraws)
            )
            rows += [
                {"setting": setting.name, "seed": seed, **row} for row in agreement_rows(cases)
            ]
            if args.out:
                pd.DataFrame(rows).to_csv(args.out, index=False)
    return pd.DataFrame(rows)


def show(records: pd.DataFrame) -> None:
    """Print every figure, means over worlds with intervals for the agreement."""
    values = ["agreement", "balanced", "correlation", "punished", "clear"]
    table = over_seeds(records, ["setting", "credit", "alpha"], values)
    for (setting, credit), part in table.groupby(["setting", "credit"], sort=False):
        print(f"\n{setting}, {credit}; {part['clear'].iloc[0]:.0%} of the cases are clear")
        print(
            "  alpha  agreement             balanced  correlation  harmful in right runs punished"
        )
        for row in part.itertuples():
            spread = f"[{row.agreement_low:.3f}, {row.agreement_high:.3f}]" if row.seeds > 1 else ""
            print(
                f"  {row.alpha:>5.2f}  {row.agreement:>5.3f} {spread:<16}{row.balanced:>8.3f}"
                f"  {row.correlation:>11.3f}  {row.punished:>8.3f}"
            )


if __name__ == "__main__":
    reward = PaperReward()
    at = sign_threshold(reward(True, 1.0), reward(False, 1.0))
    print(f"A wrong role in a right run, both at one reference call: punished from alpha {at:.2f}")
    show(measure(arguments()))
    print(f"\nAsked: at least {GOAL:.2f} for R_eff at alpha 0.5, clearly less at alpha 0")
