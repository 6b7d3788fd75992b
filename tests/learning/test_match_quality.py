"""d' of matches small enough to work out by hand."""

from math import isnan

import pytest
import torch

from hieramas_lib.learning.match_quality import margin_match, own_questions, sensitivity
from hieramas_lib.llms.world import load_settings
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.roles import load_roles


def test_sensitivity_by_hand():
    """Own 3 and 5, others 0 and 2: means 4 and 1, both variances 2, so 3 / sqrt 2."""
    match = torch.tensor([[3.0, 1.0], [5.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    own = torch.tensor([[True, True], [True, False], [False, False], [False, False]])
    first, second = sensitivity(match, own)
    assert first == pytest.approx(3 / 2**0.5)
    assert isnan(second)  # one question of its own is too few


def test_the_margin_is_over_the_best_of_the_others():
    match = torch.tensor([[3.0, 1.0, 2.0], [0.0, 0.0, -1.0]])
    assert margin_match(match).tolist() == [[1.0, -2.0, -1.0], [0.0, 0.0, -1.0]]


def test_own_questions_are_those_of_the_worlds_subjects():
    roles, tasks = load_roles("choice"), load_tasks("knowledge", "train")
    own = own_questions(load_settings("hard"), roles, tasks)
    lawyer = own[:, roles.names.index("Lawyer")]
    assert {task.subject for task, yes in zip(tasks, lawyer, strict=True) if yes} == {"law"}
    assert not own[:, roles.names.index("Critic")].any()
