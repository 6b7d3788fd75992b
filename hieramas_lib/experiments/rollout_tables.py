"""What a team did on single questions, for people: prompts, transcript, ledger and answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import CallRecord, Rollout

if TYPE_CHECKING:
    import pandas as pd


class PromptLog:
    """An LLM client that hands every request on to another one, and keeps what was asked."""

    def __init__(self, llms: LLMClient) -> None:
        """Fix who answers."""
        self._llms = llms
        self._prompts: dict[str, str] = {}

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` as the other client does."""
        completion = await self._llms.complete(request)
        parts = [f"[{message.role}]\n{message.content}" for message in request.messages]
        self._prompts[completion.request_key] = "\n\n".join(parts)
        return completion

    def prompt(self, call: CallRecord) -> str:
        """Return the messages that ``call`` was sent with, each under the name of its speaker.

        Raises:
            ConfigError: the call failed, or was not made through this client.
        """
        key = call.completion.request_key if call.completion else ""
        if key not in self._prompts:
            raise ConfigError(f"no prompt was kept of {call.role}, {call.position} ({call.llm})")
        return self._prompts[key]


def transcript(rollout: Rollout) -> str:
    """Return the text of every call, or its error, as Markdown, in the order of positions."""
    parts = []
    for call in rollout.calls:
        text = call.text.strip().replace("\n", "  \n> ") or call.error or "(nothing)"
        parts.append(f"**{call.role}, {call.position}** ({call.llm})\n\n> {text}")
    return "\n\n".join(parts)


def ledger(rollout: Rollout) -> "pd.DataFrame":
    """Return tokens, price in US dollars and seconds of every call that was answered.

    Columns: ``role, position, llm, prompt_tokens, completion_tokens, call_usd, seconds``.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "role": call.role,
                "position": call.position,
                "llm": call.llm,
                "prompt_tokens": call.completion.prompt_tokens,
                "completion_tokens": call.completion.completion_tokens,
                "call_usd": call.completion.cost_usd,
                "seconds": call.completion.latency_s,
            }
            for call in rollout.calls
            if call.completion
        ]
    )


def answer_table(rollouts: Sequence[Rollout], tasks: Sequence[Task]) -> "pd.DataFrame":
    """Return one row a question: what was right, what was answered, and what it took.

    Columns: ``task, gold, answer`` ("–" if none could be read), ``status, calls, tokens,
    cost_usd, seconds`` (on the longest path).

    Raises:
        ValueError: the two are not of one length.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "task": task.id,
                "gold": task.gold,
                "answer": rollout.grade.extracted or "–",
                "status": rollout.grade.status,
                "calls": rollout.usage.calls,
                "tokens": rollout.usage.prompt_tokens + rollout.usage.completion_tokens,
                "cost_usd": rollout.usage.cost_usd,
                "seconds": rollout.latency_s,
            }
            for rollout, task in zip(rollouts, tasks, strict=True)
        ]
    )
