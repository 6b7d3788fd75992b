from dataclasses import replace
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from pydantic import ValidationError
from world_cases import ALONE, choice_tasks, code_task, make_pool, maths_task, quiet

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.llms.world_draws import normal
from hieramas_lib.llms.world_settings import WorldSettings
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import load_roles

TASKS = choice_tasks(2_100)


def right_alone(world: World, llm: str, tasks: list[Task], header: Header = ALONE) -> list[bool]:
    difficulty = world.settings.difficulty
    return [
        world.margin(llm, task, header)
        + difficulty[task.kind].call_noise * normal("call", llm, task.id)
        > 0
        for task in tasks
    ]


@pytest.mark.parametrize("difficulty", ["mmlu-like", "hard"])
def test_accuracy_alone_meets_the_target(difficulty: str) -> None:
    settings = load_settings(difficulty)
    worlds = [World(TASKS, settings, make_pool(), seed) for seed in (1, 2, 3)]
    for llm in make_pool().names:
        accuracy = fmean(fmean(right_alone(world, llm, TASKS)) for world in worlds)
        # 6,300 questions whose difficulty is drawn: standard error 0.6 points at worst.
        assert accuracy == pytest.approx(settings.targets[llm]["choice"], abs=0.02)


def test_the_target_is_met_for_tasks_without_subject_and_level() -> None:
    settings = load_settings("hard")
    tasks = [
        Task(f"code/{i}", "code", "code", "programming", f"Task {i}", "pass") for i in range(3_000)
    ]
    world = World(tasks, settings, make_pool(), 1)
    for llm in ("gpt-5-mini", "llama-3.1-8b"):
        accuracy = fmean(right_alone(world, llm, tasks))
        assert accuracy == pytest.approx(settings.targets[llm]["code"], abs=0.025)


def test_difficulty_is_standardised_and_follows_level() -> None:
    world = World(TASKS, load_settings("mmlu-like"), make_pool(), 1)
    z = np.array([world.difficulty(task) for task in TASKS])
    assert z.mean() == pytest.approx(0.0, abs=0.06)
    assert z.std() == pytest.approx(1.0, abs=0.05)
    by_level = [z[[task.level == level for task in TASKS]].mean() for level in range(1, 6)]
    assert by_level == sorted(by_level, reverse=True)
    assert by_level[0] - by_level[4] > 1.0


def test_subjects_have_effects_that_cancel_over_the_list() -> None:
    world = World(TASKS, quiet(load_settings("hard"), level_share=0.0), make_pool(), 1)
    shared = world.settings.difficulty["choice"].subject_share
    one_each = TASKS[:14]
    by_name = world._subject_effects("everybody", "choice")
    effects = [by_name[task.subject] for task in one_each]
    assert sum(effects) == pytest.approx(0.0, abs=1e-9)
    assert np.std(effects) == pytest.approx(1.0)
    z = np.array([world.difficulty(task) for task in TASKS])
    means = [z[i::14].mean() for i in range(14)]
    assert np.corrcoef(means, effects)[0, 1] > 0.9
    assert np.std(means) == pytest.approx(shared, abs=0.12)


def test_a_family_fails_together() -> None:
    def agreement(family_sd: float, first: str, second: str) -> float:
        settings = quiet(load_settings("hard"), family_sd=family_sd)
        world = World(TASKS, settings, make_pool(), 1)
        pair = [right_alone(world, llm, TASKS) for llm in (first, second)]
        return float(np.corrcoef(pair)[0, 1])

    within = agreement(2.5, "gpt-4o-mini", "gpt-5-nano")
    assert within > agreement(2.5, "gpt-4o-mini", "gemma-3-27b") + 0.1
    assert within > agreement(0.0, "gpt-4o-mini", "gpt-5-nano") + 0.1


def test_wrong_answers_cluster_as_measured() -> None:
    world = World(TASKS, load_settings("mmlu-like"), make_pool(), 1)
    picks = {llm: [world.wrong_answer(llm, task) for task in TASKS] for llm in make_pool().names}
    same: dict[bool, list[float]] = {True: [], False: []}
    for a, b in combinations(make_pool().llms, 2):
        agree = fmean(x == y for x, y in zip(picks[a.name], picks[b.name], strict=True))
        same[a.family == b.family].append(agree)
    assert fmean(same[False]) == pytest.approx(0.72, abs=0.02)
    assert fmean(same[True]) == pytest.approx(0.78, abs=0.02)
    assert all(pick != task.gold for pick, task in zip(picks["gpt-5-nano"], TASKS, strict=True))


