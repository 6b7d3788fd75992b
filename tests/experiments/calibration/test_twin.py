import numpy as np
import pytest

from hieramas_lib.experiments.calibration.real_outcomes import Outcomes
from hieramas_lib.experiments.calibration.twin import Twin
from hieramas_lib.llms.simulated_answers import read_answer
from hieramas_lib.llms.world import load_settings
from hieramas_lib.tasks.load import load_tasks

ACCURACIES = {"one": 0.9, "two": 0.7, "three": 0.5}
FAMILIES = ("x", "x", "y")


@pytest.mark.parametrize("difficulty", ["hard", "mmlu-like"])
@pytest.mark.parametrize("name", ["knowledge", "maths", "humaneval"])
def test_a_twin_answers_as_the_client_does(difficulty: str, name: str) -> None:
    tasks = load_tasks(name)[::3]
    settings = load_settings(difficulty).with_knobs("replies", blank_rate=0.1)
    twin = Twin(ACCURACIES, FAMILIES, tasks, settings, seed=5)
    answers = twin.answers(twin.right())
    for llm in range(3):
        told = twin.ask_client(llm, range(len(tasks)))
        expected = [
            read_answer(t, f"```python\n{a}\n```") if a and t.kind == "code" else a or None
            for t, a in zip(tasks, answers[llm].tolist(), strict=True)
        ]
        assert told == expected


def test_right_is_the_gold_answer_and_blank_is_none() -> None:
    tasks = load_tasks("knowledge")
    settings = load_settings("hard").with_knobs("replies", blank_rate=0.2)
    twin = Twin(ACCURACIES, FAMILIES, tasks, settings, seed=1)
    right = twin.right()
    answers = twin.answers(right)
    gold = np.array([task.gold for task in tasks])
    assert ((answers == gold) == right).all()
    assert (answers == "").mean() == pytest.approx(0.2, abs=0.04)


def test_repetitions_and_parts_of_the_pool() -> None:
    tasks = load_tasks("knowledge")
    twin = Twin(ACCURACIES, FAMILIES, tasks, load_settings("hard"), seed=1)
    assert (twin.right(("two",))[0] == twin.right()[1]).all()
    changed = (twin.right(sample=1) != twin.right()).mean()
    assert 0.0 < changed < 0.1


def test_the_twin_of_a_table_has_its_accuracies_and_families() -> None:
    tasks = load_tasks("maths")
    right = np.random.default_rng(0).random((2, len(tasks))) < np.array([[0.9], [0.3]])
    real = Outcomes("made", "maths", ("a", "b"), ("x", "y"), tuple(tasks), right)
    settings = load_settings("mmlu-like")
    worlds = [Twin.of(real, settings, seed).right().mean(axis=1) for seed in range(20)]
    assert np.mean(worlds, axis=0) == pytest.approx(right.mean(axis=1), abs=0.04)
    assert [s.family for s in Twin.of(real, settings, 1).pool.llms] == ["x", "y"]
