"""Every knob causes what it says: the named effect is there at its value and gone at zero.

Blank replies and the noise of calls are off, so that without an effect answers are equal one by
one, not only on average.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from world_cases import ask, choice_tasks, make_pool, quiet, replies

from hieramas_lib.experiments.calibration.outcome_statistics import agreement, interaction_sd
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.simulated_answers import read_answer
from hieramas_lib.llms.simulated_plans import write_plan
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task

Rights = NDArray[np.bool_]

TASKS = choice_tasks(700)
HARD = quiet(load_settings("hard"), call_noise=0.0)
SOLVER, CHECKER = Header("Solver", "synthesizer"), Header("Critic", "synthesizer")


def right(
    settings: WorldSettings,
    header: Header = SOLVER,
    read: Callable[[Task], Sequence[Section]] = lambda task: (),
    *,
    llm: str = "gemma-3-27b",
    tasks: Sequence[Task] = TASKS,
) -> Rights:
    """Which tasks ``llm`` gets right in this role after reading."""
    world = World(tasks, settings, make_pool(), 1)
    completions = replies(world, [ask(llm, task, header, read(task)) for task in tasks])
    answers = [read_answer(t, c.text) for t, c in zip(tasks, completions, strict=True)]
    return np.array([answer == task.gold for answer, task in zip(answers, tasks, strict=True)])


def able(settings: WorldSettings, llms: Sequence[str], tasks: Sequence[Task] = TASKS) -> Rights:
    """Which tasks these LLMs get right without reading anything, shape ``[LLMs, tasks]``."""
    world = World(tasks, settings, make_pool(), 1)
    return np.array([[world.margin(llm, task, SOLVER) > 0.0 for task in tasks] for llm in llms])


def proposals(*letters: str) -> list[Section]:
    return [Section("proposal", f"Answer: {letter}", str(i)) for i, letter in enumerate(letters)]


def wrong_letter(task: Task) -> str:
    """The most tempting one."""
    return "ABCD"["ABCD".index(task.gold) - 3]


def three_wrong(task: Task) -> list[Section]:
    return proposals(*3 * [wrong_letter(task)])


def one_right_of_three(task: Task) -> list[Section]:
    return proposals(task.gold, *2 * [wrong_letter(task)])


def twelve_empty(task: Task) -> list[Section]:
    return [Section("message", "I cannot say.", f"Role {i}") for i in range(12)]


def test_alone_the_margin_decides() -> None:
    llm = "gemma-3-27b"
    assert (right(HARD, llm=llm) == able(HARD, (llm,))[0]).all()


def test_persuasion_makes_a_reader_follow_agreeing_errors() -> None:
    settings = HARD.with_knobs("reading", fatigue=0.0)
    none = settings.with_knobs("reading", persuasion=0.0)
    alone = right(settings)
    assert right(settings, read=three_wrong).mean() < alone.mean() - 0.15
    assert (right(none, read=three_wrong) == alone).all()


def test_persuasion_grows_with_the_number_of_copies() -> None:
    settings = HARD.with_knobs("reading", fatigue=0.0)
    after = [
        right(settings, read=lambda task, n=n: proposals(*n * [wrong_letter(task)])).mean()
        for n in (0, 1, 3, 7)
    ]
    assert after == sorted(after, reverse=True) and after[0] - after[3] > 0.25


def test_doubt_protects_from_what_one_would_not_have_thought_of() -> None:
    def least_tempting(task: Task) -> list[Section]:
        return proposals(*3 * ["ABCD"["ABCD".index(task.gold) - 1]])

    trusting, doubting = (
        right(HARD.with_knobs("reading", doubt=doubt), read=least_tempting) for doubt in (0.0, 2.0)
    )
    assert doubting.mean() > trusting.mean() + 0.1
    assert (doubting >= trusting).all()


def test_recognition_picks_the_right_answer_out_of_a_wrong_majority() -> None:
    settings = HARD.with_knobs("reading", fatigue=0.0)
    none = settings.with_knobs("reading", recognition=0.0)
    gain = right(settings, read=one_right_of_three).mean() - right(settings).mean()
    assert gain > 0.1
    assert right(none, read=one_right_of_three).mean() < right(settings).mean() - 0.02


def test_fatigue_makes_long_contexts_cost() -> None:
    alone = right(HARD)
    assert right(HARD, read=twelve_empty).mean() < alone.mean() - 0.08
    rested = HARD.with_knobs("reading", fatigue=0.0)
    assert (right(rested, read=twelve_empty) == alone).all()


@pytest.mark.parametrize(("sound", "knob", "sign"), [(True, "sound_plan", 1),
                                                    (False, "unsound_plan", -1)])  # fmt: skip
def test_a_plan_moves_its_reader(sound: bool, knob: str, sign: int) -> None:
    settings = HARD.with_knobs("reading", fatigue=0.0)

    def with_plan(task: Task) -> list[Section]:
        return [Section("message", write_plan(task, sound, 1), "Project Manager")]

    alone = right(settings)
    moved = right(settings, read=with_plan)
    assert sign * (moved.mean() - alone.mean()) > 0.03
    assert (moved >= alone).all() if sound else (moved <= alone).all()
    none = settings.with_knobs("reading", **{knob: 0.0})
    assert (right(none, read=with_plan) == alone).all()


def test_a_planner_gives_no_answer_and_plans_as_well_as_it_could_solve() -> None:
    plain = HARD.with_knobs("difficulty", role_noise=0.0)
    world = World(TASKS, plain, make_pool(), 1)
    planner = Header("Project Manager", "synthesizer")
    texts = [c.text for c in replies(world, [ask("gemma-3-27b", t, planner) for t in TASKS])]
    assert all(read_answer(task, text) is None for task, text in zip(TASKS, texts, strict=True))
    sound = [text == write_plan(task, True, 1) for task, text in zip(TASKS, texts, strict=True)]
    assert (np.array(sound) == right(plain)).all()


def test_a_checker_finds_less_judges_better_and_is_swayed_less() -> None:
    settings = HARD.with_knobs("difficulty", role_noise=0.0)
    none = settings.with_knobs("checker", production=0.0, recognition=0.0, persuasion=1.0)
    assert right(settings, CHECKER).mean() < right(settings, SOLVER).mean() - 0.05
    for read in (lambda task: (), three_wrong, one_right_of_three):
        assert (right(none, CHECKER, read) == right(none, SOLVER, read)).all()
    only = none.with_knobs("checker", recognition=1.0)
    assert right(only, CHECKER, one_right_of_three).mean() > (
        right(only, SOLVER, one_right_of_three).mean() + 0.04
    )
    firm = none.with_knobs("checker", persuasion=0.6)
    assert right(firm, CHECKER, three_wrong).mean() > right(firm, SOLVER, three_wrong).mean() + 0.04


def test_role_fit_separates_own_from_other_subjects() -> None:
    medicine, law = (
        [t for t in choice_tasks(4_200) if t.subject == s] for s in ("medicine", "law")
    )
    settings = HARD.with_knobs("difficulty", role_noise=0.0)
    none = settings.with_knobs("fit", own=0.0, other=0.0)
    doctor = Header("Doctor", "synthesizer")
    for tasks, sign in ((medicine, 1), (law, -1)):
        plain = right(settings, tasks=tasks)
        assert sign * (right(settings, doctor, tasks=tasks).mean() - plain.mean()) > 0.1
        assert (right(none, doctor, tasks=tasks) == plain).all()


def test_an_expert_for_everything_is_no_worse_elsewhere() -> None:
    law = [task for task in choice_tasks(4_200) if task.subject == "law"]
    settings = HARD.with_knobs("difficulty", role_noise=0.0)
    expert = right(settings, Header("Knowledgeable Expert", "synthesizer"), tasks=law)
    assert (expert >= right(settings, tasks=law)).all()


def test_subject_strengths_differ_between_llms() -> None:
    def strengths(sd: float) -> float:
        settings = HARD.with_knobs("difficulty", interaction_sd=sd)
        tasks = choice_tasks(2_800)
        rights = able(settings, make_pool().names, tasks)
        return interaction_sd(rights, [task.subject for task in tasks])

    assert strengths(0.67) > 0.04
    assert strengths(0.0) < 0.025


def test_some_subjects_are_hard_for_everybody() -> None:
    def spread(share: float) -> float:
        settings = HARD.with_knobs("difficulty", subject_share=share, interaction_sd=0.0)
        rights = able(settings, make_pool().names).mean(axis=0)
        return float(np.std([rights[i::14].mean() for i in range(14)]))

    assert spread(0.6) > spread(0.0) + 0.05


def test_families_fail_together_and_only_then_mean_anything() -> None:
    llms = ("gpt-5-nano", "gpt-4o-mini", "gemma-3-27b", "llama-3.1-8b")
    families = ("openai", "openai", "gemma", "llama")

    def kinship(sd: float) -> float:
        settings = HARD.with_knobs("difficulty", family_sd=sd)
        phi = agreement(able(settings, llms), families)
        return phi["phi, same family"] - phi["phi, other families"]

    assert kinship(1.3) > 0.06
    assert abs(kinship(0.0)) < 0.06


def test_a_second_llm_of_the_family_adds_what_only_it_knows() -> None:
    def gain(residual: float) -> float:
        settings = HARD.with_knobs("difficulty", residual=residual, role_noise=0.0)
        first, second = able(settings, ("gpt-5-nano", "gpt-4o-mini"))
        return float((first | second).mean() - max(first.mean(), second.mean()))

    assert gain(1.0) > gain(0.05) + 0.03


def test_another_prompt_is_another_chance_and_asking_again_is_a_small_one() -> None:
    other = Header("Postman", "synthesizer")
    assert (right(HARD) != right(HARD, other)).mean() > 0.04
    fixed = HARD.with_knobs("difficulty", role_noise=0.0)
    assert (right(fixed) == right(fixed, other)).all()
    noisy = HARD.with_knobs("difficulty", call_noise=0.35)
    silent = [Section("message", "", "Role 1")]
    rested = noisy.with_knobs("reading", fatigue=0.0)
    changed = (right(rested) != right(rested, read=lambda task: silent)).mean()
    assert 0.005 < changed < 0.1


def test_leaving_out_the_steps_costs() -> None:
    short = Header("Solver", "synthesizer", "answer only")
    assert right(HARD, short).mean() < right(HARD).mean() - 0.01
    assert (right(HARD, short) <= right(HARD)).all()
    free = HARD.with_knobs("difficulty", answer_only=0.0)
    assert (right(free, short) == right(free)).all()