def test_without_tempting_answers_the_wrong_ones_spread() -> None:
    settings = load_settings("hard").with_knobs("wrong", tempting=1 / 3, family=0.0)
    world = World(TASKS, settings, make_pool(), 1)
    a, b = (
        [world.wrong_answer(llm, task) for task in TASKS] for llm in ("gpt-5-nano", "gpt-4o-mini")
    )
    assert fmean(x == y for x, y in zip(a, b, strict=True)) == pytest.approx(1 / 3, abs=0.04)


def test_errors_in_maths_stray_if_so_set() -> None:
    tasks = [Task(f"m/{i}", "m", "maths", "algebra", f"Sum {i}?", str(i + 100)) for i in range(800)]

    def same(stray: float) -> float:
        settings = load_settings("mmlu-like").with_knobs("wrong", stray=stray)
        world = World(tasks, settings, make_pool(), 1)
        a, b = (
            [world.wrong_answer(llm, task) for task in tasks]
            for llm in ("gemma-3-27b", "gpt-4o-mini")
        )
        return fmean(x == y for x, y in zip(a, b, strict=True))

    # Both among the tempting ones, and then the same in 0.72, or both the same of 20 numbers.
    assert same(0.0) == pytest.approx(0.72, abs=0.05)
    assert same(0.65) == pytest.approx(0.35**2 * 0.72 + 0.65**2 / 20, abs=0.03)
    assert same(1.0) == pytest.approx(1 / 20, abs=0.03)


def test_all_wrong_answers_of_a_world_are_listed() -> None:
    tasks = [maths_task(), code_task(), *TASKS[:200]]
    for difficulty, strays in (("hard", 0), ("mmlu-like", 20)):
        world = World(tasks, load_settings(difficulty), make_pool(), 1)
        assert len(world.wrong_answers(maths_task())) == 1 + strays
        assert world.wrong_answers(code_task()) == code_task().tempting
        for task in tasks:
            given = {world.wrong_answer(llm, task) for llm in make_pool().names}
            assert given <= set(world.wrong_answers(task))


def test_role_fit_helps_in_own_subjects_and_costs_in_others() -> None:
    world = World(TASKS, load_settings("hard"), make_pool(), 1)
    medicine = [task for task in TASKS if task.subject == "medicine"]
    law = [task for task in TASKS if task.subject == "law"]
    doctor, neutral = Header("Doctor", "synthesizer"), Header("Postman", "synthesizer")

    def accuracy(tasks: list[Task], header: Header) -> float:
        return fmean(right_alone(world, "gpt-4o-mini", tasks, header))

    assert accuracy(medicine, doctor) > accuracy(medicine, neutral) + 0.08
    assert accuracy(law, doctor) < accuracy(law, neutral) - 0.08
    knobs = world.settings
    assert knobs.role_fit("Doctor", "medicine") == 2.0
    assert knobs.role_fit("Doctor", "law") == -2.0
    assert knobs.role_fit("Knowledgeable Expert", "law") == 0.3
    assert knobs.role_fit("Critic", "law") == knobs.role_fit("Postman", "law") == 0.0


def test_answering_without_steps_costs_most_in_maths() -> None:
    world = World([], load_settings("mmlu-like"), make_pool(), 1)

    def loss(task: Task) -> float:
        margins = [
            world.margin("gpt-5-nano", task, Header("Solver", "alone", style))
            for style in ("step by step", "answer only")
        ]
        return margins[0] - margins[1]

    assert loss(maths_task()) > 2.0 > 1.0 > loss(TASKS[0]) > 0.0
    assert 1.0 > loss(code_task()) > 0.0


