"""What a team did on single questions, for people: prompts, transcript, ledger and answers."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.call_store import CallStore, decode
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.rollout import CallRecord, Rollout

if TYPE_CHECKING:
    import pandas as pd


def prompt_text(call: CallRecord, store: CallStore) -> str:
    """Return the messages that a call was sent with, each under the name of its speaker.

    Raises:
        ConfigError: the call failed, or ``store`` does not have it.
    """
    key = call.completion.request_key if call.completion else ""
    rows = store.rows("SELECT request FROM calls WHERE key = ? AND request NOT NULL LIMIT 1", [key])
    if not rows:
        raise ConfigError(f"the call store has no request of {call.role}, {call.position}")
    messages = json.loads(decode(rows[0][0]))["messages"]
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


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
