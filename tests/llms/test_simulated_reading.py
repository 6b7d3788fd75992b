import pytest
from world_cases import choice_tasks

from hieramas_lib.llms.layout import Duty, Section
from hieramas_lib.llms.simulated_plans import write_plan
from hieramas_lib.llms.simulated_reading import Evidence, choose_answer, read_evidence
from hieramas_lib.llms.world import load_settings
from hieramas_lib.llms.world_settings import WorldSettings

KNOBS = load_settings("hard")
NOTHING = KNOBS.model_copy(
    update={
        "reading": KNOBS.reading.model_copy(
            update=dict.fromkeys(KNOBS.reading.__class__.model_fields, 0.0)
        ),
        "checker": KNOBS.checker.model_copy(
            update={"production": 0.0, "recognition": 0.0, "persuasion": 1.0}
        ),
    }
)


def answer(
    margin: float, evidence: Evidence, duty: Duty = "solver", knobs: WorldSettings = KNOBS
) -> str:
    return choose_answer("A", "B", margin, evidence, duty, knobs)


def needed(evidence: Evidence, duty: Duty = "solver", knobs: WorldSettings = KNOBS) -> float:
    """The margin, up to 0.05, from which on the right answer is given."""
    margins = [step / 10 + 0.05 for step in range(-100, 101)]
    given = [answer(margin, evidence, duty, knobs) == "A" for margin in margins]
    assert given == sorted(given), "being more able must not hurt"
    return margins[given.index(True)] - 0.05


def test_alone_the_sign_of_the_margin_decides() -> None:
    assert answer(0.01, Evidence({})) == "A"
    assert answer(-0.01, Evidence({})) == "B"


def test_sections_are_read_as_votes_and_plans() -> None:
    task = choice_tasks(1)[0]
    sections = [
        Section("task", task.statement),
        Section("message", "Answer: A", "Critic"),
        Section("proposal", "So it is.\n\nAnswer: C", "1"),
        Section("proposal", "Answer: C", "2"),
        Section("message", "no idea", "Doctor"),
        Section("message", write_plan(task, True, 5), "Project Manager"),
    ]
    evidence = read_evidence(task, sections, 5)
    assert dict(evidence.votes) == {"A": 1, "C": 2}
    assert evidence.read == 5
    assert evidence.plans == {True}


def test_a_right_answer_read_is_recognised_and_a_wrong_majority_persuades() -> None:
    # recognition 1.75 + kappa log2(2) - fatigue 0.1
    assert needed(Evidence({"A": 1}, 1)) == pytest.approx(-2.65, abs=0.06)
    # kappa log2(4) for the wrong answer that the reader thinks of too, fatigue 0.3
    assert needed(Evidence({"B": 3}, 3)) == pytest.approx(2.3, abs=0.06)
    # a wrong answer it would not have thought of starts at -doubt 0.5
    assert needed(Evidence({"C": 3}, 3)) == pytest.approx(1.8, abs=0.06)
    assert answer(1.0, Evidence({"C": 3}, 3)) == "C"


def test_more_votes_persuade_more() -> None:
    right = [needed(Evidence({"A": n}, 8)) for n in range(1, 8)]
    wrong = [needed(Evidence({"B": n}, 8)) for n in range(1, 8)]
    assert right == sorted(right, reverse=True) and right[0] > right[-1]
    assert wrong == sorted(wrong) and wrong[0] < wrong[-1]


def test_every_text_read_tires() -> None:
    assert needed(Evidence({}, 8)) == pytest.approx(0.8, abs=0.06)
    assert needed(Evidence({}, 8), knobs=NOTHING) == needed(Evidence({}), knobs=NOTHING)


def test_a_checker_produces_worse_recognises_better_and_is_swayed_less() -> None:
    assert needed(Evidence({}), "checker") > needed(Evidence({})) + 0.8
    seen = Evidence({"A": 1, "B": 3}, 4)
    assert needed(seen, "checker") < needed(seen)
    swayed = needed(Evidence({"B": 7}, 7)) - needed(Evidence({}, 7))
    swayed_checker = needed(Evidence({"B": 7}, 7), "checker") - needed(Evidence({}, 7), "checker")
    assert swayed_checker == pytest.approx(0.6 * swayed, abs=0.11)


def test_plans_help_if_sound() -> None:
    plain = needed(Evidence({}, 1))
    assert needed(Evidence({}, 1, frozenset({True}))) == pytest.approx(plain - 1.0, abs=0.06)
    assert needed(Evidence({}, 1, frozenset({False}))) == pytest.approx(plain + 0.5, abs=0.06)


def test_with_all_knobs_at_zero_reading_changes_nothing() -> None:
    messages = Evidence({"A": 2, "B": 3, "C": 1}, 8, frozenset({True, False}))
    for duty in ("solver", "checker"):
        for margin in (-0.4, 0.4):
            assert answer(margin, messages, duty, NOTHING) == answer(margin, Evidence({}))
