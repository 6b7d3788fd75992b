"""What there is to be reached in a lab's world: anchors, the best constant team, the best ones."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hieramas_lib.experiments.learning_curve.lab import REPETITIONS, Lab, Trial
from hieramas_lib.experiments.learning_curve.rollouts import as_arrays
from hieramas_lib.teams.oracle.anchors import Anchors
from hieramas_lib.teams.oracle.best_team import best_by_subject, best_team
from hieramas_lib.teams.oracle.estimate import Estimate
from hieramas_lib.teams.oracle.options import TeamOptions
from hieramas_lib.teams.symbolic.replay import SymbolicTeams
from hieramas_lib.teams.team import Team

_SEARCH_SEED, _DRAWS = 5, 2


@dataclass(frozen=True)
class Optimum:
    """The four anchors, and what may be reached besides, on a lab's held-out questions.

    Attributes:
        anchors: Random policy, decision alone, strongest LLM alone.
        best: The best constant team found, graph included: a lower bound of the best there is.
        by_subject: The best team found for each subject, likewise; None if it was not searched.
        base_unseen: The strongest LLM alone on questions of unseen subjects.
        best_unseen: The best constant team there, which was not searched there.
    """

    anchors: Anchors
    best: Estimate
    by_subject: Estimate | None
    base_unseen: Estimate
    best_unseen: Estimate


def find_anchors(lab: Lab) -> Anchors:
    """Evaluate the three anchors that need no search, on the lab's held-out questions."""
    options = _options(lab)
    judge = _symbolic(lab, lab.questions.judge, draws=_DRAWS)
    alone = {llm: judge.alone(llm).estimate() for llm in options.llms}
    strongest = max(alone, key=lambda llm: alone[llm].accuracy)
    seen = lab.seen
    return Anchors(
        random=_random(lab, seen),
        decision_alone=_evaluate(lab, seen, [options.alone()] * len(seen.tasks)),
        strongest=strongest,
        strongest_alone=alone[strongest],
    )


def find_optimum(lab: Lab, *, subjects: bool = True) -> Optimum:
    """Search and evaluate; ``subjects`` says whether a team for each subject is searched, too."""
    options, anchors = _options(lab), find_anchors(lab)
    search = _symbolic(lab, lab.questions.search, draws=1)
    judge = _symbolic(lab, lab.questions.judge, draws=_DRAWS)
    unseen = _symbolic(lab, lab.questions.unseen, draws=_DRAWS)
    constant = best_team(options, search, judge, lab.settings).team
    by_subject = None
    if subjects:
        chosen, _ = best_by_subject(options, search, judge, lab.settings, constant)
        teams = [chosen[task.subject].team for task in lab.seen.tasks]
        by_subject = _evaluate(lab, lab.seen, teams)
    seen = lab.seen
    return Optimum(
        anchors=anchors,
        best=_evaluate(lab, seen, [constant] * len(seen.tasks)),
        by_subject=by_subject,
        base_unseen=unseen.alone(anchors.strongest).estimate(),
        best_unseen=_evaluate(lab, lab.unseen, [constant] * len(lab.unseen.tasks)),
    )


def _options(lab: Lab) -> TeamOptions:
    space = lab.space
    return TeamOptions(
        space.roles, space.actions.llms, space.actions.width, space.graphs.topologies,
        space.decision, space.reads,
    )  # fmt: skip


def _symbolic(lab: Lab, tasks: tuple, draws: int) -> SymbolicTeams:
    return SymbolicTeams(
        lab.world, lab.pool, lab.space.roles, tasks, draws=draws, seed=_SEARCH_SEED
    )


def _random(lab: Lab, trial: Trial) -> Estimate:
    """Any LLM or SKIP in any position with equal probability, anew for every question."""
    space, generator = lab.space.actions, torch.Generator().manual_seed(trial.seed)
    shape = (len(trial.column), len(lab.space.roles.roles), space.positions)
    return lab.results(torch.randint(space.actions, shape, generator=generator), trial).estimate()


def _evaluate(lab: Lab, trial: Trial, teams: list[Team]) -> Estimate:
    """Try a team for each question, on the team's own graph."""
    arrays = as_arrays(np.arange(len(teams)), teams, lab.pool.names)
    index = {graph.id: i for i, graph in enumerate(lab.space.graphs)}
    graphs = np.array([index[team.topology.id] for team in teams])
    actions: Tensor = torch.from_numpy(arrays.actions).repeat(REPETITIONS, 1, 1)
    repeated: NDArray[np.intp] = np.tile(graphs, REPETITIONS)
    return lab.results(actions, trial, repeated).estimate()
