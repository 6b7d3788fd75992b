"""A member that goes wrong: who, how, and that nothing else changes."""

import asyncio
from collections import Counter

import pytest
from world_cases import ask, choice_tasks, code_task, make_pool, maths_task

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.faulty_service import REFUSAL, Fault, FaultyService, draw_member
from hieramas_lib.llms.layout import Header
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.task import Task

SOLVER, CHECKER = Header("Solver", "proposer"), Header("Checker", "synthesizer")
TASK = choice_tasks(1)[0]


def service(*tasks: Task, known: tuple[Task, ...] | None = None) -> FaultyService:
    pool = make_pool()
    llms = connect(pool, world=World(tasks, load_settings("hard"), pool, seed=0))
    return FaultyService(llms, tasks if known is None else known)


def answer(llms: FaultyService, request: ChatRequest) -> Completion:
    return asyncio.run(llms.complete(request))


@pytest.mark.parametrize("task", [TASK, maths_task(), code_task()], ids=lambda task: task.kind)
def test_a_wrong_member_gives_a_wrong_answer_that_can_be_read(task: Task) -> None:
    llms = service(task)
    with llms.fault(Fault("wrong", {task.id: "Solver"})):
        completion = answer(llms, ask("gpt-5-mini", task, SOLVER))
    verdict = grade(task, completion.text)
    assert verdict.status == "wrong" and completion.finish_reason == "stop"


def test_a_refusal_is_marked_and_noise_gives_no_answer() -> None:
    llms, request = service(TASK), ask("gpt-5-mini", TASK, SOLVER)
    with llms.fault(Fault("refusal", {TASK.id: "Solver"})):
        refused = answer(llms, request)
    with llms.fault(Fault("noise", {TASK.id: "Solver"})):
        noise, again = answer(llms, request), answer(llms, request)
    assert (refused.text, refused.finish_reason) == (REFUSAL, "refusal")
    assert grade(TASK, noise.text).status == "unparsed"
    assert sorted(noise.text.split()) == ["Question", "which"]
    assert noise.text == again.text


def test_only_the_text_changes_and_only_for_the_member_and_while_it_acts() -> None:
    llms = service(TASK)
    mine, other = ask("gpt-5-mini", TASK, SOLVER), ask("gpt-5-mini", TASK, CHECKER)
    before = answer(llms, mine), answer(llms, other)
    with llms.fault(Fault("refusal", {TASK.id: "Solver"})):
        during = answer(llms, mine), answer(llms, other)
        assert llms.exchanged == 1
    after = answer(llms, mine), answer(llms, other)
    money = [(c.cost_usd, c.prompt_tokens, c.completion_tokens, c.request_key) for c in during]
    assert during[0].text != before[0].text and during[1].text == before[1].text
    assert money == [
        (c.cost_usd, c.prompt_tokens, c.completion_tokens, c.request_key) for c in before
    ]
    assert [c.text for c in after] == [c.text for c in before]  # the store kept the LLM's own


def test_one_sample_of_a_member_can_go_wrong_alone() -> None:
    llms = service(TASK)
    with llms.fault(Fault("refusal", {TASK.id: "Solver"}, sample=1)):
        texts = [answer(llms, ask("gpt-5-mini", TASK, SOLVER, sample=s)).text for s in range(3)]
    assert [text == REFUSAL for text in texts] == [False, True, False]


def test_the_member_is_drawn_for_each_task_and_all_are_drawn() -> None:
    roles = ("Solver", "Checker", "Critic")
    ids = [task.id for task in choice_tasks(300)]
    drawn = Counter(draw_member(task, roles, seed=3) for task in ids)
    assert min(drawn.values()) > 70 and len(drawn) == 3
    others = [draw_member(task, roles, seed=4) for task in ids]
    assert others != [draw_member(task, roles, seed=3) for task in ids]


def test_nobody_goes_wrong_on_tasks_without_a_member() -> None:
    llms = service(TASK)
    with llms.fault(Fault("refusal", {"another": "Solver"})):
        assert answer(llms, ask("gpt-5-mini", TASK, SOLVER)).finish_reason == "stop"
    assert llms.exchanged == 0


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match="wrong, refusal, noise"):
        Fault("lazy", {})  # type: ignore[arg-type]
    llms = service(TASK, known=())
    with (
        llms.fault(Fault("wrong", {TASK.id: "Solver"})),
        pytest.raises(ConfigError, match="was not given to FaultyService"),
    ):
        answer(llms, ask("gpt-5-mini", TASK, SOLVER))
    with (
        llms.fault(Fault("wrong", {TASK.id: "Solver"})),
        pytest.raises(ConfigError, match="one at a time"),
        llms.fault(Fault("noise", {TASK.id: "Solver"})),
    ):
        pass
