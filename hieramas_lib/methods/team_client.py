"""A method, such as a trained team, as one LLM: a question in, the team's final answer out.

What `hieramas serve team` puts behind a chat endpoint.
"""

from collections.abc import Iterable
from pathlib import Path

from hieramas_lib.errors import CallError, ConfigError
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.service import PAID_CLIENTS
from hieramas_lib.methods.method import Method
from hieramas_lib.methods.questions import QuestionReader
from hieramas_lib.methods.saved import load_method
from hieramas_lib.methods.saved_parts import parts_of
from hieramas_lib.tasks.task import Kind, Task
from hieramas_lib.teams.rollout import Rollout


class TeamClient:
    """Answers each chat request by a whole run of a method; is itself an ``LLMClient``.

    The last user message is the question, see :class:`.QuestionReader`. A team answers one
    question: messages before it, sampling parameters, token limit and options are not read.
    Nothing is graded, and no gold answer is needed.

    Args:
        name: What a server calls it.
        method: Trained, or one that does not learn.
        kind: Of the questions it answers.
        known: Tasks that may be asked by their statement, such as those of a simulated world.
    """

    def __init__(self, name: str, method: Method, kind: Kind, known: Iterable[Task] = ()) -> None:
        self.name = name
        self._method = method
        self._questions = QuestionReader(kind, known)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``; tokens and cost are those of all calls of the team.

        The cost is None if that of any call is unknown. The latency is that of the calls one
        after another where one had to wait for another.

        Raises:
            CallError: ``rejected``: there is no question that can be read. Otherwise the final
                call failed, in the way that the kind says.
            ConfigError: the question cannot be embedded here.
        """
        texts = [message.content for message in request.messages if message.role == "user"]
        if not texts:
            raise CallError("rejected", "there is no user message to answer")
        try:
            task = self._questions.read(texts[-1])
        except ValueError as fault:
            raise CallError("rejected", str(fault)) from None
        rollout = await self._method.answer(task)
        usage = rollout.usage
        return Completion(
            text=rollout.answer,
            finish_reason=_finish_reason(rollout),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=None if usage.unpriced else usage.cost_usd,
            latency_s=rollout.latency_s,
            cached=all(c.completion.cached for c in rollout.calls if c.completion),
            request_key=request.key("team", self.name),
        )


def open_team(folder: str | Path, *, budget: Budget | None = None) -> TeamClient:
    """Return the client of a method that was saved in ``folder``, called by the folder's name.

    Raises:
        ConfigError: as :func:`.load_method`; or its LLMs cost money and there is no ``budget``.
    """
    method = load_method(folder, budget=budget)
    parts = parts_of(method)
    specs = parts.llms.pool.llms
    paid = [s.name for s in specs if s.client in PAID_CLIENTS and s.cost(1, 1) != 0]
    if paid and budget is None:
        raise ConfigError(
            f"{folder}: {', '.join(paid)} cost money; give a budget in US dollars, such as "
            "`--budget 5`"
        )
    known = parts.llms.world.tasks if parts.llms.world else ()
    return TeamClient(Path(folder).resolve().name, method, parts.roles.kind, known)


def _finish_reason(rollout: Rollout) -> FinishReason:
    """Return how the call ended that gave the answer; raise its error if none did."""
    for call in reversed(rollout.calls):
        if call.completion and call.text == rollout.answer:
            return call.completion.finish_reason
    kind, _, message = rollout.calls[-1].error.partition(": ")
    raise CallError(kind, message)
