"""Stage 2 against the optimum: the regret of every way to choose a graph, and how fast it scores.

Run ``hieramas bench graph_selection``, or ``python tests/bench/bench_graph_selection.py`` with
``--seeds 0 1 2 --budgets 72 288 1152 --label-seeds 3 --test-copies 60 --out rows.csv`` for the
whole table. It asserts nothing; what is asked for is in brackets.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import pandas as pd
import torch

from hieramas_lib.experiments.effects.seed_tables import over_seeds
from hieramas_lib.experiments.graph_selection.selection import (
    CLASSIFIER,
    FIXED,
    TRUE_FIXED,
    LabelPlan,
    regret_rows,
)
from hieramas_lib.experiments.graph_selection.worlds import SETTINGS, shipped_world
from hieramas_lib.learning.classifier import GraphClassifier
from hieramas_lib.learning.features import Features
from hieramas_lib.teams.graph_pool import reference_pool


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--settings", nargs="+", default=[s.name for s in SETTINGS])
    parser.add_argument("--budgets", type=int, nargs="+", default=[72, 288])
    parser.add_argument("--label-seeds", type=int, default=1)
    parser.add_argument("--test-copies", type=int, default=20)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def scoring_time(graphs: int = 200, roles: int = 8, dim: int = 384) -> float:
    """Return the CPU seconds to score a pool for one question, the least of 50 tries."""
    classifier = GraphClassifier(dim, reference_pool(roles, graphs, seed=0), seed=0)
    features = Features(torch.randn(1, dim), torch.randn(roles, dim), torch.randn(1, roles))
    kept, every = torch.ones(1, roles, dtype=torch.bool), torch.arange(graphs)[None]
    times = []
    with torch.no_grad():
        for _ in range(50):
            start = time.process_time()
            classifier(features, kept, every)
            times.append(time.process_time() - start)
    return min(times)


def measure(args: argparse.Namespace) -> pd.DataFrame:
    """Return all rows; written to ``--out`` after every world."""
    plan = LabelPlan(tuple(sorted(args.budgets)), seeds=args.label_seeds)
    rows: list[dict[str, object]] = []
    asked = [setting for setting in SETTINGS if setting.name in args.settings]
    for seed in args.seeds:
        for setting, reads in product(asked, ("sinks", "all")):
            world = shipped_world(setting, reads, seed)
            found = regret_rows(world, plan, test_copies=args.test_copies)
            rows += [{"setting": setting.name, "reads": reads, "seed": seed, **r} for r in found]
            if args.out:
                pd.DataFrame(rows).to_csv(args.out, index=False)
    return pd.DataFrame(rows)


def show(records: pd.DataFrame) -> None:
    """Print regrets, means over worlds with intervals, and how they stand to the goals."""
    table = over_seeds(records, ["setting", "reads", "selector", "queries"], ["regret"])
    for (setting, reads), part in table.groupby(["setting", "reads"], sort=False):
        print(f"\n{setting}, decision reads {reads}: regret to the best graph for each subject")
        for row in part.itertuples():
            spread = f"[{row.regret_low:.3f}, {row.regret_high:.3f}]" if row.seeds > 1 else ""
            when = f"{row.queries:>5} queries" if row.queries else "    no labels"
            print(f"  {row.selector:<24} {when} {row.regret:>7.3f} {spread}")
        for verdict in verdicts(part):
            print(f"  {verdict}")


def verdicts(part: pd.DataFrame) -> list[str]:
    """Compare the classifier with the best fixed graph from the same labels."""
    true = part[part["selector"] == TRUE_FIXED]["regret"].item()
    regret = part.set_index(["selector", "queries"])["regret"]
    lines = []
    for queries in sorted(set(part["queries"]) - {0}):
        ours, fixed = regret[CLASSIFIER, queries], regret[FIXED, queries]
        asked = (
            {288: " (0.8 asked)", 1152: " (0.65 asked)"}.get(queries, "") if true >= 0.05 else ""
        )
        difference = f"{fixed - ours:+.3f} utility" + (" (-0.01 asked)" if true < 0.01 else "")
        lines.append(
            f"{queries} queries: classifier / best fixed {ours / fixed:.2f}{asked}, {difference}"
        )
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(
        f"scoring 200 graphs of 8 roles: {scoring_time() * 1000:.1f} ms CPU (goal 10)", flush=True
    )
    show(measure(arguments()))
