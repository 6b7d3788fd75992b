import asyncio
import hashlib
import subprocess
import sys
import time
from statistics import fmean, stdev

import numpy as np
import pytest
from world_cases import (
    ALONE,
    ask,
    choice_tasks,
    code_task,
    make_pool,
    maths_task,
    quiet,
    replies,
    reply,
)

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.chat import ChatRequest, Message
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.simulated_answers import read_answer
from hieramas_lib.llms.simulated_plans import judge_plan, write_plan
from hieramas_lib.llms.tokens import count_tokens
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.tasks.task import Task

TASKS = choice_tasks(700)
HARD = quiet(load_settings("hard"))
WORLD = World([*TASKS, maths_task(), code_task()], HARD, make_pool(), 1)
SYNTHESIZER = Header("Solver", "synthesizer")


def accuracy(world: World, requests: list[ChatRequest], tasks: list[Task]) -> float:
    completions = replies(world, requests)
    pairs = zip(completions, tasks, strict=True)
    return fmean(read_answer(task, completion.text) == task.gold for completion, task in pairs)


def right_of_eight(world: World, tasks: list[Task]) -> np.ndarray:
    """How often gpt-5-nano is right in eight repetitions, for each task."""
    client = SimulatedClient(make_pool()["gpt-5-nano"], world)

    async def run() -> list[bool]:
        return [
            read_answer(task, (await client.complete(ask("gpt-5-nano", task, sample=s))).text)
            == task.gold
            for task in tasks
            for s in range(8)
        ]

    return np.array(asyncio.run(run())).reshape(-1, 8).sum(axis=1)


def many_requests() -> list[ChatRequest]:
    """Every kind of task and of message."""
    sections = [Section("message", "Answer: B", "Critic"), Section("proposal", "Answer: C", "1")]
    requests = [ask("gemma-3-27b", task, SYNTHESIZER, sections) for task in TASKS[:50]]
    requests += [ask("gpt-5-nano", task) for task in (maths_task(), code_task())]
    requests += [ask("gpt-5-nano", TASKS[0], Header("Project Manager", "proposer"))]
    return requests


def fingerprint() -> str:
    """A hash of many replies."""
    return hashlib.sha256(repr(replies(WORLD, many_requests())).encode()).hexdigest()


def test_the_same_request_gets_the_same_reply_in_another_process() -> None:
    code = "import test_simulated; print(test_simulated.fingerprint())"
    folder = __file__.rsplit("test_simulated", 1)[0]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == fingerprint()


def test_answers_of_the_hard_world_stay_what_they_are() -> None:
    # What was learned on this world holds for these answers: change them with a reason only.
    texts = "\n".join(completion.text for completion in replies(WORLD, many_requests()))
    assert hashlib.sha256(texts.encode()).hexdigest()[:16] == "eb83aaa50fda303c"


def test_order_and_concurrency_change_no_reply() -> None:
    requests = [ask("gpt-5-nano", task) for task in TASKS[:30]]
    fresh = World(TASKS[:30], HARD, make_pool(), 1)
    client = SimulatedClient(make_pool()["gpt-5-nano"], fresh)

    async def together() -> list[object]:
        return list(await asyncio.gather(*map(client.complete, reversed(requests))))

    assert asyncio.run(together()) == list(reversed(replies(WORLD, requests)))


def test_asking_again_changes_little() -> None:
    # Measured: of 100 MATH questions an LLM gets 86 always right, 4 never, 10 now and then.
    settings = quiet(load_settings("mmlu-like"))
    settings = settings.model_copy(update={"targets": {"gpt-5-nano": {"maths": 0.91}}})
    tasks = [
        Task(f"sum/{i}", "made", "maths", "algebra", f"What is {i} + {i}?", str(2 * i))
        for i in range(600)
    ]
    counts = np.concatenate(
        [right_of_eight(World(tasks, settings, make_pool(), seed), tasks) for seed in (1, 2, 3)]
    )
    assert (counts == 8).mean() == pytest.approx(0.86, abs=0.03)
    assert (counts == 0).mean() == pytest.approx(0.04, abs=0.02)
    assert ((counts > 0) & (counts < 8)).mean() == pytest.approx(0.10, abs=0.02)


def test_a_right_message_helps_and_wrong_ones_hurt() -> None:
    def with_messages(letter: str, count: int) -> float:
        requests = []
        for task in TASKS:
            said = task.gold if letter == "right" else "ABCD"["ABCD".index(task.gold) - 3]
            sections = [Section("proposal", f"Answer: {said}", str(i)) for i in range(count)]
            requests.append(ask("gemma-3-27b", task, SYNTHESIZER, sections))
        return accuracy(WORLD, requests, TASKS)

    alone = with_messages("right", 0)
    assert with_messages("right", 1) > alone + 0.1
    assert with_messages("wrong", 1) < alone - 0.05
    assert with_messages("wrong", 4) < with_messages("wrong", 1) - 0.05


def test_messages_without_content_tire() -> None:
    def after(count: int) -> float:
        sections = [Section("message", "I cannot say.", f"Role {i}") for i in range(count)]
        return accuracy(
            WORLD, [ask("gemma-3-27b", task, SYNTHESIZER, sections) for task in TASKS], TASKS
        )

    assert after(12) < after(0) - 0.05


