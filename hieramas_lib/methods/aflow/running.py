"""Run a workflow on one task: its operators one after another, on the answers so far."""

import asyncio
from dataclasses import dataclass, field

from hieramas_lib.llms.chat import ChatRequest, LLMClient
from hieramas_lib.llms.layout import Header, Section
from hieramas_lib.methods.aflow.prompt_examples import first_failure
from hieramas_lib.methods.aflow.workflow import (
    Generate,
    Operator,
    Review,
    Revise,
    RunExamples,
    Workflow,
)
from hieramas_lib.methods.agents import ask_all, longest_s, said
from hieramas_lib.methods.reviewing import (
    REVIEWER,
    proposal,
    request_alone,
    review_request,
    revise_request,
)
from hieramas_lib.methods.single import VOTE_TEMPERATURE
from hieramas_lib.methods.voting import vote
from hieramas_lib.tasks.extraction import extract_answer
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.executor import TEMPERATURE
from hieramas_lib.teams.prompts import ALONE_ROLE, alone_messages
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.rollout import CallRecord, Rollout
from hieramas_lib.teams.verdict import judge

SELECTOR = "Selector"
TESTER = "Tester"
SAMPLES = 100
"""Distance in sample indices between repetitions of a workflow on a task."""

_SELECT = (
    "Below the task you find numbered answers to it. Compare them step by step where they differ, "
    "judge each by its reasons and not by how many say the same, and give the best one in full."
)
_REPAIR = (
    "Below the task you find a program for it, and what went wrong when it was run. Find the cause "
    "and write the whole program anew."
)


@dataclass
class _State:
    """One workflow under way.

    Attributes:
        asked: How often each prompt was sent to an LLM, so that no two calls are one.
    """

    task: Task
    roles: RoleSet
    llms: LLMClient
    repetition: int
    candidates: tuple[CallRecord, ...] = ()
    reviews: list[Section] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    latency_s: float = 0.0

    def fresh(self, text: str) -> int:
        """Return the sample index of the next call with prompt ``text``."""
        count = self.asked.get(text, 0)
        self.asked[text] = count + 1
        return self.repetition * SAMPLES + count

    async def ask(self, *requests: ChatRequest) -> tuple[CallRecord, ...]:
        calls = await ask_all(self.llms, requests)
        self.calls.extend(calls)
        self.latency_s += longest_s(calls)
        return calls

    async def answer(self) -> CallRecord:
        """Return the most frequent candidate."""
        return (await vote(self.task, self.candidates)).winner


async def run_workflow(
    workflow: Workflow, task: Task, roles: RoleSet, llms: LLMClient, *, repetition: int = 0
) -> Rollout:
    """Answer ``task`` and grade the answer.

    A call that fails, or leaves nothing to read, adds no candidate and changes none; if no
    candidate can be read at all, later operators have nothing to work on and are passed over.
    """
    state = _State(task, roles, llms, repetition)
    for operator in workflow.operators:
        if operator.kind == "generate":
            state.candidates += await _generate(state, operator)
        elif any(call.readable for call in state.candidates):
            await _work(state, operator)
    result = await vote(task, state.candidates)
    return Rollout(
        task_id=task.id,
        answer=result.winner.text,
        grade=await judge(task, result.winner),
        calls=tuple(state.calls),
        latency_s=state.latency_s,
        tied=result.tied,
    )


async def _work(state: _State, operator: Operator) -> None:
    """Let an operator that reads candidates act."""
    if isinstance(operator, Review):
        await _review(state, operator)
    elif isinstance(operator, Revise):
        await _revise(state, operator)
    elif isinstance(operator, RunExamples):
        await _test(state, operator)
    else:
        await _select(state, operator.llm)


async def _generate(state: _State, operator: Generate) -> tuple[CallRecord, ...]:
    messages = alone_messages(state.task, state.roles, operator.style)
    temperature = TEMPERATURE if operator.samples == 1 else VOTE_TEMPERATURE
    options = state.roles.options(state.task, ALONE_ROLE)
    text = f"generate {operator.llm} {operator.style} {temperature}"
    return await state.ask(
        *(
            ChatRequest(
                operator.llm, messages, temperature, sample=state.fresh(text), options=options
            )
            for _ in range(operator.samples)
        )
    )


async def _select(state: _State, llm: str) -> None:
    readable = [call for call in state.candidates if call.readable]
    read = [proposal(call.text, number) for number, call in enumerate(readable, start=1)]
    await _replace(state, Header(SELECTOR, "alone"), _SELECT, llm, read)


async def _review(state: _State, operator: Review) -> None:
    answer = await state.answer()
    text = f"review {operator.llm} {answer.text}"
    request = review_request(
        operator.llm, state.task, state.roles, answer.text, sample=state.fresh(text)
    )
    (review,) = await state.ask(request)
    state.candidates = (answer,)
    if review.readable:
        state.reviews.append(said(review, REVIEWER))


async def _revise(state: _State, operator: Revise) -> None:
    answer = await state.answer()
    text = f"revise {operator.llm} {answer.text} {state.reviews}"
    request = revise_request(
        operator.llm,
        state.task,
        state.roles,
        answer.text,
        state.reviews,
        sample=state.fresh(text),
    )
    (revised,) = await state.ask(request)
    state.reviews.clear()
    state.candidates = (revised if revised.readable else answer,)


async def _test(state: _State, operator: RunExamples) -> None:
    for _ in range(operator.repairs):
        answer = await state.answer()
        state.candidates = (answer,)
        program = extract_answer(state.task, answer.text)
        failure = "it holds no program that can be read"
        if program is not None:
            failure = await asyncio.to_thread(first_failure, state.task, program)
        if not failure:
            return
        read = [proposal(answer.text), Section("message", failure, source=TESTER)]
        await _replace(state, Header(TESTER, "alone"), _REPAIR, operator.llm, read)


async def _replace(
    state: _State, header: Header, instruction: str, llm: str, read: list[Section]
) -> None:
    """Ask for an answer that takes the place of all candidates, if it can be read."""
    text = f"{header.role} {llm} {read}"
    request = request_alone(
        llm, header, instruction, state.task, state.roles, read, sample=state.fresh(text)
    )
    (answer,) = await state.ask(request)
    if answer.readable:
        state.candidates = (answer,)
