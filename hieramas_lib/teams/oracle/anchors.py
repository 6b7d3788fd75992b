"""The figures that every utility is shown with (design 7): what doing nothing clever is worth."""

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from hieramas_lib.llms.layout import Style
from hieramas_lib.teams.oracle.estimate import Estimate
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.symbolic.replay import SymbolicTeams


@dataclass(frozen=True, slots=True)
class Anchors:
    """Expected utilities to compare with; the fourth anchor is the best team found.

    Attributes:
        random: A team drawn anew for every question.
        decision_alone: The decision LLM without a team.
        strongest: Name of the LLM that is right most often alone.
        strongest_alone: What it reaches.
    """

    random: Estimate
    decision_alone: Estimate
    strongest: str
    strongest_alone: Estimate

    def shares(self, utility: float, best: float) -> tuple[float, float]:
        """Return how much of the way to ``best`` is gone, from random and from alone.

        NaN where there is no way to go.
        """
        starts = (self.random.mean, self.decision_alone.mean)
        random, alone = ((utility - s) / (best - s) if best > s else nan for s in starts)
        return random, alone


def find_anchors(
    options: TeamOptions, questions: SymbolicTeams, *, style: Style = "step by step",
    teams: int = 200, seed: int = 0,
) -> Anchors:  # fmt: skip
    """Evaluate the anchors of ``options`` on ``questions``; LLMs alone answer in ``style``."""
    alone = {llm: questions.alone(llm, style).estimate() for llm in options.llms}
    strongest = max(alone, key=lambda llm: alone[llm].accuracy)
    return Anchors(
        random=random_policy(options, questions, teams=teams, seed=seed),
        decision_alone=questions.results(options.alone()).estimate(),
        strongest=strongest,
        strongest_alone=alone[strongest],
    )


def random_policy(
    options: TeamOptions, questions: SymbolicTeams, *, teams: int = 200, seed: int = 0
) -> Estimate:
    """Return the expected utility of a team drawn at random, from ``teams`` of them.

    The standard error is that of the mean over teams, each of which all questions were asked.
    """
    rng = np.random.default_rng(seed)
    drawn = [questions.results(options.random(rng)) for _ in range(teams)]
    each = np.array([results.utility.mean(axis=0) for results in drawn])
    means = each.mean(axis=1)
    return Estimate(
        mean=float(means.mean()),
        standard_error=float(means.std(ddof=1)) / sqrt(teams) if teams > 1 else nan,
        accuracy=float(np.mean([results.right.mean() for results in drawn])),
        cost=float(np.mean([results.cost.mean() for results in drawn])),
        question_error=float(each.mean(axis=0).std(ddof=1)) / sqrt(each.shape[1]),
    )
