"""Stage 1 measured against the optimum, and what it takes (design 8, 14).

Run ``hieramas bench learning``, some six minutes of one core; as a script it takes sizes, worlds,
training seeds and passes: ``python tests/bench/bench_learning.py 18,72 200,201 10 1`` is a quick
look. With one pass a question is asked G = 4 times. Worlds 100 to 107 are those that settings were
chosen on.

Hard simulated world, knowledge, 8 roles, W = 2, K = 100, decision gemma-3-27b. Everything is
simulated. Questions are copies of shipped ones, whose texts the learner sees; rollouts are replayed
on answers instead of texts. It prints figures beside their goals and asserts none.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.experiments.learning_curve.curve import Point, Way, learning_curve
from hieramas_lib.experiments.learning_curve.curve_tables import (
    anchor_table,
    comparison,
    curve_table,
    unseen_table,
)
from hieramas_lib.experiments.learning_curve.lab import shipped_lab
from hieramas_lib.experiments.learning_curve.optimum import Optimum, find_optimum
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.policy import PolicyPrior, match_policy, sample
from hieramas_lib.learning.stage1 import _batches, _descend, _rollouts
from hieramas_lib.learning.stage1_losses import Drawn, batch_loss
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.training_state import TrainingState
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings

if TYPE_CHECKING:
    import pandas as pd

DECISION = "gemma-3-27b"
DEFAULTS = ("18,72,288,1152", "200,201,202,203,204", "10,11", "1")
GOALS = {18: 0.50, 72: 0.60, 288: 0.75, 1152: 0.90}


def ways(size: int) -> Sequence[Way]:
    """Credit modes are compared where the issue asks for it; the published network is slow."""
    main: tuple[Way, ...] = ("HieraMAS", "constant", "reference")
    modes: tuple[Way, ...] = ("final_only", "node_only") if size in (72, 288) else ()
    return (*main, *modes, *(("published",) if size == 72 else ()))


def curves(
    sizes: Sequence[int], worlds: Sequence[int], seeds: Sequence[int], passes: Sequence[int]
) -> None:
    """Print the anchors, and a curve for each number of ``passes``."""
    optima: dict[int, Optimum] = {}
    points: dict[int, list[Point]] = {number: [] for number in passes}
    for world in worlds:
        lab = shipped_lab(world)
        optima[world] = find_optimum(lab, subjects=False)
        for number, found in points.items():
            found += learning_curve(
                lab, optima[world], sizes=sizes, seeds=seeds, ways=ways,
                settings=Stage1Settings(passes=number), prior=PolicyPrior(),
            )  # fmt: skip
    anchors = anchor_table(optima).groupby("what", sort=False)[["utility", "accuracy", "cost"]]
    print(_text(anchors.mean().reset_index()))
    for number, found in points.items():
        print(
            f"\nPasses: {number}. Subjects trained on; shares of the way to the best constant team"
        )
        print(_text(curve_table(found)))
        print("goals from random: " + ", ".join(f"{n}: {goal:.2f}" for n, goal in GOALS.items()))
        for other in ("constant", "reference", "published"):
            for size, gap in comparison(found, "HieraMAS", other).items():
                print(f"HieraMAS minus {other} at {size}, utility: {gap}")
        print("\nUnseen subjects; gain is over the strongest LLM alone")
        print(_text(unseen_table(found)))


def _text(table: "pd.DataFrame") -> str:
    return table.to_string(index=False, float_format=lambda x: f"{x:.3f}")


def update_time(repeats: int = 50) -> None:
    """Print the CPU time of one update, rollouts given."""
    lab, settings = shipped_lab(0), Stage1Settings(batch=16)
    tasks = lab.questions.training_set(72, 0)
    featurizer = Featurizer(lab.encoder, lab.space.roles, tasks)
    policy = match_policy(lab.space.actions, PolicyPrior(), lab.space.roles)
    state = TrainingState.begin(policy, settings.learning_rate, 0)
    batch = _batches(tasks, settings, state.rng)[0]
    features = featurizer([attempt.task for attempt in batch])
    logits = policy(features).detach()
    actions = sample(logits, state.generator)
    runner = lab.practice(tasks).rollouts(lab.pool, 0)
    rollouts = asyncio.run(_rollouts(lab.space, batch, actions, runner, state.rng))
    drawn = Drawn(features, logits, actions, rollouts)
    start = time.process_time()
    for _ in range(repeats):
        loss = batch_loss(drawn, lab.space, lab.pool, settings, 0, 10)
        _descend(state, drawn.features, loss, settings)
    spent = 1e3 * (time.process_time() - start) / repeats
    print(f"stage-1 update, batch 16 x group 4, {settings.steps} steps, credit included: "
          f"{spent:.1f} ms CPU, {spent / settings.steps:.1f} a step (goal 10)")  # fmt: skip


def whole_training() -> None:
    """Print the CPU time of both stages with texts, on the 72 training questions."""
    opened = open_benchmark("knowledge", seed=0, graphs=100, width=2, decision=DECISION)
    method = HieraMAS(opened.space, opened.llms, opened.encoder, HieraMASSettings(), seed=0)
    start = time.process_time()
    asyncio.run(method.fit_policy(opened.train))
    middle = time.process_time()
    asyncio.run(method.fit_graphs(opened.train))
    end = time.process_time()
    print(f"72 questions with texts: stage 1 {middle - start:.1f} s CPU "
          f"({method.history[-1].rollouts:,} rollouts), stage 2 {end - middle:.1f} s, "
          f"together {end - start:.1f} s (goal 60)")  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    given = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])
    update_time()
    whole_training()
    curves(*([int(part) for part in text.split(",")] for text in given))
