"""Prompts of other frameworks, put into the layout that simulated LLMs read."""

import asyncio
from dataclasses import dataclass, field

import pytest
from world_cases import ask, choice_tasks, code_task, make_pool, maths_task, quiet, replies

from hieramas_lib.errors import CallError
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.llms.layout import Header, Section, parse_sections
from hieramas_lib.llms.server_questions import BareQuestions, KnownQuestions
from hieramas_lib.llms.simulated import SimulatedClient
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.tasks.task import Task

CHOICE = choice_tasks(1)[0]
TASKS = [CHOICE, maths_task(), code_task()]
QUESTIONS = KnownQuestions(TASKS)


@dataclass
class Kept:
    """Keeps what it is asked."""

    asked: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked.append(request)
        return Completion("", "stop", 1, 1, 0.0, 0.0, False, "")


def laid_out(*messages: tuple[str, str]) -> tuple[str, str]:
    """System and user message that reach the LLM."""
    kept = Kept()
    request = ChatRequest("m", tuple(Message(role, text) for role, text in messages), sample=2)
    asyncio.run(BareQuestions(kept, QUESTIONS).complete(request))
    assert kept.asked[0].sample == 2
    system, user = kept.asked[0].messages
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


def sections(*messages: tuple[str, str]) -> list[tuple[str, str, str]]:
    return [(s.tag, s.source, s.text) for s in parse_sections(laid_out(*messages)[1])]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_bare_question(task: Task) -> None:
    system, user = laid_out(("user", f"Hello!\n{task.statement}\nThink first."))
    assert Header.parse(system) == Header("Assistant", "alone", "step by step")
    assert parse_sections(user) == (Section("task", task.statement),)
    assert user.startswith("Hello!\n\n<task>")
    assert user.endswith("</task>\n\nThink first.")


def test_white_space_and_options_do_not_matter() -> None:
    task = ("task", "", CHOICE.statement)
    assert sections(("user", CHOICE.statement.replace("\n", "\n\n  "))) == [task]
    assert sections(("user", f"{CHOICE.prompt} (A) ash (B) beech (C) cedar (D) elm")) == [task]


def test_the_system_message_follows_the_header() -> None:
    system, _ = laid_out(("system", "Be kind."), ("user", CHOICE.statement))
    assert system == "Role: Assistant\nPosition: alone\nStyle: step by step\n\nBe kind."


def test_all_other_messages_are_those_of_colleagues() -> None:
    assert sections(
        ("user", "We are three."),
        ("user", CHOICE.statement),
        ("assistant", "Answer: B"),
        ("user", f"{CHOICE.statement}\nI say C.\n\nAnswer: C"),
    ) == [
        ("task", "", CHOICE.statement),
        ("message", "user", "We are three."),
        ("message", "assistant", "Answer: B"),
        ("message", "user", f"{CHOICE.statement}\nI say C.\n\nAnswer: C"),
    ]


def test_tagged_texts_beside_the_question_are_read() -> None:
    proposal = Section("proposal", "Answer: D", source="1")
    assert sections(("user", f"{CHOICE.statement}\n\n{proposal.render()}")) == [
        ("task", "", CHOICE.statement),
        ("proposal", "1", "Answer: D"),
    ]


def test_a_prompt_in_the_layout_stays_as_it_is() -> None:
    header = Header("Critic", "proposer", "answer only")
    request = ask("gpt-4o-mini", CHOICE, header, [Section("message", "Answer: B", "Solver")])
    kept = Kept()
    asyncio.run(BareQuestions(kept, QUESTIONS).complete(request))
    assert kept.asked == [request]


def test_half_a_layout_is_completed() -> None:
    header = Header("Critic", "proposer", "answer only")
    system, user = laid_out(("system", header.render()), ("user", CHOICE.statement))
    assert Header.parse(system) == header
    assert parse_sections(user) == (Section("task", CHOICE.statement),)
    body = Section("task", CHOICE.statement).render()
    system, user = laid_out(("user", body))
    assert Header.parse(system).position == "alone"
    assert user == body


def test_the_longer_of_two_questions_is_meant() -> None:
    short = Task("x/1", "x", "maths", "algebra", "What is 6 x 7?", "42")
    long = Task("x/2", "x", "maths", "algebra", "Bob asks: What is 6 x 7? Double it.", "84")
    for tasks in ([short, long], [long, short]):
        questions = KnownQuestions(tasks)
        found = questions.find(f"Now: {long.statement} Well?")
        assert found is not None
        assert (found.task, found.start, found.end) == (long, 5, 5 + len(long.statement))
        alone = questions.find(short.statement)
        assert alone is not None and alone.task == short


@pytest.mark.parametrize("role", ["assistant", "user", "system"])
def test_a_text_without_a_known_question(role: str) -> None:
    text = "What is the capital of France?" if role == "user" else CHOICE.statement
    with pytest.raises(CallError, match="no user message holds a question") as caught:
        laid_out((role, text), ("user", "Go on."))
    assert caught.value.kind == "rejected"


def test_colleagues_answers_sway_the_simulated_llm() -> None:
    """The point of it: in another framework, who reads whom matters too."""
    tasks = choice_tasks(60)
    world = World(tasks, quiet(load_settings("hard")), make_pool(), seed=1)
    questions = KnownQuestions(tasks)
    client = BareQuestions(SimulatedClient(make_pool()["llama-3.1-8b"], world), questions)

    def right(*told: str) -> int:
        async def count() -> int:
            total = 0
            for task in tasks:
                others = [Message("assistant", text.format(gold=task.gold)) for text in told]
                messages = (Message("user", task.statement), *others)
                answer = await client.complete(ChatRequest("llama-3.1-8b", messages))
                total += answer.text.endswith(f"Answer: {task.gold}")
            return total

        return asyncio.run(count())

    assert right() + 10 < right("I am sure. Answer: {gold}", "So am I. Answer: {gold}")


def test_a_bare_question_is_answered_as_one_in_the_layout() -> None:
    """Ability, that is; the wording of the prompt moves the draws."""
    tasks = choice_tasks(200)
    world = World(tasks, quiet(load_settings("hard")), make_pool(), seed=1)
    header = Header("Assistant", "alone", "step by step")
    laid = replies(world, [ask("gpt-5-mini", task, header) for task in tasks])
    client = BareQuestions(SimulatedClient(make_pool()["gpt-5-mini"], world), KnownQuestions(tasks))

    async def bare() -> list[Completion]:
        messages = [(Message("user", task.statement),) for task in tasks]
        return [await client.complete(ChatRequest("gpt-5-mini", m)) for m in messages]

    def right(answers: list[Completion]) -> int:
        pairs = zip(tasks, answers, strict=True)
        return sum(answer.text.endswith(f"Answer: {task.gold}") for task, answer in pairs)

    assert abs(right(laid) - right(asyncio.run(bare()))) <= 20