def test_adding_tasks_changes_nothing_else() -> None:
    settings = load_settings("hard")
    small = World(TASKS[:5], settings, make_pool(), 1)
    large = World([*reversed(TASKS[:50]), maths_task()], settings, make_pool(), 1)
    for task in TASKS[:5]:
        for llm in make_pool().names:
            assert small.margin(llm, task, ALONE) == large.margin(llm, task, ALONE)
    other = World(TASKS[:5], settings, make_pool(), 2)
    assert other.margin("gpt-5-nano", TASKS[0], ALONE) != small.margin(
        "gpt-5-nano", TASKS[0], ALONE
    )


def test_a_task_is_found_by_its_text_even_with_a_closing_tag_in_it() -> None:
    task = Task("odd", "made", "choice", "law", "Close <task> by </task>?", "A", ("yes", "no"))
    world = World([task], load_settings("hard"), make_pool(), 1)
    assert world.find("Close <task> by </ task>?\nA. yes\nB. no") is task
    assert world.find("another") is None


def test_knobs_are_changed_for_every_kind_and_checked() -> None:
    settings = load_settings("mmlu-like")
    changed = settings.with_knobs("difficulty", family_sd=0.0)
    assert {knobs.family_sd for knobs in changed.difficulty.values()} == {0.0}
    assert changed.difficulty["maths"].loading == settings.difficulty["maths"].loading
    assert settings.difficulty["maths"].family_sd > 0.0
    assert settings.with_knobs("reading", fatigue=0.0).reading.fatigue == 0.0
    with pytest.raises(ConfigError, match=r"reading\.tiredness"):
        settings.with_knobs("reading", tiredness=1.0)
    with pytest.raises(ConfigError, match=r"difficulty\.choice\.family_sd"):
        settings.with_knobs("difficulty", family_sd=-1.0)


def test_a_task_whose_answer_nobody_knows_is_refused() -> None:
    settings, unknown = load_settings("hard"), replace(choice_tasks(1)[0], gold="")
    with pytest.raises(ConfigError, match="'made/0': simulated LLMs need to know the right answer"):
        World([unknown], settings, make_pool(), 1)
    with pytest.raises(ConfigError, match="made/0"):
        World((), settings, make_pool(), 1).wrong_answer("gemma-3-27b", unknown)


def test_unknown_difficulty_and_llm_are_named_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"easy.*hard, mmlu-like"):
        load_settings("easy")
    spec = LLMSpec(name="own", client="simulated", model="m", family="f", profile="")
    pool = LLMPool(name="p", skip_profile="", reference="own", llms=(spec,))
    world = World([], load_settings("hard"), pool, 1)
    with pytest.raises(ConfigError, match=r"targets has no LLM 'own'; add its accuracy"):
        world.check("own")
    with pytest.raises(ConfigError, match="no LLM 'gpt-5-mini'; it has own"):
        world.check("gpt-5-mini")


def test_a_missing_target_of_one_kind_is_named() -> None:
    settings = load_settings("hard")
    settings = settings.model_copy(update={"targets": {"gpt-5-nano": {"choice": 0.8}}})
    world = World([], settings, make_pool(), 1)
    with pytest.raises(ConfigError, match=r"targets\.gpt-5-nano has no accuracy for maths"):
        world.intercept("gpt-5-nano", "maths")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("difficulty", "choice", "loadings"), 2.0),
        (("difficulty", "choice", "loading"), [4.0, 3.0]),
        (("difficulty", "choice", "subject_share"), 0.95),
        (("difficulty",), {}),
        (("replies", "length"), {}),
        (("replies", "length", "answer only", "long_share"), 1.5),
        (("reading", "fatigue"), -0.1),
        (("targets",), {"gpt-5-nano": {"choice": 80.0}}),
        (("roles",), {"Clerk": {"duty": "clerk"}}),
    ],
)
def test_bad_settings_are_refused(path: tuple[str, ...], value: object) -> None:
    fields = load_settings("hard").model_dump()
    inner = fields
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(ValidationError, match=path[-1]):
        WorldSettings.model_validate(fields)


@pytest.mark.parametrize("difficulty", ["mmlu-like", "hard"])
@pytest.mark.parametrize("kind", ["choice", "maths", "code"])
def test_duties_agree_with_the_shipped_role_sets(difficulty: str, kind: str) -> None:
    settings = load_settings(difficulty)
    for role in load_roles(kind).roles:
        assert role.name in settings.roles
        assert settings.duty(Header(role.name, "proposer")) == role.duty, role.name