def test_a_planner_plans_soundly_as_often_as_it_could_answer() -> None:
    planner = Header("Project Manager", "synthesizer")
    completions = replies(WORLD, [ask("gpt-5-mini", task, planner) for task in TASKS])
    plans = zip(completions, TASKS, strict=True)
    verdicts = [judge_plan(task, completion.text, WORLD.seed) for completion, task in plans]
    assert None not in verdicts
    assert fmean(map(bool, verdicts)) == pytest.approx(0.88, abs=0.06)


def test_a_sound_plan_helps_its_reader_and_an_unsound_one_hurts() -> None:
    def after(sound: bool) -> float:
        return accuracy(
            WORLD,
            [
                ask(
                    "gemma-3-27b",
                    task,
                    SYNTHESIZER,
                    [Section("message", write_plan(task, sound, WORLD.seed), "Test Analyst")],
                )
                for task in TASKS
            ],
            TASKS,
        )

    alone = accuracy(WORLD, [ask("gemma-3-27b", task, SYNTHESIZER) for task in TASKS], TASKS)
    assert after(True) > alone + 0.04
    assert after(False) < alone - 0.02


def test_a_planner_that_has_to_decide_answers() -> None:
    text = reply(WORLD, ask("gpt-5-mini", TASKS[0], Header("Project Manager", "decision"))).text
    assert read_answer(TASKS[0], text) in "ABCD"


@pytest.mark.parametrize("task", [maths_task(), code_task()], ids=["maths", "code"])
def test_answers_are_the_gold_or_a_known_wrong_one(task: Task) -> None:
    given = {
        read_answer(task, reply(WORLD, ask(llm, task, sample=s)).text)
        for llm in make_pool().names
        for s in range(3)
    }
    assert given <= {task.gold, *task.tempting}


def test_some_replies_are_blank_if_so_set() -> None:
    world = World(TASKS, HARD.with_knobs("replies", blank_rate=0.2), make_pool(), 1)
    completions = replies(world, [ask("gpt-5-nano", task) for task in TASKS])
    pairs = list(zip(completions, TASKS, strict=True))
    unread = fmean(read_answer(task, completion.text) is None for completion, task in pairs)
    assert unread == pytest.approx(0.2, abs=0.05)
    assert any(completion.text == "" for completion in completions)


def test_tokens_follow_the_spec_and_price() -> None:
    completions = replies(WORLD, [ask("gpt-5-mini", task) for task in TASKS])
    written = [completion.completion_tokens for completion in completions]
    assert fmean(written) == pytest.approx(450, rel=0.1)
    assert stdev(np.log(written)) == pytest.approx(0.6, abs=0.1)
    short = replies(
        WORLD, [ask("gpt-5-mini", t, Header("Solver", "alone", "answer only")) for t in TASKS]
    )
    assert fmean(c.completion_tokens for c in short) == pytest.approx(60, rel=0.1)
    first, request = completions[0], ask("gpt-5-mini", TASKS[0])
    prompt = sum(count_tokens(message.content) for message in request.messages)
    assert first.prompt_tokens == prompt
    cost = (0.25 * prompt + 2.0 * first.completion_tokens) / 1e6
    assert first.cost_usd == pytest.approx(cost, rel=1e-12)
    assert first.latency_s == pytest.approx(0.5 + prompt / 4000 + first.completion_tokens / 80)
    assert first.request_key == request.key("simulated", "gpt-5-mini")
    assert first.finish_reason == "stop" and not first.cached


def test_a_text_longer_than_allowed_is_cut() -> None:
    cut = reply(WORLD, ask("gpt-5-mini", TASKS[0], max_tokens=5))
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 5)
    assert count_tokens(cut.text) == 5
    assert (
        max(
            c.completion_tokens
            for c in replies(
                WORLD, [ask("gpt-5-mini", task, max_tokens=300) for task in TASKS[:100]]
            )
        )
        == 300
    )


@pytest.mark.parametrize(
    ("system", "user", "message"),
    [
        (ALONE.render(), "Just a question?", "no <task> section"),
        (ALONE.render(), "<task>\nWho?\n</task>", r"does not know the task 'Who\?'.*World"),
        ("Be kind.", Section("task", TASKS[0].statement).render(), "no 'Role' line"),
        ("Role: R\nPosition: alone", Section("task", TASKS[0].statement).render(), "no 'Style'"),
        (
            "Role: R\nPosition: boss\nStyle: step by step",
            Section("task", TASKS[0].statement).render(),
            "Position 'boss'",
        ),
    ],
)
def test_a_prompt_that_cannot_be_read_is_rejected(system: str, user: str, message: str) -> None:
    request = ChatRequest("gpt-5-nano", (Message("system", system), Message("user", user)))
    with pytest.raises(CallError, match=message) as caught:
        reply(WORLD, request)
    assert caught.value.kind == "rejected"


def test_an_llm_that_the_world_cannot_simulate_is_refused_at_once() -> None:
    spec = make_pool()["gpt-5-nano"].model_copy(update={"name": "other"})
    with pytest.raises(ConfigError, match="other"):
        SimulatedClient(spec, WORLD)


def test_pace_sleeps_in_proportion_to_the_latency() -> None:
    client = SimulatedClient(make_pool()["gpt-5-nano"], WORLD, pace=0.01)
    started = time.perf_counter()
    completion = asyncio.run(client.complete(ask("gpt-5-nano", TASKS[0])))
    assert time.perf_counter() - started >= 0.01 * completion.latency_s
