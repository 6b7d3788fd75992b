import pytest
from world_cases import choice_tasks, code_task, maths_task

from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.simulated_answers import (
    read_answer,
    render_answer,
    stray_answers,
    wrong_answers,
)
from hieramas_lib.llms.simulated_plans import judge_plan, write_plan
from hieramas_lib.llms.simulated_texts import write_answer, write_blank
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import Task

TASKS = [choice_tasks(2)[1], maths_task(), code_task()]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
@pytest.mark.parametrize("duty", ["solver", "expert", "checker", "planner"])
@pytest.mark.parametrize("style", ["answer only", "step by step"])
def test_a_written_answer_is_read_back(task: Task, duty: str, style: str) -> None:
    for answer in (task.gold, *wrong_answers(task)):
        for wording in (0.01, 0.5, 0.99):
            text = write_answer(task, answer, Header("R", "alone", style), duty, wording)
            assert read_answer(task, text) == answer


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_blanks_and_plans_hold_no_answer(task: Task) -> None:
    for text in (write_blank(0.1), write_blank(0.9)):
        assert read_answer(task, text) is None
    for sound in (True, False):
        assert read_answer(task, write_plan(task, sound, 1)) is None


def test_wrong_answers_leave_out_the_gold_and_put_tempting_ones_first() -> None:
    task = Task("t", "b", "choice", "law", "?", "B", ("w", "x", "y", "z"), tempting=("D",))
    assert wrong_answers(task) == ("D", "C", "A")
    assert wrong_answers(maths_task()) == ("48",)
    plain = Task("t", "b", "maths", "algebra", "?", "-5")
    assert wrong_answers(plain) == ("-4", "-6", "-7")
    assert wrong_answers(Task("t", "b", "maths", "algebra", "?", "1")) == ("2", "0", "5")
    assert "0" not in wrong_answers(Task("t", "b", "maths", "algebra", "?", "x+1", tempting=("x",)))


@pytest.mark.parametrize("gold", ["-3", "-2", "0", "1.0", "x = 2", r"\frac{0}{3}", "(0, 1, 2)"])
def test_wrong_answers_to_a_maths_task_are_wrong(gold: str) -> None:
    task = Task("t", "b", "maths", "algebra", "?", gold)
    assert len(set(wrong_answers(task))) == len(wrong_answers(task)) >= 2
    for wrong in wrong_answers(task):
        assert grade(task, render_answer(task, wrong)).status == "wrong", wrong


def test_strays_are_numbers_that_nobody_else_gives() -> None:
    plain = Task("t", "b", "maths", "algebra", "?", "5", tempting=("7", "3"))
    assert stray_answers(plain)[:4] == ("8", "2", "9", "1")
    assert len(set(stray_answers(plain))) == 20
    assert not {"5", "7", "3"} & set(stray_answers(plain))
    based = Task("t", "b", "maths", "number_theory", "?", "14_{7}", tempting=("10",))
    assert not {"14", "7", "10"} & set(stray_answers(based))
    assert stray_answers(code_task()) == stray_answers(choice_tasks(1)[0]) == ()


def test_strays_are_graded_as_wrong_and_read_back() -> None:
    for task in load_tasks("maths")[::5]:
        for stray in stray_answers(task)[::9]:
            text = write_answer(task, stray, Header("R", "alone"), "solver", 0.5)
            assert read_answer(task, text) == stray
            assert grade(task, text).status == "wrong", (task.id, stray)


def test_spelling_does_not_hide_a_known_answer() -> None:
    fraction = Task("t", "b", "maths", "algebra", "?", r"\frac{1}{2}", tempting=("2",))
    assert read_answer(fraction, r"Answer: \boxed{\dfrac{1}{ 2}}") == fraction.gold
    code = "Here it is.\n```python\n# twice\ndef double(x):\n\n    return (2*x)\n```"
    assert read_answer(code_task(), code) == code_task().gold


def test_an_answer_never_heard_of_is_kept_as_it_stands() -> None:
    assert read_answer(maths_task(), r"Answer: \boxed{17}") == "17"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_a_plan_is_judged_by_its_wording_alone(task: Task) -> None:
    sound, unsound = write_plan(task, True, 1), write_plan(task, False, 1)
    assert sound != unsound
    assert judge_plan(task, sound, 1) is True
    assert judge_plan(task, unsound, 1) is False
    assert judge_plan(task, "Plan: do as you like. Then stop.", 1) is None
    assert judge_plan(task, render_answer(task, task.gold), 1) is None


def test_no_wording_is_sound_for_every_task() -> None:
    plans = {write_plan(task, True, 1) for task in choice_tasks(40)}
    assert plans & {write_plan(task, False, 1) for task in choice_tasks(40)}
    assert len(plans) > 3
