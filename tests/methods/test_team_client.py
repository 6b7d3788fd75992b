"""A trained team behind one chat call."""

import asyncio
from pathlib import Path

import pytest

from hieramas_lib.errors import BudgetExceeded, CallError
from hieramas_lib.experiments.benchmark import open_benchmark
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.chat import ChatRequest, Completion, Message
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.run import run
from hieramas_lib.methods.single import base, self_consistency
from hieramas_lib.methods.team_client import TeamClient, open_team
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.roles import load_roles

SETTINGS = HieraMASSettings(
    stage1=Stage1Settings(passes=1, group=2), stage2=Stage2Settings(graphs_per_task=2, epochs=2)
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Trained teams by benchmark."""
    folders = {}
    for name in ("knowledge", "maths", "humaneval"):
        bench = open_benchmark(
            name, difficulty="hard", seed=1, graphs=8, width=2, decision="gemma-3-27b"
        )
        system = HieraMAS(bench.space, bench.llms, bench.encoder, SETTINGS, seed=0)
        run(system.fit(bench.train[:12]))
        folders[name] = tmp_path_factory.mktemp("teams") / f"{name}-team"
        system.save(folders[name])
    return folders


def asked(*texts: str, **parameters) -> ChatRequest:
    roles = ("user", "assistant")
    messages = tuple(Message(roles[i % 2], text) for i, text in enumerate(texts))  # type: ignore[arg-type]
    return ChatRequest("team", messages, **parameters)


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
def test_a_known_question_is_answered_as_the_team_answers_it(saved, benchmark: str):
    client = open_team(saved[benchmark])
    system = HieraMAS.load(saved[benchmark])
    assert client.name == f"{benchmark}-team"
    for task in load_tasks(benchmark, "test")[:3]:
        rollout = run(system.answer(task))
        answer = run(client.complete(asked(task.statement)))
        assert answer.text == rollout.answer
        assert answer.cost_usd == rollout.usage.cost_usd
        assert answer.prompt_tokens == rollout.usage.prompt_tokens
        assert answer.completion_tokens == rollout.usage.completion_tokens
        assert answer.latency_s == rollout.latency_s
        assert (answer.finish_reason, answer.cached) == ("stop", False)
        assert run(client.complete(asked(task.statement))).cached


def test_only_the_last_user_message_counts(saved):
    client = open_team(saved["knowledge"])
    first, second = load_tasks("knowledge", "test")[:2]
    alone = run(client.complete(asked(second.statement)))
    chat = asked(first.statement, "Answer: A", second.statement, temperature=1.0, max_tokens=1)
    assert run(client.complete(chat)).text == alone.text


def test_an_open_question_on_llms_that_can_take_it():
    """No gold answer, no shipped text: options are read out of what was typed."""
    seen = []

    class Scripted:
        async def complete(self, request: ChatRequest) -> Completion:
            seen.append(request.messages[-1].content)
            return Completion("It is 7.\n\nAnswer: B", "stop", 20, 5, 0.25, 1.0, False, "")

    method = base("m", Scripted(), load_roles("choice"))
    client = TeamClient("team", method, "choice")
    answer = run(client.complete(asked("Which is a prime?\n(A) 4\n(B) 7")))
    assert (answer.text, answer.cost_usd) == ("It is 7.\n\nAnswer: B", 0.25)
    assert "Which is a prime?\nA. 4\nB. 7\n" in seen[0]


def test_votes_need_no_gold_answer_either():
    class Scripted:
        async def complete(self, request: ChatRequest) -> Completion:
            text = (
                "def f(x):\n    return 1",
                "def f(x):\n    return 2",
                "def f(x):\n    return 2 ",
            )
            code = f"```python\n{text[request.sample]}\n```"
            return Completion(code, "stop", 20, 5, None, 1.0, False, "")

    method = self_consistency("m", Scripted(), load_roles("code"), samples=3)
    answer = run(TeamClient("team", method, "code").complete(asked("def f(x):\n    '''Two.'''\n")))
    assert "return 2" in answer.text
    assert answer.cost_usd is None  # the price of its calls is not known


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ((), "no user message"),
        ((Message("system", "Be brief."),), "no user message"),
        ((Message("user", " "),), "empty"),
        ((Message("user", "Which is a prime?"),), "needs its options"),
    ],
)
def test_what_is_no_question_is_rejected(saved, messages, reason: str):
    client = open_team(saved["knowledge"])
    with pytest.raises(CallError, match=reason) as caught:
        run(client.complete(ChatRequest("team", messages)))
    assert caught.value.kind == "rejected"


def test_a_question_that_the_simulated_world_does_not_know_is_rejected(saved):
    """Asked by an encoder that knows every text; the LLMs are those of the saved world."""
    system = HieraMAS.load(saved["maths"])
    task = load_tasks("maths", "test")[0]
    vectors = system.encoder.encode([task.prompt])

    class OneVector:
        def encode(self, texts):
            return vectors.repeat(len(texts), axis=0)

    system.featurizer._encoder = OneVector()  # type: ignore[union-attr]
    client = TeamClient("team", system, "maths")
    with pytest.raises(CallError, match="does not know the task") as caught:
        run(client.complete(asked("What is 1 + 1?")))
    assert caught.value.kind == "rejected"


def test_a_failed_final_call_is_a_failed_call():
    class Down:
        async def complete(self, request: ChatRequest) -> Completion:
            raise CallError("timeout", "no answer in 60 s: gave up")

    client = TeamClient("team", base("m", Down(), load_roles("maths")), "maths")
    with pytest.raises(CallError, match="no answer in 60 s: gave up") as caught:
        run(client.complete(asked("What is 1 + 1?")))
    assert (caught.value.kind, str(caught.value).count("timeout")) == ("timeout", 1)


def test_an_empty_answer_is_passed_on_with_its_reason():
    class Cut:
        async def complete(self, request: ChatRequest) -> Completion:
            return Completion("", "length", 20, 5, 0.5, 1.0, False, "")

    client = TeamClient("team", base("m", Cut(), load_roles("maths")), "maths")
    answer = run(client.complete(asked("What is 1 + 1?")))
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == ("", "length", 5)


def test_a_budget_stops_the_team(saved):
    client = open_team(saved["maths"], budget=Budget(calls=1))
    with pytest.raises(BudgetExceeded):
        run(client.complete(asked(load_tasks("maths", "test")[0].statement)))


def test_many_at_once_are_answered_as_one_by_one(saved):
    client = open_team(saved["knowledge"])
    requests = [asked(task.statement) for task in load_tasks("knowledge", "test")[:20]]

    async def together() -> list[Completion]:
        return await asyncio.gather(*(client.complete(request) for request in requests))

    texts = [answer.text for answer in run(together())]
    other = open_team(saved["knowledge"])
    assert texts == [run(other.complete(request)).text for request in requests]
    assert len(set(texts)) > 1
