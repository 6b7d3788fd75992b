"""Workflows and edits are data: what is malformed is refused, and the field is named."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hieramas_lib.errors import ConfigError
from hieramas_lib.methods.aflow.patch import apply_patch, patch_of, patch_text, read_patch
from hieramas_lib.methods.aflow.proposers import Experience, RandomProposer
from hieramas_lib.methods.aflow.tree import (
    Round,
    parent_candidates,
    parent_probabilities,
    top_mean,
)
from hieramas_lib.methods.aflow.workflow import (
    Generate,
    Review,
    Revise,
    RunExamples,
    Workflow,
    first_workflow,
    read_workflow,
)
from hieramas_lib.methods.run import run

LLMS = ("m", "n")
BASE = Workflow(operators=(Generate(llm="m"), Review(llm="n"), Revise(llm="m")))


def operators(*of: dict) -> dict:
    return {"operators": list(of)}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (operators(), "operators"),
        (operators({"kind": "generate"}), "operators.0.generate.llm"),
        (operators({"kind": "generate", "llm": "x"}), "operators.0.llm"),
        (operators({"kind": "exec", "llm": "m"}), "operators.0"),
        (operators({"kind": "generate", "llm": "m", "samples": 6}), "operators.0.generate.samples"),
        (operators({"kind": "generate", "llm": "m", "code": "1"}), "operators.0.generate.code"),
        (operators({"kind": "review", "llm": "m"}), "operators.0.kind"),
        (operators({"kind": "generate", "llm": "m"}, {"kind": "test", "llm": "m"}),
         "operators.1.kind"),
        (operators(*[{"kind": "generate", "llm": "m"}] * 7), "operators"),
        ([1], ""),
        ({"operators": [{"kind": "generate", "llm": "m"}], "more": 1}, "more"),
    ],
)  # fmt: skip
def test_what_is_no_workflow_is_refused(fields, field: str):
    with pytest.raises(ConfigError) as caught:
        read_workflow(fields, kind="choice", llms=LLMS)
    assert str(caught.value).startswith(field)


def test_a_workflow_survives_json():
    fields = json.loads(BASE.text)
    assert read_workflow(fields, kind="choice", llms=LLMS) == BASE
    tested = Workflow(operators=(Generate(llm="m"), RunExamples(llm="n", repairs=2)))
    assert read_workflow(json.loads(tested.text), kind="code", llms=LLMS) == tested
    assert BASE.most_calls == 3 and tested.most_calls == 3


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("I would add a review.", "patch"),
        ("[not json]", "patch"),
        ("[]", "patch"),
        ('[{"op": "move", "path": "/operators/0"}]', "patch.0"),
        ('[{"op": "remove", "path": "/llms/0"}]', "patch.0.remove.path"),
        ('[{"op": "remove", "path": "/operators/-1"}]', "patch.0.remove.path"),
        ('[{"op": "add", "path": "/operators/1"}]', "patch.0.add.value"),
        ('[{"op": "remove", "path": "/operators/0", "why": "x"}]', "patch.0.remove.why"),
        ("import os; os.system('true')", "patch"),
        (json.dumps([{"op": "remove", "path": "/operators/0"}] * 4), "patch"),
    ],
)
def test_what_is_no_patch_is_refused(text: str, field: str):
    with pytest.raises(ConfigError) as caught:
        read_patch(text)
    assert str(caught.value).startswith(field)


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"op": "remove", "path": "/operators/9"}, "patch.0.path"),
        ({"op": "remove", "path": "/operators/-"}, "patch.0.path"),
        ({"op": "remove", "path": "/operators/0/llm"}, "patch.0.path"),
        ({"op": "add", "path": "/operators/4", "value": {}}, "patch.0.path"),
        ({"op": "replace", "path": "/operators/0/price", "value": 1}, "patch.0.path"),
        ({"op": "replace", "path": "/operators/0/samples", "value": 0},
         "operators.0.generate.samples"),
        ({"op": "replace", "path": "/operators/0/llm", "value": "x"}, "operators.0.llm"),
        ({"op": "replace", "path": "/operators/0", "value": "generate"}, "operators.0"),
        ({"op": "replace", "path": "/operators/0/llm", "value": "m"}, "patch"),
        ({"op": "remove", "path": "/operators/0"}, "operators.0.kind"),
        ({"op": "add", "path": "/operators/1", "value": {"kind": "test", "llm": "m"}},
         "operators.1.kind"),
    ],
)  # fmt: skip
def test_an_edit_that_leads_to_no_workflow_is_refused(step: dict, field: str):
    with pytest.raises(ConfigError) as caught:
        apply_patch(BASE, patch_of([step]), kind="choice", llms=LLMS)
    assert str(caught.value).startswith(field)
    assert BASE.operators[0] == Generate(llm="m")


def test_edits_by_hand():
    def edited(*steps: dict) -> Workflow:
        return apply_patch(BASE, patch_of(list(steps)), kind="choice", llms=LLMS)

    added = edited({"op": "add", "path": "/operators/-", "value": {"kind": "select", "llm": "n"}})
    assert [operator.kind for operator in added.operators] == [
        "generate", "review", "revise", "select"
    ]  # fmt: skip
    shorter = edited(
        {"op": "remove", "path": "/operators/1"},
        {"op": "replace", "path": "/operators/0/samples", "value": 3},
    )
    assert shorter.operators == (Generate(llm="m", samples=3), Revise(llm="m"))
    other = edited({"op": "replace", "path": "/operators/1", "value": {"kind": "generate",
                                                                       "llm": "n"}})  # fmt: skip
    assert other.operators[1] == Generate(llm="n")


def test_a_patch_is_found_in_a_model_s_answer():
    text = 'Here it is:\n```json\n[{"op": "remove", "path": "/operators/1"}]\n```\nIt is smaller.'
    assert patch_text(read_patch(text)) == '[{"op": "remove", "path": "/operators/1"}]'


def a_round(number: int, score: float, workflow: Workflow = BASE, cost: float = 1.0) -> Round:
    return Round(
        number=number, parent=None, edit=(), workflow=workflow, score=score, accuracy=score,
        cost=cost,
    )  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["choice", "code"]))
def test_random_edits_are_valid_and_new_edits_of_edits_too(seed: int, kind: str):
    proposer = RandomProposer(kind, LLMS, np.random.default_rng(seed))
    workflow = first_workflow("m")
    for number in range(4):
        text = run(proposer.propose(Experience(a_round(1, 0.5, workflow), (), (), (), number)))
        edited = apply_patch(workflow, read_patch(text), kind=kind, llms=LLMS)
        assert edited != workflow
        workflow = edited


def test_random_edits_follow_the_seed():
    def texts(seed: int) -> list[str]:
        proposer = RandomProposer("choice", LLMS, np.random.default_rng(seed))
        told = Experience(a_round(1, 0.5), (), (), (), 0)
        return [run(proposer.propose(told)) for _ in range(8)]

    assert texts(1) == texts(1) != texts(2)


def test_the_parent_s_choice_by_hand():
    """0.3 / n + 0.7 · softmax of a fifth of the points of accuracy."""
    chances = parent_probabilities([0.60, 0.65, 0.70])
    weights = np.exp([-2.0, -1.0, 0.0])
    assert chances == pytest.approx(0.1 + 0.7 * weights / weights.sum())
    assert parent_probabilities([0.4]) == pytest.approx([1.0])


def test_the_start_is_always_a_candidate():
    rounds = [a_round(i + 1, score) for i, score in enumerate((0.1, 0.5, 0.9, 0.7, 0.6, 0.8))]
    assert [each.number for each in parent_candidates(rounds, 4)] == [1, 3, 6, 4]
    assert top_mean(rounds) == pytest.approx(0.8)
