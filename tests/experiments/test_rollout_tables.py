"""Prompt, transcript, ledger and answers of a small team, against texts written out by hand."""

import asyncio

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.rollout_tables import PromptLog, answer_table, ledger, transcript
from hieramas_lib.experiments.single_questions import (
    find_questions,
    hand_made_team,
    simulated_llms,
)
from hieramas_lib.llms.chat import Completion
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.executor import run_team
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.rollout import CallRecord, Rollout

TASK = Task("toy/1", "toy", "choice", "money", "?", "A", choices=("this", "that"))


def said(text: str, usd: float | None = 0.5) -> Completion:
    return Completion(text, "stop", 10, 5, usd, 2.0, False, "key")


CALLS = (
    CallRecord("Doctor", "proposer", "a", said("First.\nAnswer: A\n")),
    CallRecord("Doctor", "proposer", "b", error="rejected: too long"),
    CallRecord("Doctor", "synthesizer", "a", said(" ")),
    CallRecord("Decision Maker", "decision", "c", said("Answer: A", 0.25)),
)
ROLLOUT = Rollout("toy/1", "Answer: A", Grade("correct", "A"), CALLS, latency_s=6.0)
UNREAD = Rollout("toy/1", "", Grade("unparsed"), CALLS[2:3], latency_s=2.0)


def test_the_transcript_quotes_every_call_and_says_what_failed() -> None:
    assert transcript(ROLLOUT).split("\n\n") == [
        "**Doctor, proposer** (a)",
        "> First.  \n> Answer: A",
        "**Doctor, proposer** (b)",
        "> rejected: too long",
        "**Doctor, synthesizer** (a)",
        "> (nothing)",
        "**Decision Maker, decision** (c)",
        "> Answer: A",
    ]


def test_the_ledger_has_a_row_for_each_call_that_was_answered_and_adds_up() -> None:
    calls = ledger(ROLLOUT)
    assert list(calls["position"]) == ["proposer", "synthesizer", "decision"]
    assert list(calls["prompt_tokens"]) == [10, 10, 10]
    assert list(calls["completion_tokens"]) == [5, 5, 5]
    assert list(calls["call_usd"]) == [0.5, 0.5, 0.25]
    assert calls["call_usd"].sum() == ROLLOUT.usage.cost_usd
    assert list(calls["seconds"]) == [2.0, 2.0, 2.0]


def test_answers_stand_beside_the_key_and_an_unread_one_is_a_dash() -> None:
    table = answer_table([ROLLOUT, UNREAD], [TASK, TASK])
    assert table.iloc[0].to_dict() == {
        "task": "toy/1", "gold": "A", "answer": "A", "status": "correct", "calls": 4,
        "tokens": 45, "cost_usd": 1.25, "seconds": 6.0,
    }  # fmt: skip
    assert list(table["answer"]) == ["A", "–"]
    assert list(table["status"]) == ["correct", "unparsed"]
    with pytest.raises(ValueError, match="longer"):
        answer_table([ROLLOUT], [TASK, TASK])


def test_the_prompt_is_what_was_sent_with_what_the_reader_was_to_read() -> None:
    (task,) = find_questions("knowledge", question="knowledge/law/01")
    team = hand_made_team(
        load_roles("choice"), {"Critic": [], "Lawyer": ["qwen3-8b"]}, [("Lawyer", "Critic")],
        synthesizer="gpt-4o-mini", decision="gpt-5-mini",
    )  # fmt: skip
    log = PromptLog(simulated_llms("knowledge", "hard", 0))
    critic, proposer, synthesizer, decision = asyncio.run(run_team(team, task, log)).calls
    read = {
        call.position + call.role: log.prompt(call)
        for call in (critic, proposer, synthesizer, decision)
    }
    assert read["proposerLawyer"].startswith("[system]\nRole: Lawyer\nPosition: proposer\n")
    assert f"\n\n[user]\n<task>\n{task.statement}\n</task>" in read["proposerLawyer"]
    assert "<message" not in read["proposerLawyer"]
    assert f'<proposal from="1">\n{proposer.text}' in read["synthesizerLawyer"]
    assert f'<message from="Lawyer">\n{synthesizer.text}' in read["synthesizerCritic"]
    assert f'<message from="Critic">\n{critic.text}' in read["decisionDecision Maker"]


@pytest.mark.parametrize("call", CALLS[:2])
def test_a_call_that_failed_or_went_elsewhere_has_no_prompt(call: CallRecord) -> None:
    log = PromptLog(simulated_llms("knowledge", "hard", 0))
    with pytest.raises(ConfigError, match="no prompt was kept of Doctor, proposer"):
        log.prompt(call)
